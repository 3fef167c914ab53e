package promqlx

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// durations are the times that queries took by part, as a summary and as a
// histogram under the names of Prometheus' engine. Those of client_golang cost more than
// a microsecond for each query, a tenth of what the smallest takes; here an observation
// adds one to a few counts.
//
// The quantiles are those of the last 8 to 10 minutes, and at most 0.4 % beside the
// exact ones, which those of client_golang are not.
type durations struct {
	summary, histogram *prometheus.Desc
	created            time.Time

	mu    sync.Mutex
	parts [len(timedParts)]partDurations
}

// The parts of a query that durations are told of.
const (
	partQueue = iota
	partPrepare
	partEval
	partSort
)

var timedParts = [...]string{partQueue: "queue_time", partPrepare: "prepare_time", partEval: "inner_eval", partSort: "result_sort"}

func newDurations(now time.Time) *durations {
	const prefix = "prometheus_engine_"
	return &durations{
		summary:   prometheus.NewDesc(prefix+"query_duration_seconds", "Query timings", []string{"slice"}, nil),
		histogram: prometheus.NewDesc(prefix+"query_duration_histogram_seconds", "The duration of various parts of PromQL query execution.", []string{"slice"}, nil),
		created:   now,
	}
}

// partDurations are the durations of one part.
type partDurations struct {
	count, sum uint64 // sum in nanoseconds
	zeros      uint64
	classic    [len(classicBounds)]uint64 // not cumulated
	native     [nativeKeys]uint64
	recent     [ageWindows]window
}

// observe adds a query that ended at a time; ran tells that it came as far as
// evaluation.
func (d *durations) observe(at time.Time, queue, prepare, eval time.Duration, ran bool) {
	number := d.number(at)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.parts[partQueue].add(number, queue)
	if ran {
		d.parts[partPrepare].add(number, prepare)
		d.parts[partEval].add(number, eval)
	}
}

// number is that of the window of a time.
func (d *durations) number(at time.Time) int64 { return max(0, int64(at.Sub(d.created)/windowLength)) }

func (p *partDurations) add(number int64, took time.Duration) {
	took = max(0, took)
	p.count++
	p.sum += uint64(took)
	p.recent[number%ageWindows].add(number, uint64(took))
	v := took.Seconds()
	for i, bound := range classicBounds {
		if v <= bound {
			p.classic[i]++
			break
		}
	}
	if took == 0 {
		p.zeros++
	} else {
		p.native[nativeKey(v)-nativeLeast]++
	}
}

// Describe implements prometheus.Collector.
func (d *durations) Describe(ch chan<- *prometheus.Desc) {
	ch <- d.summary
	ch <- d.histogram
}

// Collect implements prometheus.Collector.
func (d *durations) Collect(ch chan<- prometheus.Metric) {
	for _, m := range d.metrics(time.Now()) {
		ch <- m
	}
}

func (d *durations) metrics(now time.Time) (out []prometheus.Metric) {
	number := d.number(now)
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, name := range timedParts {
		p := &d.parts[i]
		sum := float64(p.sum) / 1e9
		out = append(out,
			prometheus.MustNewConstSummaryWithCreatedTimestamp(d.summary, p.count, sum, p.quantiles(number), d.created, name),
			p.histogram(d.histogram, sum, d.created, name))
	}
	return out
}

// Windows of ages, as prometheus.SummaryOpts has them by default.
const (
	ageWindows   = prometheus.DefAgeBuckets
	windowLength = prometheus.DefMaxAge / ageWindows
)

// quantileRanks are the objectives of Prometheus' engine.
var quantileRanks = [...]float64{0.5, 0.9, 0.99}

// window counts the durations of two minutes by size: those below pageSize ns one by
// one, others in buckets of which pageSize divide each octave. It has the octaves
// that there are durations of.
type window struct {
	number int64
	pages  [64]*[pageSize]uint32
}

const (
	pageBits = 7
	pageSize = 1 << pageBits
)

func (w *window) add(number int64, ns uint64) {
	if w.number != number {
		w.number = number
		for _, p := range w.pages {
			if p != nil {
				clear(p[:])
			}
		}
	}
	page, at := 0, ns
	if shift := bits.Len64(ns) - pageBits - 1; shift >= 0 {
		page, at = shift+1, ns>>shift-pageSize
	}
	if w.pages[page] == nil {
		w.pages[page] = new([pageSize]uint32)
	}
	w.pages[page][at]++
}

