package rollup

import (
	"math"

	"github.com/prometheus/prometheus/model/value"
)

// Kernels of the samples' values alone, as the functions of these names in
// VictoriaMetrics' promql/rollup.go.

func plainSpecs() map[string]*spec {
	return map[string]*spec{
		"absent_over_time":        {kernel: absent, traits: inAggr},
		"avg_over_time":           {kernel: average, direct: directAvg, traits: inAggr | keeps},
		"count_over_time":         {kernel: count, direct: directCount, traits: inAggr},
		"default_rollup":          {kernel: last, direct: directLast, traits: inAggr | silence | adjusts | keeps | stales},
		"distinct_over_time":      {kernel: distinct, traits: inAggr},
		"first_over_time":         {kernel: first, direct: directFirst, traits: inAggr | keeps},
		"geomean_over_time":       {kernel: geomean, traits: inAggr | keeps},
		"last_over_time":          {kernel: last, direct: directLast, traits: inAggr | keeps},
		"max_over_time":           {kernel: maximum, direct: directMax, traits: inAggr | keeps},
		"min_over_time":           {kernel: minimum, direct: directMin, traits: inAggr | keeps},
		"present_over_time":       {kernel: present, traits: inAggr},
		"range_over_time":         {kernel: valueRange, traits: inAggr},
		"rate_over_sum":           {kernel: rateOverSum, traits: inAggr | adjusts},
		"stale_samples_over_time": {kernel: staleSamples, traits: inAggr | stales},
		"sum2_over_time":          {kernel: sum2, traits: inAggr},
		"sum_over_time":           {kernel: sum, direct: directSum, traits: inAggr},
	}
}

func absent(w *window) float64 {
	if len(w.values) == 0 {
		return 1
	}
	return nan
}

func present(w *window) float64 {
	if len(w.values) > 0 {
		return 1
	}
	return nan
}

func count(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return float64(len(w.values))
}

func first(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return w.values[0]
}

func last(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return w.values[len(w.values)-1]
}

// add adds up from the left: the order is a part of the result.
func add(values []float64) float64 {
	var s float64
	for _, v := range values {
		s += v
	}
	return s
}

// highest returns the first of the greatest values; there is at least one.
func highest(values []float64) float64 {
	m := values[0]
	for _, v := range values {
		if v > m {
			m = v
		}
	}
	return m
}

// lowest returns the first of the least values; there is at least one.
func lowest(values []float64) float64 {
	m := values[0]
	for _, v := range values {
		if v < m {
			m = v
		}
	}
	return m
}

func sum(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return add(w.values)
}

func average(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return add(w.values) / float64(len(w.values))
}

func minimum(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return lowest(w.values)
}

func maximum(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return highest(w.values)
}

func valueRange(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return highest(w.values) - lowest(w.values)
}

func rateOverSum(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	return add(w.values) / (float64(w.width) / 1e3)
}

func sum2(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	var s float64
	for _, v := range w.values {
		s += float64(v * v)
	}
	return s
}

func geomean(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	p := 1.0
	for _, v := range w.values {
		p *= v
	}
	return math.Pow(p, 1/float64(len(w.values)))
}

func distinct(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	sorted := w.s.sort(w.values)
	n := 1
	for i := 1; i < len(sorted); i++ {
		if sorted[i] != sorted[i-1] {
			n++
		}
	}
	return float64(n)
}

func staleSamples(w *window) float64 {
	if len(w.values) == 0 {
		return nan
	}
	n := 0
	for _, v := range w.values {
		if value.IsStaleNaN(v) {
			n++
		}
	}
	return float64(n)
}
