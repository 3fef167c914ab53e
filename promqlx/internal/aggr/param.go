package aggr

import "math"

// extent is what Prometheus' engine looks at of a parameter before the first
// step (newFParams of its promql/value.go).
type extent struct {
	min, max float64
	nan      bool
}

func extentOf(param []float64) extent {
	e := extent{min: math.MaxFloat64, max: -math.MaxFloat64}
	for _, f := range param {
		e.max, e.min = math.Max(e.max, f), math.Min(e.min, f)
		e.nan = e.nan || f != f
	}
	return e
}
