package stat

import (
	"math"
	"strconv"
)

// A histogram has a bucket for what is not more than 10^histogramMin, then
// histogramPerDecade in each power of ten up to 10^histogramMax, and one for what is
// more.
const (
	histogramMin       = -9
	histogramMax       = 18
	histogramPerDecade = 18
	histogramLen       = (histogramMax - histogramMin) * histogramPerDecade

	// Buckets is how many buckets there are.
	Buckets = histogramLen + 2
)

// Bucket returns the bucket a value is counted in: 0 and Buckets-1 are those at the
// ends. Not ok are values that are not counted, the negative ones and NaN. As
// Histogram.Update of VictoriaMetrics' metrics/histogram.go.
func Bucket(v float64) (bucket int, ok bool) {
	if math.IsNaN(v) || v < 0 {
		return 0, false
	}
	at := (math.Log10(v) - histogramMin) * histogramPerDecade
	switch {
	case at < 0:
		return 0, true
	case at >= histogramLen:
		return Buckets - 1, true
	}
	bucket = int(at)
	if at == float64(bucket) && bucket > 0 {
		bucket-- // a bucket's bound is in it
	}
	return bucket + 1, true
}

// bounds are the upper bounds of the buckets as they are printed; the lower one of a
// bucket is the upper one of the bucket before it. It is never written to.
var bounds = func() (b [Buckets]string) {
	factor := math.Pow(10, 1.0/histogramPerDecade)
	v := math.Pow10(histogramMin)
	for i := range Buckets - 1 {
		b[i] = strconv.FormatFloat(v, 'e', 3, 64)
		v *= factor
	}
	b[Buckets-1] = "+Inf"
	return b
}()

// Bound returns the upper bound of a bucket, as the label le has it.
func Bound(bucket int) string { return bounds[bucket] }

// ranges are both bounds of the buckets. It is never written to.
var ranges = func() (r [Buckets]string) {
	from := "0"
	for i, to := range bounds {
		r[i] = from + "..." + to
		from = to
	}
	return r
}()

// Range returns both bounds of a bucket, as the label vmrange has them.
func Range(bucket int) string { return ranges[bucket] }
