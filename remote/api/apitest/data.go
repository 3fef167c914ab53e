package apitest

import (
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// Base is the time, in ms, around which Data lies.
const Base = 1_700_000_000_000

// Data returns the data over which every golden answer was given.
func Data() *Storage {
	d := &Storage{}
	add := func(points []Point, ss ...string) { d.Add(labels.FromStrings(ss...), points...) }
	at := func(sec float64, v float64) Point { return Point{Time: Base + int64(math.Round(sec*1000)), Value: v} }
	one := func(v float64) []Point { return []Point{at(0, v)} }
	stale := math.Float64frombits(value.StaleNaN)

	add(one(1), "__name__", "l1_abc", "my", "v1", "u", "https://x.example/a?b=c&d=é")
	add(one(1), "__name__", "l1_def", "my", "v2", "other", "o")
	add(one(3), "__name__", "my.métric", "host.name", "h1", "label with space", "s", "Z", "z")
	add(one(5), "__name__", "or1")
	add(one(1), "__name__", "esc", "l", "<b>&\"q\"\\\n\r\t\b\f\x01\x7f\u2028é\U0001F600")
	for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e21, 0.1, 1e-7, math.Copysign(0, -1), 0, 1e20, 123456789.125, 1e-320, 5e-324, math.MaxFloat64, 9007199254740993, -7, 1e-6} {
		add(one(v), "__name__", "p8", "i", string(rune('a'+i)))
	}
	add([]Point{at(0.433, 1)}, "__name__", "ms433")
	add([]Point{at(3, 1), at(63, 2)}, "__name__", "p12", "x", "1")
	var counter []Point
	for i := range 61 {
		counter = append(counter, at(float64(i), float64(i)))
	}
	add(counter, "__name__", "p13")
	add([]Point{at(0, 1), at(60, stale), at(90, 2)}, "__name__", "lbs")
	add(one(1), "__name__", "p9_a", "x", "1")
	add(one(2.5), "__name__", "p9_b", "x", "1")
	native := &histogram.FloatHistogram{
		Schema: 2, ZeroThreshold: 0.001, ZeroCount: 12, Count: 23, Sum: 20.5,
		PositiveSpans: []histogram.Span{{Offset: 3, Length: 2}, {Offset: 1, Length: 3}}, PositiveBuckets: []float64{1, 2, 2, 0, 1},
		NegativeSpans: []histogram.Span{{Offset: 2, Length: 2}}, NegativeBuckets: []float64{2, 1},
	}
	add([]Point{{Time: Base, Histogram: native}, at(60, 7)}, "__name__", "nh", "a", "1")
	custom := &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 6, Sum: 9, CustomValues: []float64{1, 2.5},
		PositiveSpans: []histogram.Span{{Offset: 0, Length: 3}}, PositiveBuckets: []float64{2, 1, 3},
	}
	add([]Point{{Time: Base, Histogram: custom}}, "__name__", "nhcb")
	add([]Point{{Time: Base, Histogram: &histogram.FloatHistogram{}}}, "__name__", "nhempty")
	for i, le := range []string{"0.1", "1", "+Inf"} {
		add(one([]float64{5, 4, 10}[i]), "__name__", "p24m_bucket", "le", le)
		add(one(float64(i)), "__name__", "p24x_bucket", "le", []string{"abc", "1", "+Inf"}[i])
	}

	now := float64(1000)
	add([]Point{at(now-30, 1)}, "__name__", "f1", "a", "x")
	add([]Point{at(now-30, 2), at(now-10, stale)}, "__name__", "f1", "a", "y")
	add([]Point{at(now-5, math.NaN())}, "__name__", "f1", "a", "n")

	d.Exemplars = []exemplar.QueryResult{{
		SeriesLabels: labels.FromStrings("__name__", "or1"),
		Exemplars: []exemplar.Exemplar{
			{Labels: labels.FromStrings("trace_id", "abc<"), Value: 100.123, Ts: Base + 1, HasTs: true},
			{Value: math.Inf(1), Ts: Base + 2000, HasTs: true},
		},
	}, {
		SeriesLabels: labels.FromStrings("__name__", "l1_abc", "my", "v1"),
		Exemplars:    []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", "x"), Value: 1e-9, Ts: Base, HasTs: true}},
	}}
	return d
}
