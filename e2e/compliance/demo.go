package compliance

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"

	"github.com/varvedb/varve/e2e/harness"
)

const (
	// scrapeInterval is the suite's, in milliseconds.
	scrapeInterval = 5000
	// demoStart is an hour before a leap day ends, so that days and months
	// change below the queries.
	demoStart = 1709247600_000 // 2024-02-29T23:00:00Z
	scrapes   = 2 * 60 * 60 * 1000 / scrapeInterval
	demoEnd   = demoStart + (scrapes-1)*scrapeInterval
	// The second instance is away for a while, with stale markers at the first
	// scrape that fails; the third misses scrapes without a marker.
	awayFrom, awayUntil = scrapes * 60 / 100, scrapes * 64 / 100
)

// demo is three instances of a service like that of demo.promlabs.com, scraped
// every five seconds. It has the same series and the same samples every time.
type demo struct {
	rng    *rand.Rand
	series []*demoSeries
}

type demoSeries struct {
	instance     int
	intermittent bool
	value        float64
	next         func(d *demo, s *demoSeries, ms int64) float64
	out          prompb.TimeSeries
}

func newDemo() *demo {
	d := &demo{rng: rand.New(rand.NewPCG(42, 7))}
	for instance := range 3 {
		d.addInstance(instance)
	}
	for scrape := range scrapes {
		d.scrape(scrape)
	}
	return d
}

// add adds a series of an instance; extra are pairs of label names and values.
func (d *demo) add(instance int, name string, value float64, next func(*demo, *demoSeries, int64) float64, extra ...string) *demoSeries {
	pairs := append([]string{"__name__", name, "instance", fmt.Sprintf("demo.promlabs.com:%d", 10000+instance), "job", "demo"}, extra...)
	s := &demoSeries{instance: instance, value: value, next: next}
	s.out.Labels = harness.PBLabels(labels.FromStrings(pairs...))
	d.series = append(d.series, s)
	return s
}

// The ways in which values move.
func constant(_ *demo, s *demoSeries, _ int64) float64 { return s.value }

// grows makes counters of seconds, about speed of them each second.
func grows(speed float64) func(*demo, *demoSeries, int64) float64 {
	return func(d *demo, s *demoSeries, _ int64) float64 {
		return s.value + scrapeInterval/1000*speed*(0.5+d.rng.Float64())
	}
}

// counts makes counters of events.
func counts(most int64) func(*demo, *demoSeries, int64) float64 {
	return func(d *demo, s *demoSeries, _ int64) float64 { return s.value + float64(d.rng.Int64N(most+1)) }
}

// wanders makes gauges between 0 and most.
func wanders(most float64) func(*demo, *demoSeries, int64) float64 {
	return func(d *demo, s *demoSeries, _ int64) float64 {
		return math.Min(most, math.Max(0, s.value+most/50*d.rng.NormFloat64()))
	}
}

// batches makes the times of a job that runs every five minutes; the last one
// that succeeded lags behind now and then.
func batches(mayFail bool) func(*demo, *demoSeries, int64) float64 {
	return func(d *demo, s *demoSeries, ms int64) float64 {
		const every = 300_000
		last := ms / every * every
		if mayFail && last/every%5 == 3 {
			return s.value
		}
		return float64(last) / 1000
	}
}

