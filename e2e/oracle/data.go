package oracle

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
)

// The data lie in [DataStart, DataEnd], in milliseconds.
const (
	DataStart int64 = 1_700_000_000_000 - 1_700_000_000_000%60_000
	DataEnd         = DataStart + 60*60_000
)

// Sample is a float or one of two kinds of histogram.
type Sample struct {
	ST, T int64
	F     float64
	H     *histogram.Histogram
	FH    *histogram.FloatHistogram
}

func (s Sample) String() string {
	out := fmt.Sprintf("@%d ", s.T)
	if s.ST != 0 {
		out += fmt.Sprintf("(started %d) ", s.ST)
	}
	switch {
	case s.H != nil:
		return out + "int " + histogramText(s.H.ToFloat(nil))
	case s.FH != nil:
		return out + "float " + histogramText(s.FH)
	}
	return out + floatText(s.F)
}

// Series is a label set with its samples in order of time.
type Series struct {
	Labels  labels.Labels
	Samples []Sample
}

// Append writes the samples of all series from mint to before maxt.
func Append(ctx context.Context, into storage.AppendableV2, all []Series, mint, maxt int64) error {
	app := into.AppenderV2(ctx)
	for _, s := range all {
		for _, x := range s.Samples {
			if x.T < mint || x.T >= maxt {
				continue
			}
			if _, err := app.Append(0, s.Labels, x.ST, x.T, x.F, x.H, x.FH, storage.AppendV2Options{}); err != nil {
				return fmt.Errorf("append %s %s: %w", s.Labels, x, err)
			}
		}
	}
	return app.Commit()
}

// generator makes the samples of series.
type generator struct {
	*rand.Rand
	series []Series
}

// RandomData makes the series of all kinds that queries may meet, in label order.
func RandomData(seed uint64) []Series {
	g := &generator{Rand: rand.New(rand.NewPCG(seed, 1))}
	for job := range 3 {
		for instance := range 3 {
			ls := []string{"job", fmt.Sprint("j", job), "instance", fmt.Sprint("i", instance)}
			g.floatSeries(ls, job == 0)
			g.histogramSeries(ls)
			g.infoSeries(ls, job, instance)
		}
	}
	g.sameLabels()
	slices.SortFunc(g.series, func(a, b Series) int { return labels.Compare(a.Labels, b.Labels) })
	return g.series
}

// add makes one series; next is asked for one sample of each time.
func (g *generator) add(name string, ls []string, times []int64, next func(i int, s *Sample)) {
	set := labels.FromStrings(append(slices.Clone(ls), "__name__", name)...)
	out := make([]Sample, 0, len(times))
	for i, t := range times {
		s := Sample{T: t}
		next(i, &s)
		out = append(out, s)
	}
	g.series = append(g.series, Series{set, out})
}

// times are those of one series: by a fixed interval or not, with gaps.
func (g *generator) times() []int64 {
	interval := []int64{15_000, 15_000, 15_000, 30_000, 60_000}[g.IntN(5)]
	jitter := []int64{0, 0, 1, 200, 5000}[g.IntN(5)]
	gap := []float64{0, 0, 0.02, 0.2}[g.IntN(4)]
	start, end := DataStart, DataEnd
	if g.IntN(5) == 0 { // born late, or died early
		start += g.Int64N(30 * 60_000)
		end -= g.Int64N(30 * 60_000)
	}
	var out []int64
	for t := start; t <= end; t += interval {
		if g.Float64() < gap {
			if g.IntN(4) == 0 { // longer than the look-back
				t += interval * g.Int64N(30)
			}
			continue
		}
		at := t
		if jitter > 0 {
			at += g.Int64N(jitter + 1)
		}
		if len(out) == 0 || at > out[len(out)-1] {
			out = append(out, at)
		}
	}
	return out
}

func (g *generator) floatSeries(ls []string, started bool) {
	for _, code := range []string{"200", "500"} {
		g.add("requests_total", append(slices.Clone(ls), "code", code), g.times(), g.counter(started, 1))
		g.add("errors_total", append(slices.Clone(ls), "code", code), g.times(), g.counter(false, 0.1))
	}
	g.add("temperature", ls, g.times(), g.decimals(0.1))
	g.add("tiny", ls, g.times(), g.decimals(1e-9))
	g.add("ints", ls, g.times(), func(_ int, s *Sample) { s.F = float64(g.IntN(21) - 10) })
	g.add("constant", ls, g.times(), func(_ int, s *Sample) { s.F = 42 })
	g.add("up", ls, g.times(), func(_ int, s *Sample) {
		if s.F = float64(min(1, g.IntN(10))); g.IntN(15) == 0 {
			s.F = math.Float64frombits(value.StaleNaN)
		}
	})
	g.add("odd", ls, g.times(), func(_ int, s *Sample) { s.F = g.odd() })
	g.add("huge", ls, g.times(), func(_ int, s *Sample) {
		s.F = []float64{1e308, -1e308, 1.7e308, 1e16, 1, -1e16, math.MaxFloat64}[g.IntN(7)]
	})
	g.add("doubles", ls, g.times(), func(_ int, s *Sample) { s.F = g.NormFloat64() * math.Pow(10, float64(g.IntN(6))) })
	if g.IntN(2) == 0 {
		g.add("typed_total", append(slices.Clone(ls), "__type__", "counter", "__unit__", "bytes"), g.times(), g.counter(true, 8))
		g.add("typed", append(slices.Clone(ls), "__type__", "gauge"), g.times(), g.decimals(0.01))
	}
}

