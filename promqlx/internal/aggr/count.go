package aggr

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// counts are the groups of count and group. Histograms count.
type counts struct {
	base
	group bool
	has   column[uint64]
	whole column[uint32] // rows without gaps
	count column[uint32] // samples of others by step
	steps row.Bits
}

func newCounts(b base) *counts {
	return &counts{
		base: b, group: b.Op == parser.GROUP, has: newColumn[uint64](b.words),
		whole: newColumn[uint32](1), count: newColumn[uint32](b.n),
	}
}

func (a *counts) Add(g int, r *row.Row) {
	a.noteDrop(g, r, func(int) bool { return true })
	steps := r.Has
	if anyHistogram(r.H) {
		a.steps = append(a.steps[:0], r.Has...)
		for i, h := range r.H {
			if h != nil {
				a.steps.Set(i)
			}
		}
		steps = a.steps
	}
	has := a.has.at(g)
	for w, x := range steps {
		has[w] |= x
	}
	switch {
	case a.group:
	case a.isFull(steps):
		a.whole.at(g)[0]++
	default:
		countSteps(a.count.at(g), steps)
	}
}

func (a *counts) Finish(groups []labels.Labels, emit func(*row.Row) error) error {
	out := row.Row{F: make([]float64, a.n)}
	for g, ls := range groups {
		out.Has = a.has.at(g)
		whole := 1.0
		if !a.group {
			whole = float64(a.whole.at(g)[0])
		}
		for i := range out.F { // who had the row before may have changed it
			out.F[i] = whole
		}
		if !a.group {
			for i, n := range a.count.peek(g) {
				out.F[i] += float64(n)
			}
		}
		if err := a.emitGroup(g, ls, &out, emit); err != nil {
			return err
		}
	}
	a.finish()
	return nil
}

func (a *counts) Bytes() int64 { return int64(8*a.has.held + 4*(a.whole.held+a.count.held)) }
