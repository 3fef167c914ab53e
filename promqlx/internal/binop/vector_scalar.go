package binop

import (
	"math/bits"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// VectorScalar combines the rows of a vector with a scalar, one by one in the
// order of the vector. (VectorscalarBinop of Prometheus' promql/engine.go.)
type VectorScalar struct {
	Op   parser.ItemType
	Swap bool // the scalar is on the left
	Bool bool
	Pos  posrange.PositionRange
	Env  *row.Env

	elems elems
	last  []error // by step, nil as long as there is none
}

// Each combines r with the scalar, in place, and drops its name where the
// operator does. The row may be empty then. The caller joins rows that have
// become equal (row.MergeSame), except where names go late.
func (v *VectorScalar) Each(r *row.Row, scalar []float64) {
	if r.Histograms() || trims(v.Op) {
		v.steps(r, scalar)
	} else {
		v.floats(r, scalar)
	}
	if dropsName(v.Op) || v.Bool {
		r.LoseName(v.Env)
	}
}

func (v *VectorScalar) floats(r *row.Row, scalar []float64) {
	for w, in := range r.Has {
		if in == 0 {
			continue
		}
		lo := w << 6
		hi := min(lo+64, r.Steps())
		a, b := r.F[lo:hi], scalar[lo:hi]
		if v.Swap {
			a, b = b, a
		}
		switch {
		case !v.Op.IsComparisonOperator():
			arithmetic(v.Op, r.F[lo:hi], a, b, in)
		case v.Bool:
			truths(r.F[lo:hi], compare(v.Op, a, b))
		default: // the vector's value stays, on whichever side it is
			r.Has[w] = in & compare(v.Op, a, b)
		}
	}
}

// steps combines a row step by step.
func (v *VectorScalar) steps(r *row.Row, scalar []float64) {
	v.elems.op, v.elems.pos = v.Op, v.Pos
	for i := range r.F {
		if !r.At(i) {
			continue
		}
		x := value{r.F[i], r.HAt(i)}
		a, b := x, value{f: scalar[i]}
		if v.Swap {
			a, b = b, a
		}
		res, keep, _, err := v.elems.combine(a, b)
		if err != nil {
			v.note(i, err)
			keep = false
		} else if v.Op.IsComparisonOperator() {
			res = x
			if v.Bool {
				res, keep = value{f: float64(bit(keep))}, true
			}
		}
		r.Has.Unset(i)
		if r.Histograms() {
			r.H[i] = nil
		}
		if keep {
			r.SetAt(i, res.f, res.h)
		}
	}
}

// note keeps the last error of a step.
func (v *VectorScalar) note(i int, err error) {
	if v.last == nil {
		v.last = make([]error, v.Env.Grid.N)
	}
	v.last[i] = err
}

// Finish adds the annotations after the last row.
func (v *VectorScalar) Finish() error {
	var annos annotations.Annotations
	if err := v.elems.annotateSteps(&annos, v.last); err != nil {
		return err
	}
	v.Env.Annos.Merge(annos)
	return nil
}

// Minus negates r in place and drops its name. The caller joins rows that have
// become equal, except where names go late.
func Minus(env *row.Env, r *row.Row) {
	for w, in := range r.Has {
		lo := w << 6
		for ; in != 0; in &= in - 1 {
			i := lo + bits.TrailingZeros64(in)
			r.F[i] = -r.F[i]
		}
	}
	for i, h := range r.H {
		if h != nil {
			r.H[i] = h.Copy().Mul(-1)
		}
	}
	r.LoseName(env)
}
