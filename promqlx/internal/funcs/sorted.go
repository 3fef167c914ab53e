package funcs

import (
	"math"

	"github.com/prometheus/prometheus/util/almost"
)

// sortedQuantile is bucketQuantile of buckets with ascending bounds, no two
// equal. It changes counts alone.
func sortedQuantile(q float64, bounds, counts []float64) (float64, force) {
	f := noForce()
	if q < 0 || q > 1 || math.IsNaN(q) {
		v, _ := invalidQuantile(q)
		return v, f
	}
	last := len(counts) - 1
	if last < 0 || !math.IsInf(bounds[last], +1) {
		return math.NaN(), f
	}
	f = levelSorted(bounds, counts)
	if last < 1 || counts[last] == 0 {
		return math.NaN(), f
	}
	rank := q * counts[last]
	b := search(counts[:last], rank)
	switch {
	case b == last:
		return bounds[last-1], f
	case b == 0 && bounds[0] <= 0:
		return bounds[0], f
	}
	var start float64
	end, count := bounds[b], counts[b]
	if b > 0 {
		start = bounds[b-1]
		count -= counts[b-1]
		rank -= counts[b-1]
	}
	return start + float64((end-start)*(rank/count)), f
}

// search returns the first of counts that is not below rank. NaNs among counts
// make its way part of the answer: it is that of sort.Search.
func search(counts []float64, rank float64) int {
	lo, hi := 0, len(counts)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if counts[mid] >= rank {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// levelSorted is level. Most buckets stand out so clearly from the one before
// that nothing has to be divided to see that they are not almost equal: where
// prev and count are positive, their difference is above twice the tolerance
// and above what would pass for zero.
func levelSorted(bounds, counts []float64) force {
	f := noForce()
	bounds = bounds[:len(counts)]
	prev := counts[0]
	for i, count := range counts {
		d := count - prev
		if prev >= 0 && d > 1e-300 && d > (count+prev)*(2*smallDelta) {
			prev = count
			continue
		}
		switch {
		case count == prev:
		case almost.Equal(prev, count, smallDelta):
			counts[i] = prev
		case count < prev:
			counts[i] = prev
			f.raised(bounds[i], prev-count)
		default:
			prev = count
		}
	}
	return f
}

// sortedFraction is bucketFraction of buckets with ascending bounds, no two
// equal.
func sortedFraction(lower, upper float64, bounds, counts []float64) float64 {
	last := len(counts) - 1
	if last < 0 || !math.IsInf(bounds[last], +1) {
		return math.NaN()
	}
	total := counts[last]
	if total == 0 || math.IsNaN(lower) || math.IsNaN(upper) {
		return math.NaN()
	}
	if lower >= upper {
		return 0
	}
	return (sortedRank(upper, bounds, counts) - sortedRank(lower, bounds, counts)) / total
}

// sortedRank estimates how many observations are up to limit.
func sortedRank(limit float64, bounds, counts []float64) float64 {
	total := counts[len(counts)-1]
	// Positive bounds alone are taken for positive observations alone.
	start := 0.0
	if bounds[0] <= 0 {
		start = math.Inf(-1)
	}
	var rank, before float64
	found := false
	for i, end := range bounds {
		if start >= limit {
			rank, found = before, true
		} else if end > limit {
			// A bucket without end adds nothing: of the lowest all count, of the
			// highest none, where the fraction of the width is 0.
			rank, found = counts[i], true
			if start != math.Inf(-1) {
				rank = before + float64((counts[i]-before)*(limit-start))/(end-start)
			}
		}
		if found {
			break
		}
		start, before = end, counts[i]
	}
	if !found || rank > total {
		return total
	}
	return rank
}