func (d *demo) addInstance(i int) {
	const gib = 1 << 30
	started := float64(demoStart)/1000 - 3600
	d.add(i, "up", 1, constant)
	d.add(i, "scrape_duration_seconds", 0.004, wanders(0.02))
	d.add(i, "demo_num_cpus", 4, constant)
	d.add(i, "demo_is_holiday", 0, constant)
	for k, mode := range []string{"user", "system", "idle"} {
		d.add(i, "demo_cpu_usage_seconds_total", 1e4*d.rng.Float64(), grows([]float64{1.2, 0.3, 2.5}[k]), "mode", mode)
	}
	for _, kind := range []string{"buffers", "cached", "free", "used"} {
		d.add(i, "demo_memory_usage_bytes", gib*d.rng.Float64(), wanders(4*gib), "type", kind)
	}
	d.add(i, "demo_disk_total_bytes", 160*gib, constant)
	d.add(i, "demo_disk_usage_bytes", 30*gib, func(d *demo, s *demoSeries, _ int64) float64 {
		return s.value + 1e6*math.Abs(d.rng.NormFloat64())
	})
	d.add(i, "demo_items_shipped_total", float64(d.rng.IntN(1000)), counts(5))
	d.add(i, "demo_api_http_requests_in_progress", 1, func(d *demo, _ *demoSeries, _ int64) float64 { return float64(d.rng.IntN(6)) })
	d.add(i, "demo_batch_last_run_timestamp_seconds", started, batches(false))
	d.add(i, "demo_batch_last_success_timestamp_seconds", started, batches(true))
	d.add(i, "demo_batch_last_run_duration_seconds", 40, wanders(100))
	d.add(i, "demo_batch_last_run_processed_bytes", 1e6, wanders(1e7))
	d.add(i, "demo_intermittent_metric", 1, counts(1)).intermittent = true
	for _, path := range [][3]string{
		{"GET", "/api/foo", "200"}, {"GET", "/api/foo", "500"}, {"POST", "/api/foo", "200"}, {"POST", "/api/foo", "500"},
		{"GET", "/api/bar", "200"}, {"GET", "/api/bar", "500"}, {"POST", "/api/bar", "200"}, {"POST", "/api/bar", "500"},
		{"GET", "/api/nonexistent", "404"},
	} {
		d.addHistogram(i, "method", path[0], "path", path[1], "status", path[2])
	}
}

// addHistogram adds a classic histogram whose buckets only grow, the later ones
// faster.
func (d *demo) addHistogram(i int, pairs ...string) {
	const name = "demo_api_request_duration_seconds"
	below := &demoSeries{}
	bucket := func(le string) {
		previous := below
		s := d.add(i, name+"_bucket", 0, func(d *demo, s *demoSeries, _ int64) float64 {
			return math.Max(s.value+float64(d.rng.IntN(3)), previous.value)
		}, append([]string{"le", le}, pairs...)...)
		below = s
	}
	bound := 0.0001
	for range 25 {
		bucket(strconv.FormatFloat(bound, 'g', -1, 64))
		bound *= 1.5
	}
	bucket("+Inf")
	all := below
	d.add(i, name+"_count", 0, func(*demo, *demoSeries, int64) float64 { return all.value }, pairs...)
	d.add(i, name+"_sum", 0, grows(0.05), pairs...)
}

// scrape adds a sample to every series, or what stands for one that is missing.
func (d *demo) scrape(scrape int) {
	ms := int64(demoStart + scrape*scrapeInterval)
	for _, s := range d.series {
		away := s.instance == 1 && scrape >= awayFrom && scrape < awayUntil
		stale := s.instance == 1 && scrape == awayFrom
		if s.intermittent && scrape/24%2 == 1 {
			away, stale = true, scrape%24 == 0
		}
		if s.instance == 2 && scrape%97 > 90 {
			away = true
		}
		if s.instance == 1 && scrape == awayUntil && s.out.Labels[0].Value != "demo_num_cpus" {
			s.value = 0 // it was restarted
		}
		switch {
		case stale:
			s.out.Samples = append(s.out.Samples, prompb.Sample{Timestamp: ms, Value: math.Float64frombits(value.StaleNaN)})
		case !away:
			s.value = s.next(d, s, ms)
			s.out.Samples = append(s.out.Samples, prompb.Sample{Timestamp: ms, Value: s.value})
		}
	}
}

// requests cuts the samples into what one request carries, in the order of their
// times.
func (d *demo) requests() [][]prompb.TimeSeries {
	const span = 60 * scrapeInterval
	var out [][]prompb.TimeSeries
	next := make([]int, len(d.series))
	for from := int64(demoStart); from <= demoEnd; from += span {
		var request []prompb.TimeSeries
		for i, s := range d.series {
			first := next[i]
			for next[i] < len(s.out.Samples) && s.out.Samples[next[i]].Timestamp < from+span {
				next[i]++
			}
			if next[i] > first {
				request = append(request, prompb.TimeSeries{Labels: s.out.Labels, Samples: s.out.Samples[first:next[i]]})
			}
		}
		out = append(out, request)
	}
	return out
}