// bucketMiddle is the inverse of what add does, within half a bucket.
func bucketMiddle(page, at int) float64 {
	if page == 0 {
		return float64(at)
	}
	width := math.Ldexp(1, page-1)
	return (float64(pageSize+at)*width + (width-1)/2)
}

// quantiles returns the quantiles, in seconds, of the windows up to a number.
func (p *partDurations) quantiles(number int64) map[float64]float64 {
	var counts [64 * pageSize]uint64
	total := uint64(0)
	for i := range p.recent {
		w := &p.recent[i]
		if w.number <= number-ageWindows {
			continue
		}
		for page, c := range w.pages {
			if c == nil {
				continue
			}
			for at, n := range c {
				counts[page*pageSize+at] += uint64(n)
				total += uint64(n)
			}
		}
	}
	out := map[float64]float64{}
	seen, at := uint64(0), -1
	for _, q := range quantileRanks {
		if total == 0 {
			out[q] = math.NaN()
			continue
		}
		for rank := uint64(math.Ceil(q * float64(total))); seen < rank; {
			at++
			seen += counts[at]
		}
		out[q] = bucketMiddle(at/pageSize, at%pageSize) / 1e9
	}
	return out
}

// The histogram's buckets: the classic ones of Prometheus' engine, and native ones of
// a schema whose factor is less than 1.1.
var classicBounds = [...]float64{.01, .1, 1, 10}

const (
	nativeSchema  = 3
	nativeOctave  = 1 << nativeSchema
	nativeLeast   = -30 * nativeOctave // below the key of a nanosecond
	nativeKeys    = 65 * nativeOctave  // up to the longest time.Duration
	nativeMax     = 100                // buckets that are told
	zeroThreshold = prometheus.DefNativeHistogramZeroThreshold
)

// nativeBounds are the upper bounds of an octave's buckets, but for the last.
var nativeBounds = [nativeOctave]float64{
	0.5, 0.5452538663326288, 0.5946035575013605, 0.6484197773255048,
	0.7071067811865475, 0.7711054127039704, 0.8408964152537144, 0.9170040432046711,
}

// nativeKey returns the native bucket of a positive number, as client_golang does.
func nativeKey(v float64) int {
	frac, exp := math.Frexp(v)
	i, _ := slices.BinarySearch(nativeBounds[:], frac)
	return i + (exp-1)*nativeOctave
}

// histogram is what client_golang's histogram would tell. Where that forgets what was
// counted, or widens its zero bucket, when there are too many buckets, this one makes
// pairs of them.
func (p *partDurations) histogram(desc *prometheus.Desc, sum float64, created time.Time, name string) prometheus.Metric {
	buckets, schema := map[int]int64{}, int32(nativeSchema)
	for i, n := range p.native {
		if n > 0 {
			buckets[i+nativeLeast] = int64(n)
		}
	}
	for ; len(buckets) > nativeMax; schema-- {
		paired := map[int]int64{}
		for k, n := range buckets {
			paired[(k+1)>>1] += n
		}
		buckets = paired
	}
	m, err := prometheus.NewConstNativeHistogram(desc, p.count, sum, buckets, nil, p.zeros, schema, zeroThreshold, created, name)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	h := bothHistograms{Metric: m}
	n := uint64(0)
	for i, c := range p.classic {
		n += c
		h.cumulated[i] = n
	}
	return h
}

// bothHistograms is a native histogram that has classic buckets as well.
type bothHistograms struct {
	prometheus.Metric
	cumulated [len(classicBounds)]uint64
}

// Write implements prometheus.Metric.
func (h bothHistograms) Write(out *dto.Metric) error {
	if err := h.Metric.Write(out); err != nil {
		return err
	}
	out.Histogram.Bucket = nil
	for i, n := range h.cumulated {
		out.Histogram.Bucket = append(out.Histogram.Bucket, &dto.Bucket{CumulativeCount: &n, UpperBound: &classicBounds[i]})
	}
	return nil
}
