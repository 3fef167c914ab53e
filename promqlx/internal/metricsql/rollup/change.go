package rollup

import "math"

// Kernels of how often and how far values change, as the functions of these names
// in VictoriaMetrics' promql/rollup.go.

func changeSpecs() map[string]*spec {
	return map[string]*spec{
		"ascent_over_time":    {kernel: ascent, traits: inAggr | silence},
		"changes":             {kernel: changes, traits: inAggr | silence},
		"changes_prometheus":  {kernel: changesPrometheus},
		"decreases_over_time": {kernel: decreases, traits: inAggr | silence},
		"descent_over_time":   {kernel: descent, traits: inAggr | silence},
		"increases_over_time": {kernel: increases, traits: inAggr | silence},
		"resets":              {kernel: decreases, traits: inAggr | silence},
	}
}

// same tells whether two values differ by no more than rounding makes of equal ones.
func same(v, prev float64) bool {
	return v == prev || math.Abs(v-prev) < 1e-12*math.Abs(v)
}

func changesFrom(prev float64, values []float64) int {
	n := 0
	for _, v := range values {
		if !same(v, prev) {
			n++
			prev = v
		}
	}
	return n
}

// changes counts the beginning of a series as a change.
func changes(w *window) float64 {
	switch {
	case !isNaN(w.prev):
		return float64(changesFrom(w.prev, w.values))
	case len(w.values) == 0:
		return nan
	case !isNaN(w.realPrev):
		return float64(changesFrom(w.realPrev, w.values))
	}
	return float64(1 + changesFrom(w.values[0], w.values[1:]))
}

func changesPrometheus(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return float64(changesFrom(w.values[0], w.values[1:]))
}

// start returns the value that changes are counted from, and the values after it;
// NaN if there is none.
func start(w *window) (float64, []float64) {
	if isNaN(w.prev) && len(w.values) > 0 {
		return w.values[0], w.values[1:]
	}
	return w.prev, w.values
}

func increases(w *window) float64 {
	prev, values := start(w)
	if isNaN(prev) && len(w.values) == 0 {
		return nan
	}
	n := 0
	for _, v := range values {
		if v > prev {
			if math.Abs(v-prev) < 1e-12*math.Abs(v) {
				continue // prev stays
			}
			n++
		}
		prev = v
	}
	return float64(n)
}

func decreases(w *window) float64 {
	prev, values := start(w)
	if isNaN(prev) && len(w.values) == 0 {
		return nan
	}
	n := 0
	for _, v := range values {
		if v < prev {
			if math.Abs(v-prev) < 1e-12*math.Abs(v) {
				continue // prev stays
			}
			n++
		}
		prev = v
	}
	return float64(n)
}

func ascent(w *window) float64 {
	prev, values := start(w)
	if isNaN(prev) && len(w.values) == 0 {
		return nan
	}
	var all float64
	for _, v := range values {
		if d := v - prev; d > 0 {
			all += d
		}
		prev = v
	}
	return all
}

func descent(w *window) float64 {
	prev, values := start(w)
	if isNaN(prev) && len(w.values) == 0 {
		return nan
	}
	var all float64
	for _, v := range values {
		if d := prev - v; d > 0 {
			all += d
		}
		prev = v
	}
	return all
}
