package promqlx

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/util/stats"
)

// metrics are the engine's figures, under the names that Prometheus' engine
// gives them, so that dashboards find them.
type metrics struct {
	samples, samplesRead prometheus.Counter
	summaries            [len(timedSlices)]prometheus.Observer
	histograms           [len(timedSlices)]prometheus.Observer
}

// timedSlices are the parts of a query that durations are told of.
var timedSlices = [...]struct {
	name  string
	timer stats.QueryTiming
}{
	{"queue_time", stats.ExecQueueTime},
	{"prepare_time", stats.QueryPreparationTime},
	{"inner_eval", stats.InnerEvalTime},
	{"result_sort", stats.ResultSortTime},
}

func newMetrics(e *Engine) *metrics {
	const prefix = "prometheus_engine_"
	summary := prometheus.NewSummaryVec(prometheus.SummaryOpts{
		Name: prefix + "query_duration_seconds", Help: "Query timings",
		Objectives: map[float64]float64{0.5: 0.05, 0.9: 0.01, 0.99: 0.001},
	}, []string{"slice"})
	histogram := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: prefix + "query_duration_histogram_seconds", Help: "The duration of various parts of PromQL query execution.",
		Buckets: []float64{.01, .1, 1, 10}, NativeHistogramBucketFactor: 1.1,
		NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
	}, []string{"slice"})
	m := &metrics{
		samples: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "query_samples_total", Help: "The total number of samples loaded by all queries (full window per step for range-vector).",
		}),
		samplesRead: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "query_samples_read_total", Help: "The total number of samples read by all queries (only new points per step for range-vector).",
		}),
	}
	for i, s := range timedSlices {
		m.summaries[i], m.histograms[i] = summary.WithLabelValues(s.name), histogram.WithLabelValues(s.name)
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	if e.opts.Registerer != nil {
		e.opts.Registerer.MustRegister(
			summary, histogram, m.samples, m.samplesRead,
			gauge(prefix+"queries", "The current number of queries being executed or waiting.", func() float64 { return float64(e.active.count()) }),
			gauge(prefix+"queries_concurrent_max", "The max number of concurrent queries.", func() float64 { return float64(cap(e.slots)) }),
			gauge(prefix+"query_log_enabled", "State of the query log.", func() float64 { return 0 }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{Name: prefix + "query_log_failures_total", Help: "The number of query log failures."}, func() float64 { return 0 }),
			gauge("varve_query_memory_bytes", "Memory that is taken by queries or kept for them.", func() float64 { return float64(e.memory.Reserved()) }),
			gauge("varve_query_memory_max_bytes", "Memory that queries may take.", func() float64 { return float64(e.opts.MaxMemory) }),
			gauge("varve_queries_waiting_for_memory", "Queries that have a slot and wait for memory.", func() float64 { return float64(e.memory.Waiting()) }),
		)
	}
	return m
}

// observe adds a query that ended; ran tells that it came as far as evaluation.
func (m *metrics) observe(s *stats.Statistics, ran bool) {
	m.samples.Add(float64(s.Samples.TotalSamples))
	m.samplesRead.Add(float64(s.Samples.SamplesRead))
	for i, slice := range timedSlices {
		d := s.Timers.GetTimer(slice.timer).Duration()
		if i > 0 && (!ran || slice.timer == stats.ResultSortTime && d == 0) {
			continue // it did not come to that
		}
		m.summaries[i].Observe(d)
		m.histograms[i].Observe(d)
	}
}
