package exec

import (
	"context"
	"time"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/trace"
)

// traced is node, and tells the trace what came of it. Rows are taken as they are
// made, so that the time of a node has that of those above in it: it is told too.
func (q *query) traced(ctx context.Context, n plan.Node, g scope, emit func(*row.Row) error) error {
	t := g.trace.Start("%s", plan.Head(n))
	g.trace = t
	rows, above := 0, time.Duration(0)
	err := q.node(ctx, n, g, func(r *row.Row) error {
		rows++
		began := time.Now()
		err := emit(r)
		above += time.Since(began)
		return err
	})
	t.Donef("%d rows, whose use took %.3f ms of that", rows, float64(above.Microseconds())/1000)
	return err
}

// traceSelect begins the step in which the series of a leaf are found.
func (l *leaf) traceSelect() *trace.Span {
	if !l.scope.trace.Enabled() {
		return nil
	}
	return l.scope.trace.Start("select %s", plan.SelectorText(l.sel))
}

// traceRead tells what was read of the series.
func (l *leaf) traceRead() {
	if l.scope.trace.Enabled() {
		l.scope.trace.Printf("read %d samples of %d series, knew %d by statistics", l.read, l.series.len(), l.known)
	}
}
