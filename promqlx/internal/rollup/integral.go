package rollup

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/kahansum"
)

// How integral takes the value between two samples.
const (
	leftPoint = iota
	rightPoint
	trapezoidal
)

// windowIntegral is as funcIntegral of Prometheus' promql/functions.go.
func windowIntegral(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if !w.floatsOnly() {
		return 0, nil, false
	}
	strategy := trapezoidal
	if len(w.Arg) > 0 {
		strategy = w.strategy(w.Arg[0])
	}
	return integralOf(w.T, w.F, strategy), nil, true
}

// strategy is what an argument asks for, trapezoidal if that is nothing known.
func (in *Input) strategy(arg float64) int {
	switch arg {
	case leftPoint, rightPoint, trapezoidal:
		return int(arg)
	}
	in.note(annotations.NewInvalidIntegralStrategyWarning(arg, in.ArgPos[1]))
	return trapezoidal
}

func integralOf(t []int64, f []float64, strategy int) float64 {
	var sum, c float64
	prev := nanAsZero(f[0])
	for i, v := range f[1:] {
		v = nanAsZero(v)
		value, cValue := height(prev, v, strategy)
		if value != 0 || cValue != 0 {
			dt := float64(t[i+1]-t[i]) / 1000
			sum, c = kahansum.Inc(value*dt, sum, c+float64(cValue*dt))
		}
		prev = v
	}
	if math.IsInf(sum, 0) {
		return sum
	}
	return sum + c
}

// height is what the value between two samples is taken for, and its
// compensation.
func height(prev, v float64, strategy int) (value, c float64) {
	switch strategy {
	case leftPoint:
		return prev, 0
	case rightPoint:
		return v, 0
	default:
		return middle(prev, v)
	}
}

// middle is the mean of two values and its compensation.
func middle(prev, v float64) (value, c float64) {
	if prev == 0 && v == 0 {
		return 0, 0
	}
	value, c = kahansum.Inc(v, prev, 0)
	if math.IsInf(value, 0) && !math.IsInf(v, 0) && !math.IsInf(prev, 0) {
		return kahansum.Inc(v/2, prev/2, 0)
	}
	return value / 2, c / 2
}

// nanAsZero lets the neighbours of a NaN stand for it.
func nanAsZero(v float64) float64 {
	if math.IsNaN(v) {
		return 0
	}
	return v
}
