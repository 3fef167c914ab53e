package transform

import (
	"math"
	"sort"
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

func stddev(values []float64) float64 { return math.Sqrt(stdvar(values)) }

func stdvar(values []float64) float64 {
	if len(values) == 1 {
		return 0 // even if it is not there
	}
	var avg, n, q float64
	for _, v := range values {
		if math.IsNaN(v) {
			continue
		}
		n++
		next := avg + (v-avg)/n
		q += (v - avg) * (v - next)
		avg = next
	}
	if n == 0 {
		return math.NaN()
	}
	return q / n
}

// mad is the median of the distances from the median.
func mad(values []float64) float64 {
	median := quantile(0.5, values)
	distances := make([]float64, len(values))
	for i, v := range values {
		distances[i] = math.Abs(v - median)
	}
	return quantile(0.5, distances)
}

func quantile(phi float64, values []float64) float64 {
	there := present(values)
	sort.Float64s(there)
	return quantileSorted(phi, there)
}

// present returns a copy of the values that are there.
func present(values []float64) []float64 {
	there := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(v) {
			there = append(there, v)
		}
	}
	return there
}

func quantileSorted(phi float64, values []float64) float64 {
	switch {
	case len(values) == 0 || math.IsNaN(phi):
		return math.NaN()
	case phi < 0:
		return math.Inf(-1)
	case phi > 1:
		return math.Inf(1)
	}
	n := float64(len(values))
	rank := phi * (n - 1)
	lower := math.Max(0, math.Floor(rank))
	upper := math.Min(n-1, lower+1)
	weight := rank - math.Floor(rank)
	return values[int(lower)]*(1-weight) + values[int(upper)]*weight
}

// seconds returns how far step i lies behind the first.
func seconds(i int, step int64) float64 { return float64(int64(i)*step) / 1e3 }

// linearRegression returns the value at the first step of the line through values, and
// its slope per second.
func linearRegression(values []float64, step int64) (v, k float64) {
	if constant(values) {
		return values[0], 0
	}
	var vSum, tSum, tvSum, ttSum float64
	n := 0
	for i, v := range values {
		if math.IsNaN(v) {
			continue
		}
		dt := seconds(i, step)
		vSum += v
		tSum += dt
		tvSum += dt * v
		ttSum += dt * dt
		n++
	}
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	if d := ttSum - tSum*tSum/float64(n); math.Abs(d) >= 1e-6 {
		k = (tvSum - tSum*vSum/float64(n)) / d
	}
	return vSum/float64(n) - k*tSum/float64(n), k
}

// constant tells whether there is the same value at all steps; one step always is.
func constant(values []float64) bool {
	for i := 1; i < len(values); i++ {
		if values[i] != values[i-1] {
			return false
		}
	}
	return true
}
