package record

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// awkward values: each must come back with every bit.
var awkward = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, 1 << 53, 1<<53 - 1, -(1 << 53), math.MaxFloat64,
	math.SmallestNonzeroFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
	math.Float64frombits(0x7ff0000000000002), math.Float64frombits(0xfff8000000000123),
}

func sampleHistogram() *histogram.Histogram {
	return &histogram.Histogram{
		CounterResetHint: histogram.NotCounterReset, Schema: -3, ZeroThreshold: 1e-128, ZeroCount: 7,
		Count: math.MaxUint64, Sum: math.Copysign(0, -1),
		PositiveSpans:   []histogram.Span{{Offset: -5, Length: 2}, {Offset: 3, Length: 1}},
		PositiveBuckets: []int64{1, -1, math.MinInt64},
		NegativeSpans:   []histogram.Span{{Offset: math.MaxInt32, Length: 0}},
	}
}

func sampleFloatHistogram() *histogram.FloatHistogram {
	return &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 3.5, Sum: math.NaN(),
		PositiveSpans:   []histogram.Span{{Offset: 0, Length: 2}},
		PositiveBuckets: []float64{0.25, math.Inf(1)},
		CustomValues:    []float64{1, 2.5},
	}
}

func TestItemsComeBackAsTheyWere(t *testing.T) {
	var e Encoder
	lset := labels.FromStrings("__name__", "up", "häst", "ÿ")
	e.Series(9, lset)
	for i, v := range awkward {
		e.Float(uint64(9+i), int64(i), int64(1000*i), v)
	}
	h, fh := sampleHistogram(), sampleFloatHistogram()
	e.Histogram(2, 0, -5, h)
	e.FloatHistogram(math.MaxUint64, math.MinInt64, math.MaxInt64, fh)
	x := exemplar.Exemplar{Labels: labels.FromStrings("trace", "1"), Value: math.NaN(), Ts: 7, HasTs: true}
	e.Exemplar(2, x)
	m := metadata.Metadata{Type: "counter", Help: "a\nb", Unit: "bytes"}
	e.Metadata("up", m)

	d := NewDecoder(e.Bytes())
	next := func() *Item {
		t.Helper()
		require.True(t, d.Next(), "%v", d.Err())
		return d.Item()
	}
	it := next()
	require.Equal(t, KindSeries, it.Kind)
	require.Equal(t, uint64(9), it.Ref)
	require.True(t, labels.Equal(lset, it.Labels))
	for i, v := range awkward {
		it := next()
		require.Equal(t, KindFloat, it.Kind)
		require.Equal(t, uint64(9+i), it.Ref)
		require.Equal(t, int64(1000*i), it.T)
		require.Equal(t, int64(i), it.ST)
		require.Equal(t, math.Float64bits(v), math.Float64bits(it.Value))
	}
	it = next()
	require.Equal(t, int64(-5), it.T)
	require.Equal(t, h, it.Histogram)
	it = next()
	require.Equal(t, int64(math.MinInt64), it.ST)
	require.Equal(t, int64(math.MaxInt64), it.T)
	require.Equal(t, math.Float64bits(fh.Sum), math.Float64bits(it.FloatHistogram.Sum))
	require.Equal(t, fh.PositiveBuckets, it.FloatHistogram.PositiveBuckets)
	require.Equal(t, fh.CustomValues, it.FloatHistogram.CustomValues)
	it = next()
	require.True(t, x.Equals(it.Exemplar) || math.IsNaN(it.Exemplar.Value))
	require.Equal(t, x.Ts, it.Exemplar.Ts)
	require.True(t, labels.Equal(x.Labels, it.Exemplar.Labels))
	it = next()
	require.Equal(t, "up", it.Family)
	require.Equal(t, m, it.Metadata)
	require.False(t, d.Next())
	require.NoError(t, d.Err())
}

func TestTombstone(t *testing.T) {
	in := Tombstone{MinT: math.MinInt64, MaxT: 5, Matchers: []Matcher{
		{Type: labels.MatchRegexp, Name: "a", Value: ".*"}, {Type: labels.MatchNotEqual, Name: "", Value: ""},
	}}
	out, err := DecodeTombstone(AppendTombstone(nil, in))
	require.NoError(t, err)
	require.Equal(t, in, out)
	_, err = DecodeTombstone(append(AppendTombstone(nil, in), 0))
	require.ErrorIs(t, err, ErrCorrupt)
}

// A scrape's samples must stay cheap: the log is written for each request.
func TestSteadyIntegersTakeFewBytes(t *testing.T) {
	var e Encoder
	rng := rand.New(rand.NewPCG(1, 2))
	for ref := range uint64(1000) {
		e.Float(ref+1, 0, 1700000000000, float64(rng.IntN(100)))
	}
	require.Less(t, len(e.Bytes()), 3*1000)
}

func FuzzDecoder(f *testing.F) {
	var e Encoder
	e.Series(1, labels.FromStrings("__name__", "up"))
	for _, v := range awkward {
		e.Float(1, 1, 5, v)
	}
	e.Histogram(1, 0, 6, sampleHistogram())
	e.FloatHistogram(1, 0, 7, sampleFloatHistogram())
	e.Exemplar(1, exemplar.Exemplar{Value: 1})
	e.Metadata("up", metadata.Metadata{Type: "gauge"})
	f.Add(e.Bytes())
	f.Add(AppendTombstone(nil, Tombstone{Matchers: []Matcher{{Name: "a"}}}))
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		tally.Input()
		var again Encoder
		d := NewDecoder(b)
		for d.Next() {
			encodeItem(&again, d.Item())
		}
		err := d.Err()
		if err != nil {
			require.ErrorIs(t, err, ErrCorrupt)
		} else {
			var third Encoder
			d = NewDecoder(again.Bytes())
			for d.Next() {
				encodeItem(&third, d.Item())
			}
			require.NoError(t, d.Err())
			require.Equal(t, again.Bytes(), third.Bytes())
		}
		ts, errTombstone := DecodeTombstone(b)
		if err == nil || errTombstone == nil {
			tally.Accepted()
		}
		if errTombstone == nil {
			back, err := DecodeTombstone(AppendTombstone(nil, ts))
			require.NoError(t, err)
			require.Equal(t, ts, back)
		}
	})
}

func encodeItem(e *Encoder, it *Item) {
	switch it.Kind {
	case KindFloat:
		e.Float(it.Ref, it.ST, it.T, it.Value)
	case KindHistogram:
		e.Histogram(it.Ref, it.ST, it.T, it.Histogram)
	case KindFloatHistogram:
		e.FloatHistogram(it.Ref, it.ST, it.T, it.FloatHistogram)
	case KindSeries:
		e.Series(it.Ref, it.Labels)
	case KindExemplar:
		e.Exemplar(it.Ref, it.Exemplar)
	case KindMetadata:
		e.Metadata(it.Family, it.Metadata)
	}
}
