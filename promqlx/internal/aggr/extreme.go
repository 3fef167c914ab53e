package aggr

import (
	"math/bits"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// extremes are the groups of min and max, as MIN and MAX in aggregation of
// Prometheus' promql/engine.go: the first of equal values stays (which tells 0
// from -0), and anything replaces a NaN.
type extremes struct {
	base
	max bool
	v   column[float64]
	has column[uint64]
}

func newExtremes(b base) *extremes {
	return &extremes{base: b, max: b.Op == parser.MAX, v: newFloats(b.env, b.n), has: newColumn[uint64](b.words)}
}

func (a *extremes) Add(g int, r *row.Row) {
	has := a.has.at(g)
	a.noteDrop(g, r, func(i int) bool { return row.Bits(has).Get(i) })
	if !a.ignored && anyHistogram(r.H) {
		a.ignored = true
	}
	a.fold(a.v.at(g), has, r.F, r.Has)
}

// fold takes the values of x at the steps of xs into v.
func (a *extremes) fold(v []float64, has []uint64, x []float64, xs row.Bits) {
	for w, in := range xs {
		if in == 0 {
			continue
		}
		lo := w << 6
		hi := min(lo+64, a.n)
		old, all := has[w], a.full(w)
		has[w] = old | in
		switch {
		case in&old == all && a.max:
			maxInto(v[lo:hi], x[lo:hi])
		case in&old == all:
			minInto(v[lo:hi], x[lo:hi])
		case in == all && old == 0:
			copy(v[lo:hi], x[lo:hi])
		default:
			for ; in != 0; in &= in - 1 {
				i := bits.TrailingZeros64(in)
				f, cur := x[lo+i], v[lo+i]
				if old>>i&1 == 0 || cur != cur || a.max && cur < f || !a.max && cur > f {
					v[lo+i] = f
				}
			}
		}
	}
}

func maxInto(v, x []float64) {
	x = x[:len(v)]
	for i, f := range x {
		if !(v[i] >= f) && (v[i] < f || v[i] != v[i]) {
			v[i] = f
		}
	}
}

func minInto(v, x []float64) {
	x = x[:len(v)]
	for i, f := range x {
		if !(v[i] <= f) && (v[i] > f || v[i] != v[i]) {
			v[i] = f
		}
	}
}

func (a *extremes) Finish(groups []labels.Labels, emit func(*row.Row) error) error {
	var out row.Row
	for g, ls := range groups {
		out.F, out.Has = a.v.at(g), a.has.at(g)
		if err := a.emitGroup(g, ls, &out, emit); err != nil {
			return err
		}
	}
	a.finish()
	return nil
}

func (a *extremes) Bytes() int64 { return int64(8 * (a.v.held + a.has.held)) }

// Free gives the columns back.
func (a *extremes) Free() {
	a.v.free()
}
