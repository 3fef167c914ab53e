package funcs

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// nativeFunc looks up the functions from native histogram to float. Floats fall
// out of the vector.
func nativeFunc(name string) (Func, bool) {
	f := nativeStat(name)
	if f == nil {
		return Func{}, false
	}
	return each(func(in *Input, r *row.Row) {
		r.Has.Clear()
		for i, h := range r.H {
			if h != nil {
				r.SetF(i, f(h))
			}
		}
		floats(in, r)
	})
}

func nativeStat(name string) func(*histogram.FloatHistogram) float64 {
	switch name {
	case "histogram_count":
		return func(h *histogram.FloatHistogram) float64 { return h.Count }
	case "histogram_sum":
		return func(h *histogram.FloatHistogram) float64 { return h.Sum }
	case "histogram_avg":
		return func(h *histogram.FloatHistogram) float64 { return h.Sum / h.Count }
	case "histogram_stdvar":
		return variance
	case "histogram_stddev":
		return func(h *histogram.FloatHistogram) float64 { return math.Sqrt(variance(h)) }
	}
	return nil
}

// variance estimates the variance of the observations, taking each bucket's for
// its middle: the arithmetic mean of custom buckets, the geometric one of
// exponential buckets, zero in the zero bucket. (histogramVariance of
// Prometheus' promql/functions.go.)
func variance(h *histogram.FloatHistogram) float64 {
	mean := h.Sum / h.Count
	var sum, c float64
	it := h.AllBucketIterator()
	for it.Next() {
		b := it.At()
		if b.Count == 0 {
			continue
		}
		var middle float64
		switch {
		case h.UsesCustomBuckets():
			middle = (b.Upper + b.Lower) / 2
		case b.Lower <= 0 && b.Upper >= 0:
			middle = 0
		default:
			middle = math.Sqrt(b.Upper * b.Lower)
			if b.Upper < 0 {
				middle = -middle
			}
		}
		delta := middle - mean
		sum, c = kahansum.Inc(float64(b.Count*delta*delta), sum, c)
	}
	return (sum + c) / h.Count
}
