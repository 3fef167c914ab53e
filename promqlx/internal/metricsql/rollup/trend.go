package rollup

import "github.com/varvedb/varve/promqlx/internal/metricsql/stat"

// Kernels of where values are going, as the functions of these names in
// VictoriaMetrics' promql/rollup.go.

func trendSpecs() map[string]*spec {
	return map[string]*spec{
		"deriv":          {kernel: slope, traits: inAggr | adjusts},
		"holt_winters":   {build: newHoltWinters, traits: keeps},
		"predict_linear": {build: newPredictLinear, traits: keeps},
	}
}

func slope(w *window) float64 {
	_, k := regression(w)
	return k
}

func newPredictLinear(a args) (kernel, error) {
	ahead, err := a.pair(1)
	if err != nil {
		return nil, err
	}
	return func(w *window) float64 {
		v, k := regression(w)
		if isNaN(v) {
			return nan
		}
		return v + float64(k*ahead[w.step])
	}, nil
}

// regression is the straight line through the samples: its value at the step, and
// its slope per second.
func regression(w *window) (v, k float64) {
	return stat.Line(w.values, w.timestamps, w.t)
}

// newHoltWinters is double exponential smoothing; factors outside of 0 to 1 yield
// nothing.
func newHoltWinters(a args) (kernel, error) {
	if err := a.count(3); err != nil {
		return nil, err
	}
	levels, err := a.scalar(1)
	if err != nil {
		return nil, err
	}
	trends, err := a.scalar(2)
	if err != nil {
		return nil, err
	}
	return func(w *window) float64 {
		lf, tf := levels[w.step], trends[w.step]
		if len(w.values) == 0 || lf < 0 || lf > 1 || tf < 0 || tf > 1 {
			return nan
		}
		return smooth(w, lf, tf)
	}, nil
}

func smooth(w *window, lf, tf float64) float64 {
	level, values := start(w)
	if len(values) == 0 {
		return level
	}
	trend := values[0] - level
	for _, v := range values {
		next := float64(lf*v) + float64((1-lf)*(level+trend))
		trend = float64(tf*(next-level)) + float64((1-tf)*trend)
		level = next
	}
	return level
}
