package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floats is the Floats form of min_over_time and its like.
func (k extremeKind) floats(in *Input, out *row.Row) {
	lo, hi, held := in.covered()
	if held > 3*(hi-lo) {
		k.sliding(in, out, hi-lo)
		return
	}
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		if k.time {
			k.set(in, out, i, int(lo)+k.best(in.F[lo:hi]))
		} else {
			out.SetF(i, k.value(in.F[lo:hi]))
		}
	}
}

func (k extremeKind) set(in *Input, out *row.Row, i, at int) {
	if k.time {
		out.SetF(i, float64(in.T[at])/1000)
		return
	}
	out.SetF(i, in.F[at])
}

// numbers returns how many NaNs the values begin with, but for the last value:
// whatever comes after a NaN takes its place.
func numbers(fs []float64) int {
	i := 0
	for i < len(fs)-1 && math.IsNaN(fs[i]) {
		i++
	}
	return i
}

// value returns the greatest or smallest value, the first of those that are
// equal.
func (k extremeKind) value(fs []float64) float64 {
	fs = fs[numbers(fs):]
	m := fs[0]
	if k.max {
		for _, f := range fs {
			if f > m {
				m = f
			}
		}
		return m
	}
	for _, f := range fs {
		if f < m {
			m = f
		}
	}
	return m
}

// best returns which of the values is the greatest or smallest, the last of
// those that are equal.
func (k extremeKind) best(fs []float64) int {
	at := numbers(fs)
	m := fs[at]
	if k.max {
		for i := at + 1; i < len(fs); i++ {
			if f := fs[i]; f >= m {
				m, at = f, i
			}
		}
		return at
	}
	for i := at + 1; i < len(fs); i++ {
		if f := fs[i]; f <= m {
			m, at = f, i
		}
	}
	return at
}

// sliding cuts the floats in two where a window ended: of what lies before the
// cut it knows the best of all up to the cut, from each float on; of what lies
// behind, the best. When a window starts behind the cut, that moves to its end.
// So each float is looked at twice. n is how many floats the windows cover.
func (k extremeKind) sliding(in *Input, out *row.Row, n int) {
	before := grow(&in.scratch().n0, n)
	origin, cut, next, behind := in.Lo[0], in.Lo[0], int32(0), int32(-1)
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		if lo >= cut {
			k.suffixes(in.F, lo, hi, before[lo-origin:hi-origin])
			cut, next, behind = hi, hi, -1
		}
		if next < hi {
			behind = k.extend(in.F, behind, next, hi)
			next = hi
		}
		at := before[lo-origin]
		if behind >= 0 && k.beats(in.F[behind], in.F[at]) {
			at = behind
		}
		k.set(in, out, i, int(at))
	}
}

// suffixes sets best[j-lo] to which of the floats [j, hi) is the window's.
func (k extremeKind) suffixes(f []float64, lo, hi int32, best []int32) {
	at := hi - 1
	for j := hi - 1; j >= lo; j-- {
		if !k.beats(f[at], f[j]) {
			at = j
		}
		best[j-lo] = at
	}
}

// extend returns which is the window's of the float at and those of [lo, hi);
// at is -1 if there is none yet.
func (k extremeKind) extend(f []float64, at, lo, hi int32) int32 {
	if at < 0 {
		at = lo
		lo++
	}
	for j := lo; j < hi; j++ {
		if k.beats(f[j], f[at]) {
			at = j
		}
	}
	return at
}
