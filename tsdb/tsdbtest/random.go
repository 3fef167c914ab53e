package tsdbtest

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

// Random draws the things a store may be given.
type Random struct {
	*rand.Rand
	Series int   // number of label sets
	MinT   int64 // range of times, milliseconds
	MaxT   int64
}

// Labels draws one of r.Series label sets.
func (r *Random) Labels() labels.Labels {
	i := r.IntN(r.Series)
	ls := []string{"__name__", fmt.Sprintf("metric_%d", i%3), "id", fmt.Sprint(i)}
	if i%2 == 0 {
		ls = append(ls, "even", "yes")
	}
	if i%5 == 0 {
		ls = append(ls, "Zürich", "ä")
	}
	return labels.FromStrings(ls...)
}

// Time draws a time, often on a grid.
func (r *Random) Time() int64 {
	t := r.MinT + r.Int64N(r.MaxT-r.MinT+1)
	if r.IntN(3) > 0 {
		t -= t % 15000
	}
	return max(t, r.MinT)
}

// Float draws a value, awkward ones included.
func (r *Random) Float() float64 {
	switch r.IntN(10) {
	case 0:
		return math.Float64frombits(r.Uint64())
	case 1:
		return math.Float64frombits(0x7ff0000000000002) // staleness marker
	case 2:
		return []float64{math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 0}[r.IntN(5)]
	case 3, 4:
		return float64(r.IntN(10000)) / 100
	case 5:
		return r.NormFloat64()
	}
	return float64(r.IntN(1000))
}

// Sample draws a sample: mostly floats.
func (r *Random) Sample() Sample {
	s := Sample{T: r.Time()}
	if r.IntN(4) == 0 {
		s.ST = max(0, s.T-r.Int64N(100000))
	}
	switch r.IntN(12) {
	case 0:
		s.H = r.Histogram()
	case 1:
		s.FH = r.Histogram().ToFloat(nil)
		s.FH.Sum = r.Float()
	default:
		s.V = r.Float()
	}
	return s
}

// Histogram draws a valid integer histogram, now and then of custom buckets.
func (r *Random) Histogram() *histogram.Histogram {
	h := &histogram.Histogram{Schema: int32(r.IntN(9) - 2), Sum: r.Float()}
	if r.IntN(3) == 0 {
		h.Schema = histogram.CustomBucketsSchema
		h.CustomValues = []float64{0.5, 1, 2.5, 10, 100, 1000}
	} else {
		h.ZeroThreshold, h.ZeroCount = 0.001, r.Uint64N(5)
		h.Count = h.ZeroCount
	}
	n := 1 + r.IntN(4)
	h.PositiveSpans = []histogram.Span{{Offset: int32(r.IntN(2)), Length: uint32(n)}}
	previous := int64(0)
	for range n {
		v := r.Int64N(20)
		h.PositiveBuckets = append(h.PositiveBuckets, v-previous)
		h.Count += uint64(v)
		previous = v
	}
	if math.IsNaN(h.Sum) {
		h.Count++ // a NaN observation is in no bucket
	}
	return h
}

// Exemplar draws an exemplar.
func (r *Random) Exemplar() exemplar.Exemplar {
	return exemplar.Exemplar{
		Labels: labels.FromStrings("trace_id", fmt.Sprint(r.IntN(50))),
		Value:  float64(r.IntN(10)), Ts: r.Time(), HasTs: true,
	}
}

// Matchers draws one to three matchers that often match something.
func (r *Random) Matchers() []*labels.Matcher {
	pool := []struct {
		kind        labels.MatchType
		name, value string
	}{
		{labels.MatchEqual, "__name__", fmt.Sprintf("metric_%d", r.IntN(4))},
		{labels.MatchRegexp, "__name__", "metric_[01]"},
		{labels.MatchNotEqual, "even", "yes"},
		{labels.MatchEqual, "even", ""},
		{labels.MatchRegexp, "id", "1.*|3"},
		{labels.MatchNotRegexp, "id", ".*2"},
		{labels.MatchRegexp, "Zürich", ".+"},
		{labels.MatchRegexp, "missing", ".*"},
		{labels.MatchEqual, "id", fmt.Sprint(r.IntN(r.Series))},
	}
	var out []*labels.Matcher
	for range 1 + r.IntN(3) {
		p := pool[r.IntN(len(pool))]
		out = append(out, labels.MustNewMatcher(p.kind, p.name, p.value))
	}
	return out
}
