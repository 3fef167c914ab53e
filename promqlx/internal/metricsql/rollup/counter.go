package rollup

import "math"

// Kernels of how a value went from the beginning of a window to its end, as the
// functions of these names in VictoriaMetrics' promql/rollup.go. A sample before
// the window counts as its beginning.

func counterSpecs() map[string]*spec {
	return map[string]*spec{
		"delta":               {kernel: delta, direct: directDelta, traits: inAggr | silence},
		"delta_prometheus":    {kernel: deltaPrometheus},
		"deriv_fast":          {kernel: derivFast, direct: directRate, traits: inAggr | silence | adjusts},
		"idelta":              {kernel: instantDelta, traits: inAggr | silence},
		"ideriv":              {kernel: instantDeriv, traits: inAggr | silence | adjusts},
		"increase":            {kernel: delta, direct: directDelta, traits: inAggr | silence | counter},
		"increase_prometheus": {kernel: deltaPrometheus, traits: counter},
		"increase_pure":       {kernel: increasePure, traits: inAggr | silence | counter},
		"integrate":           {kernel: integrate, traits: inAggr | silence},
		"irate":               {kernel: instantDeriv, traits: inAggr | silence | adjusts | counter},
		"rate":                {kernel: derivFast, direct: directRate, traits: inAggr | silence | adjusts | counter},
		"rate_prometheus":     {kernel: ratePrometheus, traits: counter},
	}
}

func delta(w *window) float64 {
	if len(w.values) == 0 {
		if isNaN(w.prev) {
			return nan
		}
		return 0
	}
	return deltaOf(w.values, w.prev, w.realPrev, w.realNext)
}

// deltaOf is delta of at least one sample. A series that begins in the window
// counts from 0 on, unless its first value is far greater than its first step.
func deltaOf(values []float64, prev, realPrev, realNext float64) float64 {
	end := values[len(values)-1]
	if !isNaN(prev) {
		return end - prev
	}
	if !isNaN(realPrev) {
		return end - realPrev
	}
	var d float64
	if len(values) > 1 {
		d = values[1] - values[0]
	} else if !isNaN(realNext) {
		d = realNext - values[0]
	}
	if math.Abs(values[0]) < 10*(math.Abs(d)+1) {
		return end - 0
	}
	if len(values) == 1 {
		return 0
	}
	return end - values[0]
}

func deltaPrometheus(w *window) float64 {
	if len(w.values) < 2 {
		return nan
	}
	return w.values[len(w.values)-1] - w.values[0]
}

func ratePrometheus(w *window) float64 {
	d := deltaPrometheus(w)
	if isNaN(d) || w.width == 0 {
		return nan
	}
	return d / seconds(w.width)
}

func increasePure(w *window) float64 {
	from := w.prev
	if isNaN(from) {
		if len(w.values) == 0 {
			return nan
		}
		from = 0
		if !isNaN(w.realPrev) {
			from = w.realPrev
		}
	}
	if len(w.values) == 0 {
		return 0
	}
	return w.values[len(w.values)-1] - from
}

func derivFast(w *window) float64 {
	n := len(w.values)
	from, fromT := w.prev, w.prevT
	switch {
	case isNaN(from) && n < 2:
		return nan
	case isNaN(from):
		from, fromT = w.values[0], w.timestamps[0]
	case n == 0:
		return 0
	}
	return (w.values[n-1] - from) / seconds(w.timestamps[n-1]-fromT)
}

func instantDelta(w *window) float64 {
	n := len(w.values)
	switch {
	case n == 0 && isNaN(w.prev):
		return nan
	case n == 0:
		return 0
	case n > 1:
		return w.values[n-1] - w.values[n-2]
	case isNaN(w.prev):
		return w.values[0]
	}
	return w.values[0] - w.prev
}

func instantDeriv(w *window) float64 {
	n := len(w.values)
	if n == 0 || n == 1 && isNaN(w.prev) {
		return nan
	}
	if n == 1 {
		return (w.values[0] - w.prev) / seconds(w.timestamps[0]-w.prevT)
	}
	end, endT := w.values[n-1], w.timestamps[n-1]
	k := n - 2
	for k >= 0 && w.timestamps[k] >= endT { // samples of one time
		k--
	}
	if k >= 0 {
		return (end - w.values[k]) / seconds(endT-w.timestamps[k])
	}
	if isNaN(w.prev) {
		return 0
	}
	return (end - w.prev) / seconds(endT-w.prevT)
}

// integrate is the area below the values, each of which holds until the next; the
// last one holds until the step unless the series ends with it.
func integrate(w *window) float64 {
	values, timestamps := w.values, w.timestamps
	prev, prevT := w.prev, w.t-w.width
	if isNaN(prev) {
		if len(values) == 0 {
			return nan
		}
		prev, prevT = values[0], timestamps[0]
		values, timestamps = values[1:], timestamps[1:]
	}
	var area float64
	for i, v := range values {
		area += float64(prev * seconds(timestamps[i]-prevT))
		prev, prevT = v, timestamps[i]
	}
	if !isNaN(w.realNext) {
		area += float64(prev * seconds(w.t-prevT))
	}
	return area
}
