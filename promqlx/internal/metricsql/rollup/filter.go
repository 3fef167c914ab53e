package rollup

// Kernels of the samples that compare with a limit in a way, as the functions of
// these names in VictoriaMetrics' promql/rollup.go.

func filterSpecs() map[string]*spec {
	return map[string]*spec{
		"count_eq_over_time": {build: counted(equal)},
		"count_gt_over_time": {build: counted(above)},
		"count_le_over_time": {build: counted(upTo)},
		"count_ne_over_time": {build: counted(unequal)},
		"share_eq_over_time": {build: shared(equal)},
		"share_gt_over_time": {build: shared(above)},
		"share_le_over_time": {build: shared(upTo)},
		"sum_eq_over_time":   {build: summed(equal)},
		"sum_gt_over_time":   {build: summed(above)},
		"sum_le_over_time":   {build: summed(upTo)},
	}
}

type comparison func(v, limit float64) bool

func equal(v, limit float64) bool   { return v == limit }
func unequal(v, limit float64) bool { return v != limit }
func above(v, limit float64) bool   { return v > limit }
func upTo(v, limit float64) bool    { return v <= limit }

// filtered makes a kernel of what is done with the samples of a window, if there
// are any, and the limit of its step.
func filtered(do func(values []float64, limit float64) float64) func(args) (kernel, error) {
	return func(a args) (kernel, error) {
		limits, err := a.pair(1)
		if err != nil {
			return nil, err
		}
		return func(w *window) float64 {
			if len(w.values) == 0 {
				return nan
			}
			return do(w.values, limits[w.step])
		}, nil
	}
}

func countOf(values []float64, limit float64, is comparison) float64 {
	n := 0
	for _, v := range values {
		if is(v, limit) {
			n++
		}
	}
	return float64(n)
}

func counted(is comparison) func(args) (kernel, error) {
	return filtered(func(values []float64, limit float64) float64 {
		return countOf(values, limit, is)
	})
}

func shared(is comparison) func(args) (kernel, error) {
	return filtered(func(values []float64, limit float64) float64 {
		return countOf(values, limit, is) / float64(len(values))
	})
}

func summed(is comparison) func(args) (kernel, error) {
	return filtered(func(values []float64, limit float64) float64 {
		var s float64
		for _, v := range values {
			if is(v, limit) {
				s += v
			}
		}
		return s
	})
}
