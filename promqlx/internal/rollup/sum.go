package rollup

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/kahansum"
)

// windowSum is as funcSumOverTime of Prometheus' promql/functions.go.
func windowSum(w *Window) (float64, *histogram.FloatHistogram, bool) {
	switch {
	case len(w.T) > 0 && len(w.HT) > 0:
		w.note(annotations.NewMixedFloatsHistogramsWarning(w.Name(), w.firstPos()))
		return 0, nil, false
	case len(w.T) == 0:
		return w.sumHistograms()
	}
	return sumOf(w.F), nil, true
}

func sumOf(fs []float64) float64 {
	var sum, c float64
	for _, f := range fs {
		sum, c = kahansum.Inc(f, sum, c)
	}
	if math.IsInf(sum, 0) {
		return sum
	}
	return sum + c
}

// windowAvg is as funcAvgOverTime of Prometheus' promql/functions.go.
func windowAvg(w *Window) (float64, *histogram.FloatHistogram, bool) {
	switch {
	case len(w.T) > 0 && len(w.HT) > 0:
		w.note(annotations.NewMixedFloatsHistogramsWarning(w.Name(), w.firstPos()))
		return 0, nil, false
	case len(w.T) == 0:
		return w.avgHistograms()
	}
	return avgOf(w.F), nil, true
}

// avgOf is the sum over the count, or a mean that goes along once the sum
// overflows.
func avgOf(fs []float64) float64 {
	sum, c := fs[0], 0.0
	for i, f := range fs[1:] {
		newSum, newC := kahansum.Inc(f, sum, c)
		if math.IsInf(newSum, 0) {
			return runningMean(fs, i+1, sum, c)
		}
		sum, c = newSum, newC
	}
	n := float64(len(fs))
	return sum/n + c/n
}

// runningMean takes the mean on from the sum of the first n values.
func runningMean(fs []float64, n int, sum, c float64) float64 {
	mean := sum / float64(n)
	c /= float64(n)
	for i := n; i < len(fs); i++ {
		count := float64(i + 1)
		q := float64(i) / count
		mean, c = kahansum.Inc(fs[i]/count, q*mean, q*c)
	}
	return mean + c
}
