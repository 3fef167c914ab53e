package exec

import (
	"context"

	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// smoothed evaluates a smoothed instant vector selector, as a function over a
// window around each step.
func (q *query) smoothed(ctx context.Context, n *plan.Instant, g scope, emit func(*row.Row) error) error {
	w := &windows{q: q, scope: g, fn: rollup.SmoothedInstant(), fixed: n.At != nil}
	w.n = &plan.Rollup{Pos: n.Pos, Selector: &n.Selector}
	w.in = rollup.Input{
		Offset: offset(&n.Selector, g.Grid), Smoothed: true, Pos: n.Position(),
		ArgPos: []posrange.PositionRange{n.Position()}, Env: q.env(g.Grid),
	}
	return w.overSeries(ctx, emit)
}
