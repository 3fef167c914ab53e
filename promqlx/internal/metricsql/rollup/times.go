package rollup

import "math"

// Kernels of when samples were, in seconds, as the functions of these names in
// VictoriaMetrics' promql/rollup.go.

func timeSpecs() map[string]*spec {
	return map[string]*spec{
		"duration_over_time":     {build: newDuration},
		"lag":                    {kernel: lag, traits: inAggr | silence},
		"lifetime":               {kernel: lifetime, traits: inAggr | silence},
		"scrape_interval":        {kernel: interval, traits: inAggr | silence | adjusts},
		"tfirst_over_time":       {kernel: timeOfFirst, traits: inAggr},
		"timestamp":              {kernel: timeOfLast, traits: inAggr | adjusts},
		"timestamp_with_name":    {kernel: timeOfLast, traits: inAggr | keeps},
		"tlast_change_over_time": {kernel: timeOfChange, traits: inAggr | silence},
		"tlast_over_time":        {kernel: timeOfLast, traits: inAggr},
		"tmax_over_time":         {kernel: timeOfMax, traits: inAggr},
		"tmin_over_time":         {kernel: timeOfMin, traits: inAggr},
	}
}

func seconds(ms int64) float64 { return float64(ms) / 1e3 }

// whole cuts v to a whole number; what is none, or too great for one, becomes the
// least, as on the machines that VictoriaMetrics mostly runs on.
func whole(v float64) int64 {
	if v >= math.MinInt64 && v < math.MaxInt64 {
		return int64(v)
	}
	return math.MinInt64
}

// newDuration adds up the distances of samples, but for those above a limit.
func newDuration(a args) (kernel, error) {
	limits, err := a.pair(1)
	if err != nil {
		return nil, err
	}
	return func(w *window) float64 {
		if len(w.timestamps) == 0 {
			return nan
		}
		prev := w.timestamps[0]
		limit := whole(limits[w.step] * 1000)
		var all int64
		for _, t := range w.timestamps {
			if d := t - prev; d <= limit {
				all += d
			}
			prev = t
		}
		return float64(all) / 1000
	}, nil
}

func lag(w *window) float64 {
	n := len(w.timestamps)
	switch {
	case n > 0:
		return seconds(w.t - w.timestamps[n-1])
	case isNaN(w.prev):
		return nan
	}
	return seconds(w.t - w.prevT)
}

func lifetime(w *window) float64 {
	n := len(w.timestamps)
	switch {
	case isNaN(w.prev) && n < 2, n == 0:
		return nan
	case isNaN(w.prev):
		return seconds(w.timestamps[n-1] - w.timestamps[0])
	}
	return seconds(w.timestamps[n-1] - w.prevT)
}

func interval(w *window) float64 {
	n := len(w.timestamps)
	if isNaN(w.prev) {
		n--
	}
	return lifetime(w) / float64(n) // NaN if there is no interval
}

func timeOfFirst(w *window) float64 {
	if len(w.timestamps) == 0 {
		return nan
	}
	return seconds(w.timestamps[0])
}

func timeOfLast(w *window) float64 {
	if len(w.timestamps) == 0 {
		return nan
	}
	return seconds(w.timestamps[len(w.timestamps)-1])
}

// timeOfMin is the time of the last of the least values.
func timeOfMin(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	m, at := w.values[0], 0
	for i, v := range w.values {
		if v <= m {
			m, at = v, i
		}
	}
	return seconds(w.timestamps[at])
}

// timeOfMax is the time of the last of the greatest values.
func timeOfMax(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	m, at := w.values[0], 0
	for i, v := range w.values {
		if v >= m {
			m, at = v, i
		}
	}
	return seconds(w.timestamps[at])
}

func timeOfChange(w *window) float64 {
	n := len(w.values)
	if n == 0 {
		return nan
	}
	final := w.values[n-1]
	for i := n - 2; i >= 0; i-- {
		if w.values[i] != final {
			return seconds(w.timestamps[i+1])
		}
	}
	if isNaN(w.prev) || w.prev != final {
		return seconds(w.timestamps[0])
	}
	return nan
}
