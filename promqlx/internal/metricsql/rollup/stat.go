package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// Kernels of statistics, as the functions of these names in VictoriaMetrics'
// promql/rollup.go.

func statSpecs() map[string]*spec {
	return map[string]*spec{
		"hoeffding_bound_lower": {build: newHoeffding(-1), traits: keeps},
		"hoeffding_bound_upper": {build: newHoeffding(1), traits: keeps},
		"stddev_over_time":      {kernel: deviation, traits: inAggr},
		"stdvar_over_time":      {kernel: variance, traits: inAggr},
		"zscore_over_time":      {kernel: zscore, traits: inAggr},
	}
}

func variance(w *window) float64 {
	return stat.Variance(w.values)
}

func deviation(w *window) float64 { return math.Sqrt(variance(w)) }

// zscore is how far the last value lies from the average, in deviations; there is
// none of a series that has stopped.
func zscore(w *window) float64 {
	every, since := interval(w), lag(w)
	if isNaN(every) || isNaN(since) || since > every {
		return nan
	}
	d := last(w) - average(w)
	if d == 0 {
		return 0
	}
	return d / deviation(w)
}

// newHoeffding returns functions of a bound of the average, below it or above.
func newHoeffding(sign float64) func(args) (kernel, error) {
	return func(a args) (kernel, error) {
		phis, err := a.pair(0)
		if err != nil {
			return nil, err
		}
		return func(w *window) float64 {
			bound, avg := hoeffding(w.values, phis[w.step])
			return avg + float64(sign*bound)
		}, nil
	}
}

func hoeffding(values []float64, phi float64) (bound, avg float64) {
	switch len(values) {
	case 0:
		return nan, nan
	case 1:
		return 0, values[0]
	}
	avg = add(values) / float64(len(values))
	spread := highest(values) - lowest(values)
	switch {
	case spread <= 0:
		return 0, avg
	case phi >= 1:
		return inf, avg
	case phi <= 0:
		return 0, avg
	}
	return spread * math.Sqrt(math.Log(1/(1-phi))/(2*float64(len(values)))), avg
}
