// Package stat holds the formulas that functions over windows, over ranges and over
// groups of the MetricsQL dialect have in common: quantiles, variance, the line through
// samples, the buckets of a histogram. Each follows VictoriaMetrics' operation by
// operation, and is the same bits on every machine: products are rounded before they
// are added.
package stat

import (
	"math"
	"slices"
)

// AppendPresent appends those values that are no NaN.
func AppendPresent(dst, values []float64) []float64 {
	for _, v := range values {
		if v == v {
			dst = append(dst, v)
		}
	}
	return dst
}

// Quantile returns a quantile of sorted values without NaNs: as quantileSorted of
// VictoriaMetrics' promql/aggr.go.
func Quantile(phi float64, sorted []float64) float64 {
	switch {
	case len(sorted) == 0 || math.IsNaN(phi):
		return math.NaN()
	case phi < 0:
		return math.Inf(-1)
	case phi > 1:
		return math.Inf(1)
	}
	last := float64(len(sorted) - 1)
	rank := float64(phi * last)
	lower := max(0, math.Floor(rank))
	upper := min(last, lower+1)
	weight := rank - math.Floor(rank)
	return float64(sorted[int(lower)]*(1-weight)) + float64(sorted[int(upper)]*weight)
}

// Far replaces values by their distances from m, sorts them, and returns the median of
// those that are no NaN: infinities are NaN away from each other.
func Far(m float64, values []float64) float64 {
	for i, v := range values {
		values[i] = math.Abs(v - m)
	}
	values = AppendPresent(values[:0], values)
	slices.Sort(values)
	return Quantile(0.5, values)
}

// Variance returns the variance of the values that are no NaN, as Welford's method has
// it: as stdvar of VictoriaMetrics' promql/rollup.go, to which one value has none even
// if it is NaN.
func Variance(values []float64) float64 {
	if len(values) == 1 {
		return 0
	}
	var mean, n, q float64
	for _, v := range values {
		if v == v {
			n++
			next := mean + (v-mean)/n
			q += float64((v - mean) * (v - next))
			mean = next
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return q / n
}

// Mode returns the value that there is most often among sorted ones, the least of
// several: as modeNoNaNs of VictoriaMetrics' promql/aggr.go, where a value before them
// takes part in an odd way; NaN is none.
func Mode(prev float64, sorted []float64) float64 {
	found := prev
	from, most := -1, 0
	for i, v := range sorted {
		if prev == v {
			continue
		}
		if n := i - from; n > most || math.IsNaN(found) {
			most, found = n, prev
		}
		from, prev = i, v
	}
	if n := len(sorted) - from; n > most || math.IsNaN(found) {
		found = prev
	}
	return found
}

// Line returns the straight line through samples, in milliseconds, that are no NaN: its
// value at a time, and its slope per second; NaNs if there are none. As linearRegression
// of VictoriaMetrics' promql/rollup.go.
func Line(values []float64, times []int64, at int64) (v, k float64) {
	if len(values) > 0 && constant(values) {
		return values[0], 0
	}
	var vs, ts, tvs, tts float64
	n := 0
	for i, v := range values {
		if v != v {
			continue
		}
		t := float64(times[i]-at) / 1e3
		vs += v
		ts += t
		tvs += float64(t * v)
		tts += float64(t * t)
		n++
	}
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	count := float64(n)
	if d := tts - ts*ts/count; math.Abs(d) >= 1e-6 {
		k = (tvs - ts*vs/count) / d
	}
	return vs/count - k*ts/count, k
}

// constant tells whether there is the same value everywhere; one always is, NaN or not.
func constant(values []float64) bool {
	for _, v := range values[1:] {
		if v != values[0] {
			return false
		}
	}
	return true
}
