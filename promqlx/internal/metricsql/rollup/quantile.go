package rollup

import (
	"slices"

	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
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
	sorted := stat.AppendPresent(s.sorted[:0], values)
	s.sorted = sorted
	slices.Sort(sorted)
	return sorted
}

func newQuantile(a args) (kernel, error) {
	phis, err := a.pair(0)
	if err != nil {
		return nil, err
	}
	return func(w *window) float64 {
		return stat.Quantile(phis[w.step], w.s.sort(w.values))
	}, nil
}

func median(w *window) float64 { return stat.Quantile(0.5, w.s.sort(w.values)) }

// medianDeviation is the median of the distances from the median.
func medianDeviation(w *window) float64 {
	m := median(w)
	w.s.floats = append(w.s.floats[:0], w.values...)
	return stat.Far(m, w.s.floats)
}

// outlier is the last value if it lies far outside of the middle half of all.
func outlier(w *window) float64 {
	if len(w.values) < 2 {
		return nan
	}
	sorted := w.s.sort(w.values)
	q25, q75 := stat.Quantile(0.25, sorted), stat.Quantile(0.75, sorted)
	fence := float64(1.5 * (q75 - q25))
	v := w.values[len(w.values)-1]
	if v > q75+fence || v < q25-fence {
		return v
	}
	return nan
}

// mode is the value that there is most often; see stat.Mode for the one before.
func mode(w *window) float64 {
	if len(w.values) == 0 {
		return w.prev
	}
	sorted := append(w.s.sorted[:0], w.values...)
	w.s.sorted = sorted
	slices.Sort(sorted)
	return stat.Mode(w.prev, sorted)
}
