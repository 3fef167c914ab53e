package v1

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
)

const (
	normalNaN = 0x7ff8000000000001
	staleNaN  = 0x7ff0000000000002
)

// shapes are value generators that cover every form of a column.
var shapes = map[string]func(r *rand.Rand, n int) []float64{
	"constant": func(r *rand.Rand, n int) []float64 { return fill(n, func(int) float64 { return 42.5 }) },
	"walk":     walk,
	"counter":  counter,
	"decimals": decimals,
	"bytes": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return 4096 * float64(r.IntN(1<<20)) })
	},
	"accumulated": accumulated,
	"full": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return r.NormFloat64() * 1e3 })
	},
	"any bits": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return math.Float64frombits(r.Uint64()) })
	},
	"specials":   specials,
	"stale ends": staleEnds,
	"all stale": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return math.Float64frombits(staleNaN) })
	},
	"large ints": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return float64(int64(r.Uint64())) })
	},
	"tiny": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(int) float64 { return math.Float64frombits(r.Uint64N(1 << 20)) })
	},
	"extreme diff": func(r *rand.Rand, n int) []float64 {
		return fill(n, func(i int) float64 { return []float64{1<<53 - 1, -(1<<53 - 1)}[i%2] })
	},
}

func fill(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func walk(r *rand.Rand, n int) []float64 {
	v := float64(r.IntN(100))
	return fill(n, func(int) float64 {
		v = min(100, max(0, v+math.Trunc(r.NormFloat64())))
		return v
	})
}

func counter(r *rand.Rand, n int) []float64 {
	v := float64(r.IntN(1 << 40))
	return fill(n, func(i int) float64 {
		v += math.Round(1000 + 30*r.NormFloat64())
		if r.IntN(5000) == 0 {
			v = 0
		}
		return v
	})
}

func decimals(r *rand.Rand, n int) []float64 {
	v := 2150
	return fill(n, func(int) float64 {
		v += r.IntN(21) - 10
		return float64(v) / 100
	})
}

func accumulated(r *rand.Rand, n int) []float64 {
	v := 0.0
	return fill(n, func(int) float64 {
		v += float64(r.IntN(50)) / 10
		return v
	})
}

var special = []uint64{0, 1 << 63, normalNaN, staleNaN, 0xfff8000000000000, 0x7ff4dead_beef0001, 0x7ff0000000000000, 0xfff0000000000000, 1, 0x8000000000000001, 0x7fefffffffffffff}

func specials(r *rand.Rand, n int) []float64 {
	return fill(n, func(int) float64 { return math.Float64frombits(special[r.IntN(len(special))]) })
}

func staleEnds(r *rand.Rand, n int) []float64 {
	out := decimals(r, n)
	out[0], out[n-1] = math.Float64frombits(staleNaN), math.Float64frombits(staleNaN)
	return out
}

// timeShapes are those of the time columns.
var timeShapes = map[string]func(r *rand.Rand, n int) []int64{
	"grid": func(r *rand.Rand, n int) []int64 {
		return times(n, func(i int) int64 { return 1700000000000 + int64(i)*15000 })
	},
	"jitter": func(r *rand.Rand, n int) []int64 {
		return times(n, func(i int) int64 { return 1700000000000 + int64(i)*15000 + r.Int64N(9) })
	},
	"sparse":  func(r *rand.Rand, n int) []int64 { return ascend(n, func() int64 { return 1 + r.Int64N(1<<30) }) },
	"extreme": func(r *rand.Rand, n int) []int64 { return ascend(n, func() int64 { return 1 + r.Int64N(1<<49) }) },
}

func times(n int, f func(i int) int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func ascend(n int, gap func() int64) []int64 {
	t := int64(math.MinInt64 / 2)
	return times(n, func(int) int64 {
		t += gap()
		return t
	})
}

// requireSame compares spans sample by sample, floats by their bits.
func requireSame(t testing.TB, want, got *block.Span) {
	t.Helper()
	require.Equal(t, want.Kind, got.Kind)
	require.Equal(t, want.Count, got.Count)
	for i := range want.Count {
		if want.Time(i) != got.Time(i) || want.StartTime(i) != got.StartTime(i) {
			require.Failf(t, "times", "sample %d: got %d since %d, want %d since %d", i, got.Time(i), got.StartTime(i), want.Time(i), want.StartTime(i))
		}
		switch want.Kind {
		case block.KindFloat:
			if w, g := math.Float64bits(want.Float(i)), math.Float64bits(got.Float(i)); w != g {
				require.Failf(t, "values", "sample %d: got %016x, want %016x", i, g, w)
			}
		case block.KindHistogram:
			requireSameHistogram(t, want.Histograms[i], got.Histograms[i])
		case block.KindFloatHistogram:
			requireSameFloatHistogram(t, want.FloatHistograms[i], got.FloatHistograms[i])
		}
	}
}

func requireSameHistogram(t testing.TB, want, got *histogram.Histogram) {
	t.Helper()
	require.Equal(t, math.Float64bits(want.Sum), math.Float64bits(got.Sum))
	require.Equal(t, math.Float64bits(want.ZeroThreshold), math.Float64bits(got.ZeroThreshold))
	require.True(t, block.EqualBits(want.CustomValues, got.CustomValues))
	require.Equal(t, len(want.CustomValues), len(got.CustomValues))
	w, g := *want, *got
	for _, h := range []*histogram.Histogram{&w, &g} {
		h.Sum, h.ZeroThreshold, h.CustomValues = 0, 0, nil
		h.PositiveSpans, h.NegativeSpans = emptyToNil(h.PositiveSpans), emptyToNil(h.NegativeSpans)
		h.PositiveBuckets, h.NegativeBuckets = emptyToNil(h.PositiveBuckets), emptyToNil(h.NegativeBuckets)
	}
	require.Equal(t, w, g)
}

func requireSameFloatHistogram(t testing.TB, want, got *histogram.FloatHistogram) {
	t.Helper()
	for _, pair := range [][2]float64{{want.Sum, got.Sum}, {want.Count, got.Count}, {want.ZeroCount, got.ZeroCount}, {want.ZeroThreshold, got.ZeroThreshold}} {
		require.Equal(t, math.Float64bits(pair[0]), math.Float64bits(pair[1]))
	}
	require.Equal(t, want.Schema, got.Schema)
	require.Equal(t, want.CounterResetHint, got.CounterResetHint)
	require.True(t, block.EqualBits(want.CustomValues, got.CustomValues))
	require.True(t, block.EqualBits(want.PositiveBuckets, got.PositiveBuckets))
	require.True(t, block.EqualBits(want.NegativeBuckets, got.NegativeBuckets))
	require.True(t, slices.Equal(want.PositiveSpans, got.PositiveSpans))
	require.True(t, slices.Equal(want.NegativeSpans, got.NegativeSpans))
}

func emptyToNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

func TestFloatsComeBackBitForBit(t *testing.T) {
	for name, values := range shapes {
		for timeName, timesOf := range timeShapes {
			for _, n := range []int{1, 2, 3, 4, 7, 100, 1024, block.MaxSamples} {
				t.Run(fmt.Sprintf("%s/%s/%d", name, timeName, n), func(t *testing.T) {
					r := rand.New(rand.NewPCG(uint64(n), 1))
					want := &block.Span{Kind: block.KindFloat, Count: n, Times: timesOf(r, n), Floats: values(r, n)}
					if n%2 == 0 {
						want.StartTimes = times(n, func(i int) int64 { return r.Int64N(2) * 1700000000000 })
					}
					requireRoundTrip(t, want)
				})
			}
		}
	}
}

func requireRoundTrip(t testing.TB, want *block.Span) []byte {
	t.Helper()
	b, err := AppendBlock(nil, want)
	require.NoError(t, err)
	var got block.Span
	var buf Buffer
	require.NoError(t, DecodeBlock(b, &got, &buf))
	requireSame(t, want, &got)
	return b
}

func TestDecimalsDecodeToMantissas(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	b, err := AppendBlock(nil, &block.Span{Kind: block.KindFloat, Count: 500, Start: 1000, Step: 10, Floats: decimals(r, 500)})
	require.NoError(t, err)
	var s block.Span
	require.NoError(t, DecodeBlock(b, &s, &Buffer{}))
	require.Len(t, s.Ints64, 500)
	require.EqualValues(t, 2, s.Scale)
	require.Nil(t, s.Floats)
	require.Nil(t, s.Times)
	require.EqualValues(t, 10, s.Step)
	requireRoundTrip(t, &s) // mantissas encode as well
}

// randomHistogram changes layout now and then and has all its fields set.
func randomHistogram(r *rand.Rand, i int) *histogram.Histogram {
	h := &histogram.Histogram{CounterResetHint: histogram.CounterResetHint(r.IntN(4)), Schema: int32(i/40%12 - 4), Sum: r.NormFloat64(), Count: r.Uint64()}
	if i/25%3 == 1 {
		h.Schema = histogram.CustomBucketsSchema
		h.CustomValues = []float64{0.1, 1, math.Inf(1)}
	} else {
		h.ZeroThreshold, h.ZeroCount = 1e-128, r.Uint64N(100)
		h.NegativeSpans = []histogram.Span{{Offset: -5, Length: 2}}
		h.NegativeBuckets = []int64{r.Int64N(1000), -r.Int64N(1000)}
	}
	h.PositiveSpans = []histogram.Span{{Offset: int32(i/30) - 3, Length: 2}, {Offset: 0, Length: 0}, {Offset: 4, Length: 1}}
	h.PositiveBuckets = []int64{r.Int64N(50), r.Int64N(9) - 4, int64(r.Uint64())}
	if i%97 == 5 {
		return &histogram.Histogram{Sum: math.Float64frombits(staleNaN)}
	}
	return h
}

func randomFloatHistogram(r *rand.Rand, i int, fraction float64) *histogram.FloatHistogram {
	h := randomHistogram(r, i)
	h.PositiveBuckets, h.NegativeBuckets = emptyToNil(h.PositiveBuckets), emptyToNil(h.NegativeBuckets)
	f := &histogram.FloatHistogram{CounterResetHint: h.CounterResetHint, Schema: h.Schema, Sum: h.Sum, Count: float64(h.Count >> 12), ZeroThreshold: h.ZeroThreshold, ZeroCount: float64(h.ZeroCount) + fraction, PositiveSpans: h.PositiveSpans, NegativeSpans: h.NegativeSpans, CustomValues: h.CustomValues}
	for _, b := range h.PositiveBuckets {
		f.PositiveBuckets = append(f.PositiveBuckets, math.Abs(float64(b>>12))+fraction)
	}
	for _, b := range h.NegativeBuckets {
		f.NegativeBuckets = append(f.NegativeBuckets, math.Abs(float64(b))+fraction)
	}
	return f
}

func histogramSpan(r *rand.Rand, n int) *block.Span {
	s := &block.Span{Kind: block.KindHistogram, Count: n, Start: 5, Step: 15000}
	for i := range n {
		s.Histograms = append(s.Histograms, randomHistogram(r, i))
	}
	return s
}

func floatHistogramSpan(r *rand.Rand, n int, fraction float64) *block.Span {
	s := &block.Span{Kind: block.KindFloatHistogram, Count: n, Start: 5, Step: 15000}
	for i := range n {
		s.FloatHistograms = append(s.FloatHistograms, randomFloatHistogram(r, i, fraction))
	}
	return s
}

func TestHistogramsComeBack(t *testing.T) {
	for _, n := range []int{1, 2, 30, 500, 3000} {
		r := rand.New(rand.NewPCG(uint64(n), 3))
		requireRoundTrip(t, histogramSpan(r, n))
		requireRoundTrip(t, floatHistogramSpan(r, n, 0))
		requireRoundTrip(t, floatHistogramSpan(r, n, 0.37))
	}
}

func TestPageOfManyBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	column := timeShapes["jitter"](r, 30)
	shared := func(ref TimesRef) ([]int64, error) {
		require.EqualValues(t, 77, ref)
		return column, nil
	}
	e := NewEncoder()
	var want []*block.Span
	for i := range 200 {
		s := &block.Span{Kind: block.KindFloat, Count: 30, Times: column, Floats: walk(r, 30)}
		var got int
		var err error
		switch i % 3 {
		case 0:
			got, err = e.AddSpan(s)
		case 1:
			got, err = e.AddSpanShared(s, 77)
		default:
			s = histogramSpan(r, 3)
			got, err = e.AddSpan(s)
		}
		require.NoError(t, err)
		require.Equal(t, i, got)
		want = append(want, s)
	}
	timesAt, err := e.AddTimes(column)
	require.NoError(t, err)
	var p Page
	require.NoError(t, p.Open(e.AppendPage(nil)))
	require.Equal(t, 201, p.Len())
	require.Zero(t, e.Len())
	var got block.Span
	var buf Buffer
	for _, i := range r.Perm(200) {
		require.NoError(t, p.Decode(i, &got, &buf, shared))
		requireSame(t, want[i], &got)
	}
	back, err := p.Times(timesAt)
	require.NoError(t, err)
	require.Equal(t, column, back)
	require.ErrorIs(t, p.Decode(timesAt, &got, &buf, nil), block.ErrCorrupt)
	require.ErrorIs(t, p.Decode(1, &got, &buf, nil), block.ErrCorrupt)
	require.ErrorIs(t, p.Decode(500, &got, &buf, nil), block.ErrCorrupt)
}

func TestEveryFlippedByteIsNoticed(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	b := requireRoundTrip(t, &block.Span{Kind: block.KindFloat, Count: 100, Times: timeShapes["jitter"](r, 100), Floats: walk(r, 100)})
	for i := range b {
		for _, mask := range []byte{1, 0x80, 0xff} {
			b[i] ^= mask
			require.Error(t, DecodeBlock(b, &block.Span{}, &Buffer{}))
			b[i] ^= mask
		}
		require.ErrorIs(t, DecodeBlock(b[:i], &block.Span{}, &Buffer{}), block.ErrCorrupt)
	}
}

func TestEncodeRefuses(t *testing.T) {
	f := func(name, want string, s block.Span) {
		t.Helper()
		_, err := AppendBlock(nil, &s)
		require.ErrorContains(t, err, want, name)
	}
	f("empty", "got 0 samples", block.Span{Kind: block.KindFloat})
	f("long", "got 8193 samples", block.Span{Kind: block.KindFloat, Count: block.MaxSamples + 1})
	f("kind", "kind 9", block.Span{Kind: 9, Count: 1})
	f("no values", "column is missing", block.Span{Kind: block.KindFloat, Count: 1})
	f("order", "do not ascend", block.Span{Kind: block.KindFloat, Count: 2, Times: []int64{2, 2}, Floats: []float64{1, 2}})
	f("grid", "do not ascend", block.Span{Kind: block.KindFloat, Count: 3, Start: math.MaxInt64 - 1, Step: 1, Floats: []float64{1, 2, 3}})
}
