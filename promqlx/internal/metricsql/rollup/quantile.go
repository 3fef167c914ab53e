package rollup

import (
	"math"
	"slices"
)

// Kernels of the order of values, as the functions of these names in
// VictoriaMetrics' promql/rollup.go.

func quantileSpecs() map[string]*spec {
	return map[string]*spec{
		"mad_over_time":         {kernel: medianDeviation, traits: inAggr},
		"median_over_time":      {kernel: median, traits: inAggr | keeps},
		"mode_over_time":        {kernel: mode, traits: inAggr | keeps},
		"outlier_iqr_over_time": {kernel: outlier},
		"quantile_over_time":    {build: newQuantile, traits: keeps},
	}
}

// sort returns the values in order, but for NaNs, valid until the next call.
func (s *Scratch) sort(values []float64) []float64 {
	sorted := s.sorted[:0]
	for _, v := range values {
		if v == v {
			sorted = append(sorted, v)
		}
	}
	s.sorted = sorted
	slices.Sort(sorted)
	return sorted
}

// sortedQuantile is quantileSorted of VictoriaMetrics' promql/aggr.go.
func sortedQuantile(phi float64, sorted []float64) float64 {
	switch {
	case len(sorted) == 0 || isNaN(phi):
		return nan
	case phi < 0:
		return -inf
	case phi > 1:
		return inf
	}
	n := float64(len(sorted))
	rank := float64(phi * (n - 1))
	lower := math.Max(0, math.Floor(rank))
	upper := math.Min(n-1, lower+1)
	weight := rank - math.Floor(rank)
	return float64(sorted[int(lower)]*(1-weight)) + float64(sorted[int(upper)]*weight)
}

func newQuantile(a args) (kernel, error) {
	phis, err := a.pair(0)
	if err != nil {
		return nil, err
	}
	return func(w *window) float64 {
		return sortedQuantile(phis[w.step], w.s.sort(w.values))
	}, nil
}

func median(w *window) float64 { return sortedQuantile(0.5, w.s.sort(w.values)) }

// medianDeviation is the median of the distances from the median.
func medianDeviation(w *window) float64 {
	m := median(w)
	far := w.s.floats[:0]
	for _, v := range w.values {
		far = append(far, math.Abs(v-m))
	}
	w.s.floats = far
	return sortedQuantile(0.5, w.s.sort(far))
}

// outlier is the last value if it lies far outside of the middle half of all.
func outlier(w *window) float64 {
	if len(w.values) < 2 {
		return nan
	}
	sorted := w.s.sort(w.values)
	q25, q75 := sortedQuantile(0.25, sorted), sortedQuantile(0.75, sorted)
	fence := float64(1.5 * (q75 - q25))
	v := w.values[len(w.values)-1]
	if v > q75+fence || v < q25-fence {
		return v
	}
	return nan
}

// mode is the value that there is most often, as modeNoNaNs of VictoriaMetrics'
// promql/aggr.go finds it: the value before the window takes part in an odd way.
func mode(w *window) float64 {
	if len(w.values) == 0 {
		return w.prev
	}
	sorted := append(w.s.sorted[:0], w.values...)
	w.s.sorted = sorted
	slices.Sort(sorted)
	prev, found := w.prev, w.prev
	from, most := -1, 0
	for i, v := range sorted {
		if prev == v {
			continue
		}
		if n := i - from; n > most || isNaN(found) {
			most, found = n, prev
		}
		from, prev = i, v
	}
	if n := len(sorted) - from; n > most || isNaN(found) {
		found = prev
	}
	return found
}
