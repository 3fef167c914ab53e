package oracle

import (
	"fmt"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

func (g *generator) histogramSeries(ls []string) {
	exp := g.exponential(false)
	g.add("hist", ls, g.times(), func(_ int, s *Sample) { s.H = exp() })
	gauge := g.exponential(true)
	g.add("hist_gauge", ls, g.times(), func(_ int, s *Sample) { s.FH = g.float(gauge()) })
	floats := g.exponential(false)
	g.add("hist_float", ls, g.times(), func(_ int, s *Sample) { s.FH = g.float(floats()) })
	custom := g.custom()
	g.add("hist_custom", ls, g.times(), func(_ int, s *Sample) {
		if s.H = custom(); g.IntN(8) == 0 {
			s.FH, s.H = s.H.ToFloat(nil), nil
		}
	})
	mixed, custom := g.exponential(false), g.custom()
	run, kind := 0, 0
	g.add("mixed", ls, g.times(), func(_ int, s *Sample) {
		if run--; run < 0 {
			run, kind = g.IntN(10), g.IntN(4)
		}
		switch kind {
		case 0, 1:
			s.F = float64(g.IntN(100)) / 4
		case 2:
			s.H = mixed()
		default:
			s.FH = custom().ToFloat(nil)
		}
	})
}

// float makes an integer histogram one of floats that are no integers.
func (g *generator) float(h *histogram.Histogram) *histogram.FloatHistogram {
	fh := h.ToFloat(nil)
	if !value.IsStaleNaN(fh.Sum) && g.IntN(2) == 0 {
		fh.Mul(0.3)
	}
	return fh
}

// buckets is what one side of an exponential histogram counts.
type buckets map[int32]int64

func (b buckets) coded() (spans []histogram.Span, deltas []int64, total int64) {
	var order []int32
	for i := range b {
		order = append(order, i)
	}
	slices.Sort(order)
	var last int64
	for k, i := range order {
		switch {
		case k == 0:
			spans = append(spans, histogram.Span{Offset: i, Length: 1})
		case i == order[k-1]+1:
			spans[len(spans)-1].Length++
		default:
			spans = append(spans, histogram.Span{Offset: i - order[k-1] - 1, Length: 1})
		}
		deltas, last, total = append(deltas, b[i]-last), b[i], total+b[i]
	}
	return spans, deltas, total
}

// exponential yields the samples of one native histogram, which changes its
// schema, its zero bucket and its set of buckets, is reset, and goes stale.
func (g *generator) exponential(gauge bool) func() *histogram.Histogram {
	schema, zero, threshold := int32(g.IntN(5)), uint64(0), 0.001
	positive, negative, sum := buckets{}, buckets{}, 0.0
	return func() *histogram.Histogram {
		if g.IntN(40) == 0 {
			return &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		}
		h := &histogram.Histogram{}
		if g.IntN(40) == 0 || gauge && g.IntN(3) == 0 { // a reset
			positive, negative, zero, sum = buckets{}, buckets{}, 0, 0
			if g.IntN(2) == 0 {
				h.CounterResetHint = histogram.CounterReset
			}
			if g.IntN(2) == 0 {
				schema = int32(g.IntN(9) - 1)
			}
			threshold = []float64{0.001, 0.001, 0.01, 0}[g.IntN(4)]
		} else if g.IntN(6) == 0 {
			h.CounterResetHint = histogram.NotCounterReset
		}
		for range 1 + g.IntN(4) {
			n := int64(1 + g.IntN(5))
			if side := positive; g.IntN(4) > 0 {
				side[int32(g.IntN(8)-3)] += n
			} else {
				negative[int32(g.IntN(4))] += n
			}
			sum += float64(n) * (g.Float64() - 0.2)
		}
		zero += uint64(g.IntN(2))
		var p, n int64
		h.PositiveSpans, h.PositiveBuckets, p = positive.coded()
		h.NegativeSpans, h.NegativeBuckets, n = negative.coded()
		h.Schema, h.ZeroThreshold, h.ZeroCount, h.Sum = schema, threshold, zero, sum
		h.Count = uint64(p+n) + zero
		if gauge {
			h.CounterResetHint = histogram.GaugeType
		}
		if g.IntN(80) == 0 { // an observed NaN counts, and is in no bucket
			h.Sum, h.Count = math.NaN(), h.Count+1
		}
		return h
	}
}

// custom yields the samples of one native histogram with bounds of its own,
// which change.
func (g *generator) custom() func() *histogram.Histogram {
	bounds := [][]float64{{0.1, 0.5, 1, 5, 10}, {0.5, 1, 10}, {0.25, 1, 4, 16}}
	pick, counts, sum := g.IntN(3), buckets{}, 0.0
	return func() *histogram.Histogram {
		if g.IntN(50) == 0 {
			return &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN), Schema: histogram.CustomBucketsSchema, CustomValues: bounds[pick]}
		}
		if g.IntN(30) == 0 {
			pick, counts, sum = g.IntN(3), buckets{}, 0
		}
		for range 1 + g.IntN(3) {
			n := int64(1 + g.IntN(3))
			counts[int32(g.IntN(len(bounds[pick])+1))] += n
			sum += float64(n) * g.Float64() * 3
		}
		h := &histogram.Histogram{Schema: histogram.CustomBucketsSchema, CustomValues: bounds[pick], Sum: sum}
		var n int64
		h.PositiveSpans, h.PositiveBuckets, n = counts.coded()
		h.Count = uint64(n)
		return h
	}
}

// histogramText shows every field.
func histogramText(h *histogram.FloatHistogram) string {
	if h == nil {
		return "no histogram"
	}
	return fmt.Sprintf("histogram{hint:%d schema:%d zero:%s in %s count:%s sum:%s pos:%v%s neg:%v%s custom:%s}",
		h.CounterResetHint, h.Schema, floatText(h.ZeroCount), floatText(h.ZeroThreshold), floatText(h.Count), floatText(h.Sum),
		h.PositiveSpans, floatsText(h.PositiveBuckets), h.NegativeSpans, floatsText(h.NegativeBuckets), floatsText(h.CustomValues))
}

// floatText shows a value, and its bits where the value alone does not tell them.
func floatText(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<50 && (f != 0 || !math.Signbit(f)) {
		return fmt.Sprint(f)
	}
	return fmt.Sprintf("%v(%016x)", f, math.Float64bits(f))
}

func floatsText(fs []float64) string {
	out := "["
	for i, f := range fs {
		if i > 0 {
			out += " "
		}
		out += floatText(f)
	}
	return out + "]"
}
