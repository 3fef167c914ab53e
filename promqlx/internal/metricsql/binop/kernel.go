package binop

import (
	"math"

	mql "github.com/VictoriaMetrics/metricsql"
)

// kernel computes an operator step by step: dst may be one of the sides.
type kernel func(dst, left, right []float64)

// arithmetic are the operators on numbers: as those of VictoriaMetrics'
// metricsql/binaryop/funcs.go.
var arithmetic = map[string]kernel{
	"+": func(dst, left, right []float64) {
		for i, v := range left {
			dst[i] = v + right[i]
		}
	},
	"-": func(dst, left, right []float64) {
		for i, v := range left {
			dst[i] = v - right[i]
		}
	},
	"*": func(dst, left, right []float64) {
		for i, v := range left {
			dst[i] = v * right[i]
		}
	},
	"/": func(dst, left, right []float64) {
		for i, v := range left {
			dst[i] = v / right[i]
		}
	},
	"%": func(dst, left, right []float64) {
		for i, v := range left {
			dst[i] = math.Mod(v, right[i])
		}
	},
	"^": func(dst, left, right []float64) {
		for i, v := range left {
			if !math.IsNaN(v) { // NaN to the power of zero is no 1
				v = math.Pow(v, right[i])
			}
			dst[i] = v
		}
	},
	"atan2": func(dst, left, right []float64) {
		for i, v := range left {
			dst[i] = math.Atan2(v, right[i])
		}
	},
}

// comparison is an operator that keeps values on the left, or tells with bool
// whether it would: NaN is less, greater and equal to nothing. (There NaN == NaN is
// true in VictoriaMetrics, but what it keeps then is the NaN.)
type comparison struct {
	holds func(left, right float64) bool
	keep  kernel
}

var comparisons = map[string]*comparison{
	"==": {func(l, r float64) bool { return l == r }, func(dst, left, right []float64) {
		for i, v := range left {
			if v == right[i] {
				dst[i] = v
			} else {
				dst[i] = math.NaN()
			}
		}
	}},
	"!=": {func(l, r float64) bool { return l != r }, func(dst, left, right []float64) {
		for i, v := range left {
			if v != right[i] {
				dst[i] = v
			} else {
				dst[i] = math.NaN()
			}
		}
	}},
	">": {func(l, r float64) bool { return l > r }, func(dst, left, right []float64) {
		for i, v := range left {
			if v > right[i] {
				dst[i] = v
			} else {
				dst[i] = math.NaN()
			}
		}
	}},
	"<": {func(l, r float64) bool { return l < r }, func(dst, left, right []float64) {
		for i, v := range left {
			if v < right[i] {
				dst[i] = v
			} else {
				dst[i] = math.NaN()
			}
		}
	}},
	">=": {func(l, r float64) bool { return l >= r }, func(dst, left, right []float64) {
		for i, v := range left {
			if v >= right[i] {
				dst[i] = v
			} else {
				dst[i] = math.NaN()
			}
		}
	}},
	"<=": {func(l, r float64) bool { return l <= r }, func(dst, left, right []float64) {
		for i, v := range left {
			if v <= right[i] {
				dst[i] = v
			} else {
				dst[i] = math.NaN()
			}
		}
	}},
}

// asBool returns a comparison that makes 0 or 1.
func (c *comparison) asBool(dst, left, right []float64) {
	for i, v := range left {
		switch {
		case math.IsNaN(v):
			dst[i] = math.NaN()
		case c.holds(v, right[i]):
			dst[i] = 1
		default:
			dst[i] = 0
		}
	}
}

// filled puts values in where one side has none but the other does, before k is
// computed.
func filled(k kernel, fillLeft, fillRight *mql.NumberExpr) kernel {
	if fillLeft == nil && fillRight == nil {
		return k
	}
	var l, r []float64 // a side may be shared
	return func(dst, left, right []float64) {
		l, r = append(l[:0], left...), append(r[:0], right...)
		for i := range l {
			noLeft, noRight := math.IsNaN(l[i]), math.IsNaN(r[i])
			if noLeft && !noRight && fillLeft != nil {
				l[i] = fillLeft.N
			}
			if noRight && !noLeft && fillRight != nil {
				r[i] = fillRight.N
			}
		}
		k(dst, l, r)
	}
}
