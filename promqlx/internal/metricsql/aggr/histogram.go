package aggr

import (
	"math"
	"strconv"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// A histogram has a bucket for what is not more than 10^histogramMin, then
// histogramPerDecade in each power of ten up to 10^histogramMax, and one for what is
// more.
const (
	histogramMin       = -9
	histogramMax       = 18
	histogramPerDecade = 18
	histogramLen       = (histogramMax - histogramMin) * histogramPerDecade
)

// bucketOf returns the bucket a value is counted in: 0 and histogramLen+1 are those
// at the ends. Not ok are values that are not counted, the negative ones and NaN. As
// Histogram.Update of VictoriaMetrics' metrics/histogram.go.
func bucketOf(v float64) (bucket int, ok bool) {
	if math.IsNaN(v) || v < 0 {
		return 0, false
	}
	at := (math.Log10(v) - histogramMin) * histogramPerDecade
	switch {
	case at < 0:
		return 0, true
	case at >= histogramLen:
		return histogramLen + 1, true
	}
	bucket = int(at)
	if at == float64(bucket) && bucket > 0 {
		bucket-- // a bucket's bound is in it
	}
	return bucket + 1, true
}

// bounds returns the upper bounds of the buckets as they are printed; the lower one
// of a bucket is the upper one of the bucket before it.
func bounds() [histogramLen + 2]string {
	var b [histogramLen + 2]string
	factor := math.Pow(10, 1.0/histogramPerDecade)
	v := math.Pow10(histogramMin)
	for i := range histogramLen + 1 {
		b[i] = strconv.FormatFloat(v, 'e', 3, 64)
		v *= factor
	}
	b[histogramLen+1] = "+Inf"
	return b
}

// histogram makes a group the buckets of a histogram with labels le: those that hold
// something, and what is needed to tell where they begin and end. What is in smaller
// buckets is counted in all greater ones.
func histogram(_ *Call, group []*series.Series) []*series.Series {
	n := len(group[0].Values)
	var counts [histogramLen + 2][]float64
	for _, s := range group {
		for i, v := range s.Values {
			b, ok := bucketOf(v)
			if !ok {
				continue
			}
			if counts[b] == nil {
				counts[b] = make([]float64, n)
			}
			counts[b][i]++
		}
	}
	name := &group[0].Name
	name.Remove("vmrange")
	name.Remove("le")
	labels := bounds()
	var out []*series.Series
	add := func(le string, values []float64) {
		s := &series.Series{Name: name.Clone(), Values: values}
		s.Name.Add("le", le)
		if len(out) > 0 {
			for i, v := range out[len(out)-1].Values {
				values[i] += v
			}
		}
		out = append(out, s)
	}
	last := -1
	for b, values := range counts {
		if values == nil {
			continue
		}
		if b != last+1 {
			add(labels[b-1], make([]float64, n))
		}
		add(labels[b], values)
		last = b
	}
	if last >= 0 && last <= histogramLen {
		add("+Inf", make([]float64, n))
	}
	return out
}
