package rollup

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
)

// testSample is a sample of a series, as upstream's engine reads it.
type testSample struct {
	t, st int64
	f     float64
	h     *histogram.FloatHistogram
}

func (s testSample) T() int64                      { return s.t }
func (s testSample) ST() int64                     { return s.st }
func (s testSample) F() float64                    { return s.f }
func (s testSample) H() *histogram.Histogram       { return nil }
func (s testSample) FH() *histogram.FloatHistogram { return s.h }
func (s testSample) Copy() chunks.Sample {
	if s.h != nil {
		s.h = s.h.Copy()
	}
	return s
}

func (s testSample) Type() chunkenc.ValueType {
	if s.h != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// testSeries is a series in both forms.
type testSeries struct {
	kind    string
	samples []chunks.Sample // with staleness markers
	in      Input           // samples only
}

func newSeries(kind string, samples []testSample) *testSeries {
	s := &testSeries{kind: kind}
	for _, p := range samples {
		s.samples = append(s.samples, p)
		switch {
		case p.h == nil && !value.IsStaleNaN(p.f):
			s.in.T, s.in.F, s.in.ST = append(s.in.T, p.t), append(s.in.F, p.f), append(s.in.ST, p.st)
		case p.h != nil && !value.IsStaleNaN(p.h.Sum):
			s.in.HT, s.in.H, s.in.HST = append(s.in.HT, p.t), append(s.in.H, p.h), append(s.in.HST, p.st)
		}
	}
	return s
}

var floatKinds = []string{
	"integers", "counter", "decimals", "wild", "nan", "huge", "zeros", "constant", "infinite", "gauge", "large integers", "wide integers", "halves",
}

var histKinds = []string{"exponential", "custom", "gauges", "hist mix", "mix"}

// randomSeries makes a series of a kind over [0, span).
func randomSeries(rng *rand.Rand, kind string, span int64) *testSeries {
	interval := []int64{1000, 10_000, 15_000, 7_001}[rng.IntN(4)]
	jitter, gaps, stale := rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(2) == 0
	next := valuesOf(rng, kind)
	var samples []testSample
	t, st := int64(rng.IntN(50_000)), int64(0)
	if !jitter {
		t -= t % 1000
	}
	for t < span {
		p := next()
		p.t = t
		p.st, st = randomStart(rng, samples, t, st)
		switch {
		case stale && rng.IntN(25) == 0 && p.h == nil:
			p.f = math.Float64frombits(value.StaleNaN)
		case stale && rng.IntN(25) == 0 && p.h != nil:
			p.h.Sum = math.Float64frombits(value.StaleNaN)
		}
		samples = append(samples, p)
		t += interval
		if jitter {
			t += rng.Int64N(interval / 4)
		}
		if gaps && rng.IntN(20) == 0 {
			t += rng.Int64N(30 * interval)
		}
	}
	return newSeries(kind, samples)
}

// randomStart returns a start time for the sample at t, and the one to go on with.
func randomStart(rng *rand.Rand, before []testSample, t, st int64) (_, _ int64) {
	switch rng.IntN(12) {
	case 0:
		st = t - rng.Int64N(20_000)
	case 1:
		return 0, st
	case 2:
		return t, st
	case 3:
		return t + 5, st
	case 4:
		if len(before) > 0 {
			return before[len(before)-1].t, before[len(before)-1].t
		}
	}
	return st, st
}

// valuesOf returns what yields the values of a kind of series.
func valuesOf(rng *rand.Rand, kind string) func() testSample {
	switch kind {
	case "exponential", "custom", "gauges", "hist mix":
		g := &histGen{rng: rng, kind: kind}
		return func() testSample { return testSample{h: g.next()} }
	case "mix":
		g, f := &histGen{rng: rng, kind: "exponential"}, floatsOf(rng, "counter")
		hist := false
		return func() testSample {
			if rng.IntN(6) == 0 {
				hist = !hist
			}
			if hist {
				return testSample{h: g.next()}
			}
			return testSample{f: f()}
		}
	}
	f := floatsOf(rng, kind)
	return func() testSample { return testSample{f: f()} }
}

func floatsOf(rng *rand.Rand, kind string) func() float64 {
	v := 0.0
	switch kind {
	case "integers":
		return func() float64 { return float64(rng.IntN(200) - 100) }
	case "halves":
		return func() float64 { return float64(rng.IntN(200)-100) / 8 }
	case "large integers":
		return func() float64 { return float64(rng.Int64N(1<<54) - 1<<53) }
	case "wide integers":
		return func() float64 { return float64(rng.Int64N(1 << (20 + rng.IntN(25)))) }
	case "counter":
		return func() float64 {
			if v += float64(rng.IntN(10)); rng.IntN(15) == 0 {
				v = float64(rng.IntN(5))
			}
			return v
		}
	case "decimals":
		return func() float64 { return float64(rng.IntN(100_000)) / 100 }
	case "gauge":
		return func() float64 { v += rng.NormFloat64(); return v }
	case "huge":
		return func() float64 { return (rng.Float64() - 0.2) * 1.7e308 }
	case "zeros":
		return func() float64 { return []float64{0, math.Copysign(0, -1), 1, -1}[rng.IntN(4)] }
	case "constant":
		v = rng.Float64()
		return func() float64 { return v }
	case "nan":
		return func() float64 { return []float64{math.NaN(), 1, 2, 2, float64(rng.IntN(9))}[rng.IntN(5)] }
	case "infinite":
		return func() float64 {
			return []float64{math.Inf(1), 1, float64(rng.IntN(9)), 1e300, math.Inf(1 - 2*rng.IntN(2))}[rng.IntN(5)]
		}
	}
	wild := []float64{
		math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 1e308, -1e308, 5e-324, 1e-300, 0.1, 1, 3, 1e16,
	}
	return func() float64 {
		if rng.IntN(8) > 0 {
			return rng.Float64()
		}
		return wild[rng.IntN(len(wild))]
	}
}

// histGen makes histograms, each mostly the one before with some more in it.
type histGen struct {
	rng  *rand.Rand
	kind string
	last *histogram.FloatHistogram
}

func (g *histGen) next() *histogram.FloatHistogram {
	rng := g.rng
	h := g.last
	if h == nil || rng.IntN(8) == 0 {
		h = g.fresh()
	} else {
		h = h.Copy()
		for _, b := range [][]float64{h.PositiveBuckets, h.NegativeBuckets} {
			for i := range b {
				b[i] += float64(rng.IntN(4))
			}
		}
		if rng.IntN(3) == 0 && len(h.PositiveBuckets) > 0 {
			h.PositiveBuckets[rng.IntN(len(h.PositiveBuckets))] += rng.Float64()
		}
		h.Sum += rng.Float64() * 10
	}
	count(h)
	h.CounterResetHint = histogram.UnknownCounterReset
	switch {
	case g.kind == "gauges" && rng.IntN(10) > 0:
		h.CounterResetHint = histogram.GaugeType
	case rng.IntN(4) == 0:
		h.CounterResetHint = []histogram.CounterResetHint{histogram.CounterReset, histogram.NotCounterReset, histogram.NotCounterReset, histogram.GaugeType}[rng.IntN(4)]
	}
	if g.kind == "gauges" && rng.IntN(30) == 0 {
		h.Mul(1e308)
	}
	g.last = h.Copy()
	return h
}

func count(h *histogram.FloatHistogram) {
	h.Count = h.ZeroCount
	for _, b := range append(slices.Clone(h.PositiveBuckets), h.NegativeBuckets...) {
		h.Count += b
	}
}

func (g *histGen) fresh() *histogram.FloatHistogram {
	rng := g.rng
	h := &histogram.FloatHistogram{Sum: rng.Float64() * 100}
	if g.kind == "custom" || g.kind == "hist mix" && rng.IntN(2) == 0 {
		h.Schema = histogram.CustomBucketsSchema
		h.CustomValues = [][]float64{{1, 2, 3}, {1, 2, 3, 4}, {0.5, 2, 4, 8}, {10}}[rng.IntN(4)]
		h.PositiveSpans = []histogram.Span{{Offset: 0, Length: uint32(len(h.CustomValues) + 1)}}
		h.PositiveBuckets = g.buckets(len(h.CustomValues) + 1)
		return h
	}
	h.Schema = []int32{0, 0, 0, 1, 3, -1}[rng.IntN(6)]
	h.ZeroThreshold = []float64{0.001, 0.001, 0.01, 0}[rng.IntN(4)]
	h.ZeroCount = float64(rng.IntN(5))
	h.PositiveSpans, h.PositiveBuckets = g.side()
	if rng.IntN(2) == 0 {
		h.NegativeSpans, h.NegativeBuckets = g.side()
	}
	return h
}

func (g *histGen) side() (spans []histogram.Span, buckets []float64) {
	for i := range g.rng.IntN(4) {
		n := 1 + g.rng.IntN(3)
		offset := g.rng.IntN(4)
		if i > 0 {
			offset++
		}
		spans = append(spans, histogram.Span{Offset: int32(offset), Length: uint32(n)})
		buckets = append(buckets, g.buckets(n)...)
	}
	return spans, buckets
}

func (g *histGen) buckets(n int) []float64 {
	b := make([]float64, n)
	for i := range b {
		b[i] = float64(g.rng.IntN(20))
		if g.rng.IntN(5) == 0 {
			b[i] += g.rng.Float64()
		}
	}
	return b
}

// sampleList is samples as upstream's iterators read them.
type sampleList []chunks.Sample

func (s sampleList) Get(i int) chunks.Sample { return s[i] }
func (s sampleList) Len() int                { return len(s) }