// odd is a value of those that are easily lost.
func (g *generator) odd() float64 {
	switch g.IntN(12) {
	case 0:
		return math.NaN()
	case 1:
		return math.Float64frombits(value.NormalNaN | uint64(g.IntN(1000)))
	case 2:
		return math.Float64frombits(0xfff8000000000000 | uint64(g.IntN(1000)))
	case 3:
		return math.Inf(1)
	case 4:
		return math.Inf(-1)
	case 5:
		return math.Copysign(0, -1)
	case 6:
		return math.SmallestNonzeroFloat64 * float64(g.IntN(100))
	case 7:
		return math.Float64frombits(value.StaleNaN)
	}
	return float64(g.IntN(1000)) / 8
}

// counter grows and resets; started ones know when they began.
func (g *generator) counter(started bool, unit float64) func(int, *Sample) {
	n, began := float64(g.IntN(100)), DataStart-g.Int64N(600_000)
	last := int64(0)
	return func(_ int, s *Sample) {
		if n += float64(g.IntN(50)); g.IntN(40) == 0 {
			n, began = float64(g.IntN(5)), s.T-g.Int64N(max(s.T-last, 1))
			if last == 0 {
				began = s.T
			}
		}
		if s.F = n * unit; g.IntN(60) == 0 {
			s.F = math.Float64frombits(value.StaleNaN)
		}
		if started {
			s.ST = began
		}
		last = s.T
	}
}

// decimals walk in multiples of unit, as gauges do.
func (g *generator) decimals(unit float64) func(int, *Sample) {
	level := float64(g.IntN(1000))
	return func(_ int, s *Sample) {
		level += float64(g.IntN(21) - 10)
		if s.F = math.Round(level) * unit; g.IntN(50) == 0 {
			s.F = math.Float64frombits(value.StaleNaN)
		}
	}
}

// infoSeries are what info() joins with, and classic histograms.
func (g *generator) infoSeries(ls []string, job, instance int) {
	one := func(_ int, s *Sample) { s.F = 1 }
	g.add("target_info", append(slices.Clone(ls), "version", fmt.Sprint("v", g.IntN(2)), "cluster", "eu"), g.times(), one)
	if instance != 1 {
		g.add("build_info", append(slices.Clone(ls), "branch", fmt.Sprint("b", job)), g.times(), one)
	}
	bounds := []string{"0.1", "0.5", "1", "2.5", "10", "+Inf"}
	if job == 2 {
		bounds = append(bounds[:3:3], "abc", "+Inf")
	}
	times := g.times()
	counts := make([][]float64, len(bounds))
	for b := range bounds {
		counts[b] = make([]float64, len(times))
	}
	for i := range times {
		for b := range bounds {
			grow := float64(g.IntN(5))
			if i > 0 {
				grow += counts[b][i-1]
				if b > 0 {
					grow -= counts[b-1][i-1]
				}
			}
			if grow = max(grow, 0); b > 0 {
				grow += counts[b-1][i]
			}
			if g.IntN(100) == 0 {
				grow *= 1 - 1e-13 // not quite monotonic
			}
			counts[b][i] = grow
		}
	}
	for b, le := range bounds {
		g.add("latency_bucket", append(slices.Clone(ls), "le", le), times, func(i int, s *Sample) { s.F = counts[b][i] })
	}
	g.add("latency_count", ls, times, func(i int, s *Sample) { s.F = counts[len(bounds)-1][i] })
	g.add("latency_sum", ls, times, g.counter(false, 0.25))
}

// sameLabels are series that differ in their names only, and such that come and go.
func (g *generator) sameLabels() {
	for _, name := range []string{"dup_a", "dup_b", "dup_c"} {
		for i := range 2 {
			g.add(name, []string{"job", "j0", "instance", fmt.Sprint("i", i)}, g.times(), g.decimals(0.5))
		}
	}
	for i := range 8 {
		from := DataStart + int64(i)*7*60_000
		g.add("sparse", []string{"l", fmt.Sprint(i), "job", "j1"}, []int64{from, from + 15_000, from + 30_000, from + 45_000, from + 60_000}, g.decimals(1))
	}
	g.add("alone", nil, g.times(), g.decimals(0.1))
}
