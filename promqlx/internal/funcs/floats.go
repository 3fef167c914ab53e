package funcs

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// The functions of floats: histograms fall out of the vector, names are
// dropped. Loops go over all steps, unset ones included: what stands there is
// not looked at.

// floatFunc looks up the functions from float to float.
func floatFunc(name string) (Func, bool) {
	switch name {
	case "abs":
		return each(abs)
	case "ceil":
		return each(ceil)
	case "floor":
		return each(floor)
	case "sqrt":
		return each(sqrt)
	case "sgn":
		return each(sgn)
	case "deg":
		return each(deg)
	case "rad":
		return each(rad)
	case "round":
		return each(round)
	case "clamp":
		return each(clamp)
	case "clamp_min":
		return each(clampMin)
	case "clamp_max":
		return each(clampMax)
	}
	if f := mathFunc(name); f != nil {
		return each(func(in *Input, r *row.Row) {
			for i, v := range floats(in, r) {
				r.F[i] = f(v)
			}
		})
	}
	return Func{}, false
}

// mathFunc looks up the functions that package math has as they are and that
// are long enough for a call each.
func mathFunc(name string) func(float64) float64 {
	switch name {
	case "exp":
		return math.Exp
	case "ln":
		return math.Log
	case "log2":
		return math.Log2
	case "log10":
		return math.Log10
	case "sin":
		return math.Sin
	case "cos":
		return math.Cos
	case "tan":
		return math.Tan
	case "asin":
		return math.Asin
	case "acos":
		return math.Acos
	case "atan":
		return math.Atan
	case "sinh":
		return math.Sinh
	case "cosh":
		return math.Cosh
	case "tanh":
		return math.Tanh
	case "asinh":
		return math.Asinh
	case "acosh":
		return math.Acosh
	case "atanh":
		return math.Atanh
	}
	return nil
}

// floats makes r a row of floats without name and returns the floats.
func floats(in *Input, r *row.Row) []float64 {
	loseHistograms(r)
	r.LoseName(in.Env)
	return r.F
}

func abs(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		f[i] = math.Abs(v)
	}
}

func ceil(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		f[i] = math.Ceil(v)
	}
}

func floor(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		f[i] = math.Floor(v)
	}
}

func sqrt(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		f[i] = math.Sqrt(v)
	}
}

func sgn(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		switch {
		case v < 0:
			f[i] = -1
		case v > 0:
			f[i] = 1
		}
	}
}

func deg(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		f[i] = v * (180 / math.Pi)
	}
}

func rad(in *Input, r *row.Row) {
	f := floats(in, r)
	for i, v := range f {
		f[i] = v * (math.Pi / 180)
	}
}

// round rounds to the nearest multiple of its argument, 1 by default; ties go
// up. (funcRound of Prometheus' promql/functions.go.)
func round(in *Input, r *row.Row) {
	f := floats(in, r)
	if len(in.Args) < 2 {
		for i, v := range f {
			f[i] = math.Floor(v + 0.5)
		}
		return
	}
	// The inverse, as it seems to cause fewer errors of accuracy.
	nearest := in.Args[1][:len(f)]
	of, inverse := nearest[0], 1/nearest[0]
	for i, v := range f {
		if n := nearest[i]; n != of || n == 0 {
			of, inverse = n, 1/n
		}
		f[i] = math.Floor(float64(v*inverse)+0.5) / inverse
	}
}

func clamp(in *Input, r *row.Row) {
	f := floats(in, r)
	lo, hi := in.Args[1][:len(f)], in.Args[2][:len(f)]
	for i, v := range f {
		if hi[i] < lo[i] {
			r.Has.Unset(i)
		}
		f[i] = clamped(v, lo[i], hi[i])
	}
}

func clampMin(in *Input, r *row.Row) {
	f := floats(in, r)
	lo := in.Args[1][:len(f)]
	for i, v := range f {
		f[i] = clamped(v, lo[i], math.Inf(+1))
	}
}

func clampMax(in *Input, r *row.Row) {
	f := floats(in, r)
	hi := in.Args[1][:len(f)]
	for i, v := range f {
		f[i] = clamped(v, math.Inf(-1), hi[i])
	}
}

// clamped returns v within lo and hi. What there is with zeros and NaNs is
// package math's; without these it is plain.
func clamped(v, lo, hi float64) float64 {
	switch {
	case lo < v && v < hi:
		return v
	case lo < hi && v >= hi && hi != 0:
		return hi
	case lo < hi && v <= lo && lo != 0:
		return lo
	}
	return math.Max(lo, math.Min(hi, v))
}
