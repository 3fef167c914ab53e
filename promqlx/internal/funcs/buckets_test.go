package funcs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

// someBuckets returns up to 16 buckets, in order and without twins if sorted.
func someBuckets(rnd *rand.Rand, sorted bool) []bucket {
	bounds := []float64{-5, -1, 0, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1e3, 1e300, math.Inf(1)}
	out := make([]bucket, rnd.IntN(len(bounds)+1))
	for i := range out {
		if sorted {
			out[i].bound = bounds[len(bounds)-len(out)+i]
			if rnd.IntN(40) == 0 && i == len(out)-1 {
				out[i].bound = 1e301
			}
			continue
		}
		out[i].bound = bounds[rnd.IntN(len(bounds))]
	}
	count := []float64{0, 1, -3, 1e-310, 1e300, 1e-20, 1e12}[rnd.IntN(7)]
	for i := range out {
		switch rnd.IntN(12) {
		case 0: // around the tolerance
			count += count * 1e-12 * (rnd.Float64()*8 - 3)
		case 1:
			count = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.MaxFloat64, 5e-324, math.Float64frombits(0x7ff0000000000002)}[rnd.IntN(7)]
		case 2:
			count *= rnd.Float64()
		case 3:
		default:
			count += rnd.Float64() * []float64{1, 1e-300, 1e-309, 1e9, 1e290}[rnd.IntN(5)]
		}
		out[i].count = count
	}
	return out
}

func columns(buckets []bucket) (bounds, counts []float64) {
	for _, b := range buckets {
		bounds, counts = append(bounds, b.bound), append(counts, b.count)
	}
	return bounds, counts
}

func someQuantile(rnd *rand.Rand) float64 {
	return []float64{0, 1, 0.5, rnd.Float64(), rnd.Float64(), 1 - rnd.Float64()/1e6, math.NaN(), -0.1, 1.1, math.Inf(1)}[rnd.IntN(10)]
}

// TestSortedAsUnsorted holds what takes buckets in order equal to what takes
// any, and that to Prometheus' functions, in what they leave of the buckets too.
func TestSortedAsUnsorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 1))
	n := 30_000
	if testing.Short() {
		n = 3_000
	}
	forcedOnes, finite := 0, 0
	for range n {
		buckets := someBuckets(rnd, true)
		bounds, counts := columns(buckets)
		lower, upper := someLimit(rnd), someLimit(rnd)
		require.Equal(t, equalFloat(bucketFraction(lower, upper, slices.Clone(buckets))),
			equalFloat(sortedFraction(lower, upper, bounds, counts)), "%v to %v of %v", lower, upper, buckets)
		for range 3 {
			q := someQuantile(rnd)
			before := slices.Clone(buckets)
			want, wantForce := bucketQuantile(q, buckets)
			got, gotForce := sortedQuantile(q, bounds, counts)
			require.Equal(t, equalFloat(want), equalFloat(got), "%v of %v", q, before)
			require.Equal(t, wantForce, gotForce, "%v of %v", q, before)
			for i, b := range buckets {
				require.Equal(t, math.Float64bits(b.count), math.Float64bits(counts[i]), "%v", before)
			}
			if gotForce.any {
				forcedOnes++
			}
			if !math.IsNaN(got) && !math.IsInf(got, 0) {
				finite++
			}
		}
	}
	require.Greater(t, forcedOnes, n/20)
	require.Greater(t, finite, n/2)
}

func TestBucketsAsUpstream(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 2))
	n := 10_000
	if testing.Short() {
		n = 1_000
	}
	for range n {
		buckets := someBuckets(rnd, rnd.IntN(2) == 0)
		theirs := make(promql.Buckets, len(buckets))
		for i, b := range buckets {
			theirs[i] = promql.Bucket{UpperBound: b.bound, Count: b.count}
		}
		lower, upper := someLimit(rnd), someLimit(rnd)
		require.Equal(t, equalFloat(promql.BucketFraction(lower, upper, slices.Clone(theirs))),
			equalFloat(bucketFraction(lower, upper, slices.Clone(buckets))), "%v to %v of %v", lower, upper, buckets)
		for range 3 {
			q := someQuantile(rnd)
			before := slices.Clone(buckets)
			want, forced, _, minBound, maxBound, maxDiff := promql.BucketQuantile(q, theirs)
			got, force := bucketQuantile(q, buckets)
			require.Equal(t, equalFloat(want), equalFloat(got), "%v of %v", q, before)
			require.Equal(t, forced, force.any)
			if forced {
				require.Equal(t, []float64{minBound, maxBound, maxDiff}, []float64{force.minBound, force.maxBound, force.maxDiff})
			}
		}
	}
}

func someLimit(rnd *rand.Rand) float64 {
	return []float64{0, 1, -1, 2.5, 7, rnd.Float64() * 1000, -rnd.Float64() * 10, math.Inf(1), math.Inf(-1), math.NaN(), 1e301}[rnd.IntN(11)]
}

// equalFloat maps floats that count as equal, which NaNs do, to equal bits.
func equalFloat(f float64) uint64 {
	if math.IsNaN(f) {
		f = math.NaN()
	}
	return math.Float64bits(f)
}

// TestNaturalOrder has the oddities of github.com/facette/natsort.
func TestNaturalOrder(t *testing.T) {
	less := func(a, b string, ab, ba bool) {
		t.Helper()
		require.Equal(t, ab, naturallyLess(a, b), "%q before %q", a, b)
		require.Equal(t, ba, naturallyLess(b, a), "%q before %q", b, a)
	}
	less("", "a", false, false)
	less("a2", "a10", true, false)
	less("a2b", "a10", true, false)
	less("a", "a1", true, false)
	less("2", "10", true, false)
	less("01", "1", true, true)
	less("99999999999999999999", "100000000000000000000", false, true) // past an int
	less("x-1", "x1", false, true)
	less("\xff1", "\xff2", true, false)
	less("٣", "٤", true, false)
}
