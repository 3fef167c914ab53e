package b1

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/block/v1"
)

// histograms are n histograms of a latency that is scraped; now and then the
// layout changes, and a reset or a staleness marker happens.
func histograms(r *rand.Rand, n int) *block.Span {
	s := &block.Span{Kind: block.KindHistogram, Count: n, Start: 1_700_000_000_000, Step: 15000}
	spans := []histogram.Span{{Offset: -3, Length: 7}, {Offset: 2, Length: 5}}
	counts := make([]int64, 12)
	zero, sum := int64(0), 0.0
	for i := range n {
		if i > 0 && r.IntN(200) == 0 {
			spans = []histogram.Span{{Offset: int32(r.IntN(5)), Length: 12}}
			clear(counts)
			zero = 0
		}
		total := zero
		h := &histogram.Histogram{Schema: 3, ZeroThreshold: 1e-128, PositiveSpans: spans, PositiveBuckets: make([]int64, 12)}
		before := int64(0)
		for k := range counts {
			counts[k] += int64(r.ExpFloat64() * 30 * math.Exp(-float64((k-5)*(k-5))/8))
			h.PositiveBuckets[k] = counts[k] - before
			before = counts[k]
			total += counts[k]
			sum += float64(counts[k]) * 0.001
		}
		zero += int64(r.IntN(2))
		h.Count, h.ZeroCount, h.Sum = uint64(total), uint64(zero), sum
		if r.IntN(100) == 0 {
			h = &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)}
		}
		h.CounterResetHint = histogram.CounterResetHint(r.IntN(2) * r.IntN(4))
		s.Histograms = append(s.Histograms, h)
	}
	return s
}

// floatHistograms are the same as floats, each times a factor.
func floatHistograms(r *rand.Rand, n int, factor float64) *block.Span {
	s := histograms(r, n)
	s.Kind = block.KindFloatHistogram
	for _, h := range s.Histograms {
		f := h.ToFloat(nil)
		for k := range f.PositiveBuckets {
			f.PositiveBuckets[k] *= factor
		}
		if r.IntN(50) == 0 {
			f.NegativeSpans, f.NegativeBuckets = []histogram.Span{{Offset: 1, Length: 2}}, []float64{math.NaN(), math.Copysign(0, -1)}
			f.CustomValues = []float64{0.5, math.Inf(1)}
		}
		s.FloatHistograms = append(s.FloatHistograms, f)
	}
	s.Histograms = nil
	return s
}

func histogramSpans(r *rand.Rand, n int) []*block.Span {
	return []*block.Span{histograms(r, n), floatHistograms(r, n, 1), floatHistograms(r, n, 0.3)}
}

func TestHistograms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	e := NewEncoder(Options{})
	for _, n := range []int{1, 2, 30, 256, 257, 1000} {
		for k, s := range histogramSpans(r, n) {
			b, size := encoded(t, e, s)
			requireHistograms(t, b, s, 0, n)
			i := r.IntN(n)
			requireHistograms(t, b, s, i, i+1+r.IntN(n-i))
			one, err := v1.AppendBlock(nil, s)
			require.NoError(t, err)
			t.Logf("%d histograms of form %d: %.1f bytes each, format 1 %.1f", n, k, float64(size)/float64(n), float64(len(one))/float64(n))
			_, exact := b.Stat(block.StatSum, 0, n)
			require.False(t, exact)
			require.Error(t, b.Floats(make([]float64, n), 0))
		}
	}
}

func requireHistograms(t *testing.T, b *Block, s *block.Span, i, j int) {
	t.Helper()
	if s.Kind == block.KindHistogram {
		got, err := b.Histograms(i, j)
		require.NoError(t, err)
		for k, h := range got {
			requireSame(t, s.Histograms[i+k].ToFloat(nil), h.ToFloat(nil))
			require.Equal(t, s.Histograms[i+k].PositiveBuckets, h.PositiveBuckets)
			require.Equal(t, s.Histograms[i+k].NegativeBuckets, h.NegativeBuckets)
		}
		return
	}
	got, err := b.FloatHistograms(i, j)
	require.NoError(t, err)
	for k, h := range got {
		requireSame(t, s.FloatHistograms[i+k], h)
	}
}

// requireSame compares bits.
func requireSame(t *testing.T, want, got *histogram.FloatHistogram) {
	t.Helper()
	require.Equal(t, want.CounterResetHint, got.CounterResetHint)
	require.Equal(t, want.Schema, got.Schema)
	require.Equal(t, want.PositiveSpans, got.PositiveSpans)
	require.Equal(t, want.NegativeSpans, got.NegativeSpans)
	f := func(a, b []float64) { t.Helper(); requireBits(t, a, b) }
	f([]float64{want.ZeroThreshold, want.Count, want.ZeroCount, want.Sum}, []float64{got.ZeroThreshold, got.Count, got.ZeroCount, got.Sum})
	f(want.PositiveBuckets, got.PositiveBuckets)
	f(want.NegativeBuckets, got.NegativeBuckets)
	f(want.CustomValues, got.CustomValues)
}
