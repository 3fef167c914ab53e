package exec

import (
	"context"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// subGrid returns the steps of a subquery: multiples of its step, from the
// first one inside the window of the first step of g to the end of the window of
// the last. (subqueryEvaluationTimes of Prometheus' engine.)
func subGrid(n *plan.Subquery, g row.Grid) row.Grid {
	off, end := n.Offset, g.End()
	if n.At != nil {
		off += g.Start - *n.At
		end = g.Start
	}
	from := g.Start - off - n.Range
	start := n.Step * (from / n.Step)
	if start <= from {
		start += n.Step
	}
	return row.GridOf(start, end-off, n.Step)
}

// subqueryAnswer evaluates a subquery that is the answer itself.
func (q *query) subqueryAnswer(ctx context.Context, n *plan.Subquery) (promql.Matrix, error) {
	g, count, err := q.below(q.whole(), subGrid(n, q.Grid), stats.SubqueryConsumer{})
	if err != nil {
		return nil, err
	}
	defer count()
	return q.series(ctx, n.Child, g)
}
