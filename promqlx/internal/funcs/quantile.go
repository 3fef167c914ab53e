package funcs

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
)

// subject is what annotations about a histogram name.
type subject struct {
	name  string // of the metric, "" if it was dropped
	pos   posrange.PositionRange
	annos *annotations.Annotations
}

// nativeQuantile estimates the q-quantile of a native histogram: by linear
// interpolation in custom buckets and in the zero bucket, by exponential one in
// others. The zero bucket ends at 0 where all other buckets are on one side.
// NaN observations count as the largest; annotations tell where they matter.
// (HistogramQuantile of Prometheus' promql/quantile.go, which has the reasons.)
func nativeQuantile(q float64, h *histogram.FloatHistogram, about subject) float64 {
	if q < 0 {
		return math.Inf(-1)
	}
	if q > 1 {
		return math.Inf(+1)
	}
	if h.Count == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	// NaN observations are in the count and in no bucket, so where there may be
	// some the way is from below.
	forward := math.IsNaN(h.Sum) || q < 0.5
	var it histogram.BucketIterator[float64]
	var rank float64
	if forward {
		it = h.AllBucketIterator()
		rank = q * h.Count
	} else {
		it = h.AllReverseBucketIterator()
		rank = (1 - q) * h.Count
	}
	b, count := seek(it, rank)
	if v, ok := clipBucket(h, &b); ok {
		return v
	}
	// Inaccuracy can make more of the buckets than there is.
	if count > h.Count {
		count = h.Count
	}
	if count < rank {
		if math.IsNaN(h.Sum) {
			about.annos.Add(annotations.NewNativeHistogramQuantileNaNResultInfo(about.name, about.pos))
			return math.NaN()
		}
		return b.Upper // should not happen
	}
	if forward {
		rank -= count - b.Count
	} else {
		rank = count - rank
	}
	if math.IsNaN(h.Sum) {
		for it.Next() {
			count += it.At().Count
		}
		if count < h.Count {
			about.annos.Add(annotations.NewNativeHistogramQuantileNaNSkewInfo(about.name, about.pos))
		}
	}
	return interpolate(h, b, rank/b.Count)
}

// seek returns the bucket in which the count reaches rank, and the count with
// it. Both are as at the end if it does not.
func seek(it histogram.BucketIterator[float64], rank float64) (b histogram.Bucket[float64], count float64) {
	for it.Next() {
		b = it.At()
		if b.Count == 0 {
			continue
		}
		count += b.Count
		if count >= rank {
			break
		}
	}
	return b, count
}

// clipBucket gives buckets at the edge the bounds they are taken to have, or
// returns the quantile if there is nothing to interpolate.
func clipBucket(h *histogram.FloatHistogram, b *histogram.Bucket[float64]) (v float64, ok bool) {
	if !h.UsesCustomBuckets() {
		if b.Lower < 0 && b.Upper > 0 {
			clipZero(h, b)
		}
		return 0, false
	}
	if b.Lower == math.Inf(-1) {
		if b.Upper <= 0 {
			return b.Upper, true
		}
		b.Lower = 0
	} else if b.Upper == math.Inf(+1) {
		return b.Lower, true
	}
	return 0, false
}

// clipZero lets the zero bucket end at 0 where all other buckets are on one
// side of it.
func clipZero(h *histogram.FloatHistogram, b *histogram.Bucket[float64]) {
	switch {
	case len(h.NegativeBuckets) == 0 && len(h.PositiveBuckets) > 0:
		b.Lower = 0
	case len(h.PositiveBuckets) == 0 && len(h.NegativeBuckets) > 0:
		b.Upper = 0
	}
}

// interpolate returns the value at a fraction of the way through a bucket.
func interpolate(h *histogram.FloatHistogram, b histogram.Bucket[float64], fraction float64) float64 {
	if h.UsesCustomBuckets() || (b.Lower <= 0 && b.Upper >= 0) {
		return b.Lower + float64((b.Upper-b.Lower)*fraction)
	}
	lower, upper := math.Log2(math.Abs(b.Lower)), math.Log2(math.Abs(b.Upper))
	if b.Lower > 0 {
		return math.Exp2(lower + float64((upper-lower)*fraction))
	}
	return -math.Exp2(upper + float64((lower-upper)*(1-fraction)))
}

// nativeFraction estimates the fraction of observations of a native histogram
// from lower to upper. (HistogramFraction of Prometheus' promql/quantile.go.)
func nativeFraction(lower, upper float64, h *histogram.FloatHistogram, about subject) float64 {
	if h.Count == 0 || math.IsNaN(lower) || math.IsNaN(upper) {
		return math.NaN()
	}
	if lower >= upper {
		return 0
	}
	it := h.AllBucketIterator()
	lo, hi := limit{at: lower}, limit{at: upper}
	var count, rank float64
	for it.Next() {
		b := it.At()
		count += b.Count
		linear := clipFraction(h, &b)
		lo.pass(b, rank, linear)
		hi.pass(b, rank, linear)
		if lo.found && hi.found {
			break
		}
		rank += b.Count
	}
	if math.IsNaN(h.Sum) {
		// NaN observations are in no bucket.
		for it.Next() {
			count += it.At().Count
		}
		if count < h.Count {
			about.annos.Add(annotations.NewNativeHistogramFractionNaNsInfo(about.name, about.pos))
		}
	} else {
		count = h.Count
	}
	return (hi.within(count) - lo.within(count)) / h.Count
}

// clipFraction gives buckets at the edge the bounds they are taken to have, and
// tells whether the bucket is interpolated linearly.
func clipFraction(h *histogram.FloatHistogram, b *histogram.Bucket[float64]) (linear bool) {
	if h.UsesCustomBuckets() {
		if b.Lower == math.Inf(-1) && b.Upper > 0 {
			b.Lower = 0
		}
		return true
	}
	if b.Lower <= 0 && b.Upper >= 0 {
		clipZero(h, b)
		return true
	}
	return false
}

// limit is one side of a fraction, and how many observations are below it.
type limit struct {
	at, rank float64
	found    bool
}

// pass looks for the limit in b; rank observations are in the buckets before.
func (l *limit) pass(b histogram.Bucket[float64], rank float64, linear bool) {
	if l.found {
		return
	}
	switch {
	case b.Lower >= l.at:
		l.rank, l.found = rank, true
	case b.Upper > l.at:
		l.found = true
		if linear && b.Lower == math.Inf(-1) {
			l.rank = b.Count
			return
		}
		l.rank = rank + float64(b.Count*b.FractionBelow(l.at, linear))
	}
}

// within returns the rank, count at most.
func (l *limit) within(count float64) float64 {
	if !l.found || l.rank > count {
		return count
	}
	return l.rank
}
