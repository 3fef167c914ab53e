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
	durations            *durations
}

func newMetrics(e *Engine) *metrics {
	const prefix = "prometheus_engine_"
	m := &metrics{
		durations: newDurations(time.Now()),
		samples: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "query_samples_total", Help: "The total number of samples loaded by all queries (full window per step for range-vector).",
		}),
		samplesRead: prometheus.NewCounter(prometheus.CounterOpts{
			Name: prefix + "query_samples_read_total", Help: "The total number of samples read by all queries (only new points per step for range-vector).",
		}),
	}
	gauge := func(name, help string, value func() float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, value)
	}
	if e.opts.Registerer != nil {
		e.opts.Registerer.MustRegister(
			m.durations, m.samples, m.samplesRead,
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

// observe adds a query that ended at a time; ran tells that it came as far as
// evaluation.
func (m *metrics) observe(at time.Time, s *stats.QuerySamples, took *phases, ran bool) {
	m.samples.Add(float64(s.TotalSamples))
	m.samplesRead.Add(float64(s.SamplesRead))
	m.durations.observe(at, took.queue, took.prepare, took.eval, ran)
}
