package aggr

import (
	"errors"
	"math"
	"math/bits"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// limits choose the first series of each group (limitk) or a share of them by
// their hash (limit_ratio). The samples of an instant query go through heaps, as
// in Prometheus' engine, for their order; a query of more steps keeps the rows.
type limits struct {
	base
	heaps heaps
	k     []int64   // of limitk, by step; nil: nothing is chosen
	ratio []float64 // of limit_ratio, by step; nil: nothing is chosen
	count column[int32]
	rows  kept
	of    []limited // by row
	mask  row.Bits
	held  int64
}

// limited is what is kept of a row besides its floats.
type limited struct {
	labels labels.Labels
	drop   bool
	h      []*histogram.FloatHistogram // nil if there is none
}

func newLimits(b base) *limits {
	a := &limits{base: b, rows: newKept(&b), mask: row.NewBits(b.n), count: newColumn[int32](b.n)}
	a.heaps = newHeaps(b.n, false)
	if b.Op == parser.LIMITK {
		a.k, a.err = countsOf(b.Param)
		return a
	}
	e := extentOf(b.Param)
	switch {
	case e.max == 0 && e.min == 0:
		return a
	case e.nan:
		a.err = errors.New("Ratio value is NaN") //nolint:staticcheck // the words of Prometheus' engine
		return a
	}
	if e.max > 1 {
		a.annos.Add(annotations.NewInvalidRatioWarning(e.max, 1, b.ParamPos))
	}
	if e.min < -1 {
		a.annos.Add(annotations.NewInvalidRatioWarning(e.min, -1, b.ParamPos))
	}
	a.ratio = make([]float64, b.n)
	for i, r := range b.Param {
		a.ratio[i] = max(-1, min(r, 1))
	}
	return a
}

func (a *limits) Add(g int, r *row.Row) {
	if a.k == nil && a.ratio == nil {
		return
	}
	if !a.choose(g, r) {
		return
	}
	if a.n == 1 {
		f := 0.0 // of a histogram
		if r.Has.Get(0) {
			f = r.F[0]
		}
		a.heaps.cur = -1
		a.heaps.push(a.heaps.group(g), 0, f, r, math.MaxInt64)
		return
	}
	a.rows.add(r.F, row.Bits(a.maskAnd(r.Has)))
	l := limited{labels: r.Labels, drop: r.DropName}
	if anyHistogram(r.H) {
		l.h = slices.Clone(r.H)
		for i := range l.h {
			if !a.mask.Get(i) {
				l.h[i] = nil
			}
		}
		a.held += 8 * int64(a.n)
	}
	a.of = append(a.of, l)
	a.held += int64(r.Labels.ByteSize()) + 48
}

// maskAnd returns the chosen ones of the steps in has.
func (a *limits) maskAnd(has row.Bits) []uint64 {
	out := slices.Clone(has)
	for w := range out {
		out[w] &= a.mask[w]
	}
	return out
}

// choose puts the steps at which r is chosen into the mask.
func (a *limits) choose(g int, r *row.Row) bool {
	copy(a.mask, r.Has)
	for i, h := range r.H {
		if h != nil {
			a.mask.Set(i)
		}
	}
	if a.ratio != nil {
		chooseByRatio(a.ratio, r.Labels, a.mask)
		return a.mask.Any()
	}
	count := a.count.at(g)
	for w, x := range a.mask {
		for ; x != 0; x &= x - 1 {
			i := w<<6 + bits.TrailingZeros64(x)
			if int64(count[i]) >= a.k[i] {
				a.mask.Unset(i)
				continue
			}
			count[i]++
		}
	}
	return a.mask.Any()
}

// chooseByRatio takes the steps out at which the series is not chosen, as
// HashRatioSampler of Prometheus' engine.
func chooseByRatio(ratio []float64, ls labels.Labels, mask row.Bits) {
	offset := float64(ls.Hash()) / float64(math.MaxUint64)
	for i := mask.Next(0); i >= 0; i = mask.Next(i + 1) {
		r := ratio[i]
		if !(r > 0 && offset < r || r < 0 && offset >= 1+r) {
			mask.Unset(i)
		}
	}
}

func (a *limits) Finish(_ []labels.Labels, emit func(*row.Row) error) error {
	if a.err != nil {
		return a.err
	}
	defer a.finish()
	if a.n == 1 {
		return a.heaps.emitOrdered(false, emit)
	}
	for k, l := range a.of {
		out := row.Row{Labels: l.labels, DropName: l.drop, Key: -1, F: a.rows.floats(k), Has: a.rows.bits(k), H: l.h}
		if err := emit(&out); err != nil {
			return err
		}
	}
	return nil
}

func (a *limits) Bytes() int64 {
	return a.rows.bytes() + a.heaps.bytes() + a.held + int64(4*a.count.held)
}

// Free gives the columns back.
func (a *limits) Free() {
	a.rows.f.free()
}
