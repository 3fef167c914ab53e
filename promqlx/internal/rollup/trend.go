package rollup

import (
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/kahansum"
)

// two tells whether there are two floats, for functions that ignore histograms
// but say so if there is a float besides.
func (w *Window) two() bool {
	w.floatsOnly()
	return len(w.T) >= 2
}

// windowDeriv is as funcDeriv of Prometheus' promql/functions.go.
func windowDeriv(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if !w.two() {
		return 0, nil, false
	}
	slope, _ := regression(w.T, w.F, w.T[0])
	return slope, nil, true
}

// windowPredictLinear is as funcPredictLinear of Prometheus'
// promql/functions.go.
func windowPredictLinear(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if !w.two() {
		return 0, nil, false
	}
	slope, intercept := regression(w.T, w.F, w.Ts())
	return float64(slope*w.Arg[0]) + intercept, nil, true
}

// regression returns the line with the least squares and its value at the time
// origin (linearRegression of Prometheus' promql/functions.go).
func regression(t []int64, f []float64, origin int64) (slope, intercept float64) {
	if v, ok := constant(f); ok {
		if math.IsInf(v, 0) {
			return math.NaN(), math.NaN()
		}
		return 0, v
	}
	var sumX, cX, sumY, cY, sumXY, cXY, sumX2, cX2 float64
	t = t[:len(f)]
	for i, y := range f {
		x := float64(t[i]-origin) / 1e3
		sumX, cX = kahansum.Inc(x, sumX, cX)
		sumY, cY = kahansum.Inc(y, sumY, cY)
		sumXY, cXY = kahansum.Inc(x*y, sumXY, cXY)
		sumX2, cX2 = kahansum.Inc(x*x, sumX2, cX2)
	}
	return fit(float64(len(f)), sumX+cX, sumY+cY, sumXY+cXY, sumX2+cX2)
}

// fit is the end of a regression over n points.
func fit(n, sumX, sumY, sumXY, sumX2 float64) (slope, intercept float64) {
	covXY := sumXY - float64(sumX*sumY)/n
	varX := sumX2 - float64(sumX*sumX)/n
	slope = covXY / varX
	return slope, sumY/n - float64(slope*sumX)/n
}

// constant tells whether all values equal the first, which it returns.
func constant(f []float64) (float64, bool) {
	for _, y := range f[1:] {
		if y != f[0] {
			return 0, false
		}
	}
	return f[0], true
}

// windowSmoothing is as funcDoubleExponentialSmoothing of Prometheus'
// promql/functions.go.
func windowSmoothing(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if err := checkFactors(w.Arg[0], w.Arg[1]); err != nil {
		w.fail(err)
		return 0, nil, false
	}
	if !w.two() {
		return 0, nil, false
	}
	return smooth(w.F, w.Arg[0], w.Arg[1]), nil, true
}

// checkFactors returns an error if a smoothing or trend factor is out of bounds.
// Those that are NaN pass, as they do in Prometheus.
func checkFactors(sf, tf float64) error {
	if sf <= 0 || sf >= 1 {
		return fmt.Errorf("invalid smoothing factor. Expected: 0 < sf < 1, got: %f", sf)
	}
	if tf <= 0 || tf >= 1 {
		return fmt.Errorf("invalid trend factor. Expected: 0 < tf < 1, got: %f", tf)
	}
	return nil
}

// smooth smooths two or more values; sf and tf are the factors of smoothing and
// trend.
func smooth(f []float64, sf, tf float64) float64 {
	var s0 float64
	s1, b := f[0], f[1]-f[0]
	restS, restT := 1-sf, 1-tf
	for i, v := range f[1:] {
		if i > 0 {
			b = float64(tf*(s1-s0)) + float64(restT*b)
		}
		s0, s1 = s1, float64(sf*v)+float64(restS*(s1+b))
	}
	return s1
}
