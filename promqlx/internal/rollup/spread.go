package rollup

import (
	"math"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/kahansum"
)

// varianceKind is the variance of a window, or its root.
type varianceKind struct{ root bool }

func (k varianceKind) function() *Func { return &Func{Window: k.window, Floats: k.floats} }

// window is as varianceOverTime of Prometheus' promql/functions.go.
func (k varianceKind) window(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if !w.floatsOnly() {
		return 0, nil, false
	}
	return k.of(w.F), nil, true
}

func (k varianceKind) of(fs []float64) float64 {
	var count, mean, cMean, aux, cAux float64
	for _, f := range fs {
		count++
		delta := f - (mean + cMean)
		mean, cMean = kahansum.Inc(delta/count, mean, cMean)
		aux, cAux = kahansum.Inc(delta*(f-(mean+cMean)), aux, cAux)
	}
	v := (aux + cAux) / count
	if k.root {
		return math.Sqrt(v)
	}
	return v
}

// windowQuantile is as funcQuantileOverTime of Prometheus' promql/functions.go.
func windowQuantile(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if len(w.T) == 0 {
		return 0, nil, false
	}
	w.checkQuantile(w.Arg[0])
	w.floatsOnly()
	return quantileOf(w.Arg[0], w.scratch().copy(w.F)), nil, true
}

// checkQuantile notes a quantile that is none.
func (in *Input) checkQuantile(q float64) {
	if math.IsNaN(q) || q < 0 || q > 1 {
		in.note(annotations.NewInvalidQuantileWarning(q, in.firstPos()))
	}
}

// windowMad is as funcMadOverTime of Prometheus' promql/functions.go.
func windowMad(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if !w.floatsOnly() {
		return 0, nil, false
	}
	return madOf(w.scratch().copy(w.F)), nil, true
}

// madOf is the median of the distances to the median. It changes the values.
func madOf(fs []float64) float64 {
	for _, f := range fs {
		if math.IsNaN(f) {
			return math.NaN()
		}
	}
	median := quantileOf(0.5, fs)
	for i, f := range fs {
		fs[i] = math.Abs(f - median)
	}
	return quantileOf(0.5, fs)
}

// quantileOf returns a quantile of the values, which it sorts (quantile of
// Prometheus' promql/quantile.go).
func quantileOf(q float64, fs []float64) float64 {
	if v, ok := noQuantile(q); ok {
		return v
	}
	sort.Sort(nanFirst(fs))
	lower, upper, weight := rankOf(q, len(fs))
	return between(fs[lower], fs[upper], weight)
}

// noQuantile returns what stands for a quantile that is none.
func noQuantile(q float64) (float64, bool) {
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

// rankOf returns the places among n sorted values between which a quantile lies,
// and how near it is to the upper one.
func rankOf(q float64, n int) (lower, upper int, weight float64) {
	rank := q * float64(n-1)
	floor := math.Floor(rank)
	lower = int(math.Max(0, floor))
	return lower, min(n-1, lower+1), rank - floor
}

func between(lower, upper, weight float64) float64 {
	if weight == 0 {
		return lower
	}
	return float64(lower*(1-weight)) + float64(upper*weight)
}

// nanFirst sorts as vectorByValueHeap of Prometheus' promql does, by the same
// algorithm: where values are equal but their bits are not, the order it leaves
// them in is part of the answer.
type nanFirst []float64

func (s nanFirst) Len() int      { return len(s) }
func (s nanFirst) Swap(i, j int) { s[i], s[j] = s[j], s[i] }
func (s nanFirst) Less(i, j int) bool {
	return math.IsNaN(s[i]) || s[i] < s[j]
}
