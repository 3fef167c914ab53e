package transform

import (
	"math"
	"slices"

	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// The formulas follow those of VictoriaMetrics' promql/rollup.go and promql/aggr.go
// operation by operation. Steps without a value do not count.

func mean(values []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range values {
		if !math.IsNaN(v) {
			sum += v
			n++
		}
	}
	return sum / float64(n)
}

func stddev(values []float64) float64 { return math.Sqrt(stat.Variance(values)) }

// mad is the median of the distances from the median.
func mad(values []float64) float64 {
	return stat.Far(quantile(0.5, values), slices.Clone(values))
}

func quantile(phi float64, values []float64) float64 {
	there := stat.AppendPresent(nil, values)
	slices.Sort(there)
	return stat.Quantile(phi, there)
}
