package funcs

import (
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/util/almost"
)

// Quantiles and fractions of classic histograms, after Prometheus'
// promql/quantile.go (BucketQuantile, BucketFraction and what they call). The
// functions of this file take buckets in any order and with equal bounds; they
// leave the buckets changed, and what a second call makes of these is part of
// what histogram_quantiles answers. Those of sorted.go take buckets in order.

// smallDelta is the relative difference of the counts of two buckets that is
// put down to the precision of floats (smallDeltaTolerance).
const smallDelta = 1e-12

// bucket is a bucket of a classic histogram: how many observations there are up
// to a bound.
type bucket struct{ bound, count float64 }

// force tells of decreases from bucket to bucket that were levelled.
type force struct {
	any                bool
	minBound, maxBound float64 // of the buckets that were raised
	maxDiff            float64
}

func noForce() force { return force{minBound: math.Inf(+1), maxBound: math.Inf(-1)} }

// invalidQuantile returns the quantile of any observations for q outside of
// 0 to 1.
func invalidQuantile(q float64) (v float64, ok bool) {
	switch {
	case math.IsNaN(q):
		return math.NaN(), true
	case q < 0:
		return math.Inf(-1), true
	case q > 1:
		return math.Inf(+1), true
	}
	return 0, false
}

// bucketQuantile estimates the q-quantile. Observations are taken to be spread
// evenly over a bucket; the lowest begins at 0 if its bound is positive, else it
// answers with its bound; the highest answers with its lower bound.
//
// It is NaN without observations, with fewer than two buckets or where the
// highest bound is not infinite.
func bucketQuantile(q float64, buckets []bucket) (float64, force) {
	f := noForce()
	if v, ok := invalidQuantile(q); ok {
		return v, f
	}
	if len(buckets) == 0 {
		return math.NaN(), f
	}
	sortBuckets(buckets)
	if !math.IsInf(buckets[len(buckets)-1].bound, +1) {
		return math.NaN(), f
	}
	buckets = coalesce(buckets)
	f = level(buckets)
	last := len(buckets) - 1
	if last < 1 || buckets[last].count == 0 {
		return math.NaN(), f
	}
	rank := q * buckets[last].count
	b := sort.Search(last, func(i int) bool { return buckets[i].count >= rank })
	switch {
	case b == last:
		return buckets[last-1].bound, f
	case b == 0 && buckets[0].bound <= 0:
		return buckets[0].bound, f
	}
	var start float64
	end, count := buckets[b].bound, buckets[b].count
	if b > 0 {
		start = buckets[b-1].bound
		count -= buckets[b-1].count
		rank -= buckets[b-1].count
	}
	return start + float64((end-start)*(rank/count)), f
}

func sortBuckets(buckets []bucket) {
	slices.SortFunc(buckets, func(a, b bucket) int {
		switch {
		case a.bound < b.bound:
			return -1
		case a.bound > b.bound:
			return +1
		}
		return 0
	})
}

// coalesce joins neighbours with equal bounds. (coalesceBuckets.)
func coalesce(buckets []bucket) []bucket {
	last := buckets[0]
	i := 0
	for _, b := range buckets[1:] {
		if b.bound == last.bound {
			last.count += b.count
		} else {
			buckets[i] = last
			last = b
			i++
		}
	}
	buckets[i] = last
	return buckets[:i+1]
}

// level makes counts ascend: small differences are taken for none, decreases
// are filled up. (ensureMonotonicAndIgnoreSmallDeltas.)
func level(buckets []bucket) force {
	f := noForce()
	prev := buckets[0].count
	for i := 1; i < len(buckets); i++ {
		count := buckets[i].count
		switch {
		case count == prev:
		case almost.Equal(prev, count, smallDelta):
			buckets[i].count = prev
		case count < prev:
			buckets[i].count = prev
			f.raised(buckets[i].bound, prev-count)
		default:
			prev = count
		}
	}
	return f
}

// raised notes that the bucket at bound was raised by diff.
func (f *force) raised(bound, diff float64) {
	f.any = true
	if bound < f.minBound {
		f.minBound = bound
	}
	if bound > f.maxBound {
		f.maxBound = bound
	}
	if diff > f.maxDiff {
		f.maxDiff = diff
	}
}

// bucketFraction estimates the fraction of observations from lower to upper. It
// is NaN where bucketQuantile is, and if a limit is.
func bucketFraction(lower, upper float64, buckets []bucket) float64 {
	if len(buckets) == 0 {
		return math.NaN()
	}
	sortBuckets(buckets)
	if !math.IsInf(buckets[len(buckets)-1].bound, +1) {
		return math.NaN()
	}
	buckets = coalesce(buckets)
	bounds, counts := make([]float64, len(buckets)), make([]float64, len(buckets))
	for i, b := range buckets {
		bounds[i], counts[i] = b.bound, b.count
	}
	return sortedFraction(lower, upper, bounds, counts)
}
