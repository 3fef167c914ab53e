package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// The Floats forms of functions that look at the ends of a window only, and
// what all Floats forms share. They make the same floating-point operations in
// the same order as the Window forms, or others whose results are proved to be
// the same.

// covered returns the floats that the windows hold, [lo, hi), and how many they
// hold all together: more than hi-lo if they overlap.
func (in *Input) covered() (lo, hi, held int) {
	if len(in.Lo) == 0 {
		return 0, 0, 0
	}
	for i, lo := range in.Lo {
		held += int(in.Hi[i] - lo)
	}
	return int(in.Lo[0]), int(in.Hi[len(in.Hi)-1]), held
}

// overlap tells whether the windows share so many floats that it pays to look
// at each float by itself first.
func (in *Input) overlap() (lo, hi int, yes bool) {
	lo, hi, held := in.covered()
	return lo, hi, held > 2*(hi-lo)
}

func floatsCount(in *Input, out *row.Row) {
	for i, lo := range in.Lo {
		if n := in.Hi[i] - lo; n > 0 {
			out.SetF(i, float64(n))
		}
	}
}

func floatsPresent(in *Input, out *row.Row) {
	for i, lo := range in.Lo {
		if in.Hi[i] > lo {
			out.SetF(i, 1)
		}
	}
}

func floatsFirst(in *Input, out *row.Row) {
	for i, lo := range in.Lo {
		if in.Hi[i] > lo {
			out.SetF(i, in.F[lo])
		}
	}
}

func floatsLast(in *Input, out *row.Row) {
	for i, hi := range in.Hi {
		if hi > in.Lo[i] {
			out.SetF(i, in.F[hi-1])
		}
	}
}

func floatsFirstTime(in *Input, out *row.Row) {
	for i, lo := range in.Lo {
		if in.Hi[i] > lo {
			out.SetF(i, float64(in.T[lo])/1000)
		}
	}
}

func floatsLastTime(in *Input, out *row.Row) {
	for i, hi := range in.Hi {
		if hi > in.Lo[i] {
			out.SetF(i, float64(in.T[hi-1])/1000)
		}
	}
}

// floats is the Floats form of irate and idelta.
func (k instantKind) floats(in *Input, out *row.Row) {
	dt, seconds := int64(0), 0.0 // of the window before: mostly those of all
	for i, hi := range in.Hi {
		if hi-in.Lo[i] < 2 {
			continue
		}
		a, b := hi-2, hi-1
		d := in.T[b] - in.T[a]
		if d == 0 {
			continue
		}
		f := in.F[b]
		if !k.rate {
			out.SetF(i, f-in.F[a])
			continue
		}
		if !(f < in.F[a] || in.ST != nil && isReset(in.ST[a], in.T[a], in.ST[b], in.T[b])) {
			f -= in.F[a]
		}
		if d != dt {
			dt, seconds = d, float64(d)/1000
		}
		out.SetF(i, f/seconds)
	}
}

// finite tells whether v is neither infinite nor NaN.
func finite(v float64) bool { return math.Abs(v) <= math.MaxFloat64 }

// exactBelow bounds the integers of which sums are exact.
const exactBelow = 1 << 53

// prefixSums returns the sums of the first 0, 1, 2, ... of the values and the
// sum of their magnitudes; ok is false unless they are integers, none is -0, and
// size is below 2^53.
func (in *Input) prefixSums(fs []float64) (sums []int64, size int64, ok bool) {
	sums = grow(&in.scratch().i0, len(fs)+1)
	sum := int64(0)
	sums[0] = 0
	for i, f := range fs {
		v := int64(f)
		if math.Float64bits(float64(v)) != math.Float64bits(f) || v <= -exactBelow || v >= exactBelow {
			return nil, 0, false
		}
		if size += max(v, -v); size >= exactBelow {
			return nil, 0, false
		}
		sum += v
		sums[i+1] = sum
	}
	return sums, size, true
}
