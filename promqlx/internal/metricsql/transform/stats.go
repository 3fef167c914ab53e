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

// seconds returns how far step i lies behind the first.
func seconds(i int, step int64) float64 { return float64(int64(i)*step) / 1e3 }

// linearRegression returns the value at the first step of the line through values, and
// its slope per second.
func linearRegression(values []float64, step int64) (v, k float64) {
	if stat.Constant(values) {
		return values[0], 0
	}
	var l stat.Line
	for i, v := range values {
		l.Add(seconds(i, step), v)
	}
	return l.Solve()
}
