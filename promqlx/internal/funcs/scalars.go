package funcs

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// scalarFunc looks up the functions that yield a scalar, and vector.
func scalarFunc(name string) (Func, bool) {
	switch name {
	case "time":
		return Func{Scalar: func(in *Input, _ [][]*row.Row, out []float64) {
			for i := range out {
				out[i] = float64(in.Env.Grid.T(i)) / 1000
			}
		}}, true
	case "pi":
		return Func{Scalar: func(_ *Input, _ [][]*row.Row, out []float64) {
			for i := range out {
				out[i] = math.Pi
			}
		}}, true
	case "max_of":
		return Func{Scalar: func(in *Input, _ [][]*row.Row, out []float64) {
			for i := range out {
				out[i] = math.Max(in.Args[0][i], in.Args[1][i])
			}
		}}, true
	case "min_of":
		return Func{Scalar: func(in *Input, _ [][]*row.Row, out []float64) {
			for i := range out {
				out[i] = math.Min(in.Args[0][i], in.Args[1][i])
			}
		}}, true
	case "vector":
		return Func{Scalar: func(in *Input, _ [][]*row.Row, out []float64) { copy(out, in.Args[0]) }}, true
	case "scalar":
		return Func{Scalar: scalar}, true
	}
	return Func{}, false
}

// scalar yields the one float of each step, NaN where there is none or more
// than one.
func scalar(_ *Input, args [][]*row.Row, out []float64) {
	one, more := row.NewBits(len(out)), row.NewBits(len(out))
	for i := range out {
		out[i] = math.NaN()
	}
	for _, r := range args[0] {
		for i := r.Has.Next(0); i >= 0; i = r.Has.Next(i + 1) {
			out[i] = r.F[i]
		}
		for k, has := range r.Has {
			more[k] |= one[k] & has
			one[k] |= has
		}
	}
	for i := more.Next(0); i >= 0; i = more.Next(i + 1) {
		out[i] = math.NaN()
	}
}
