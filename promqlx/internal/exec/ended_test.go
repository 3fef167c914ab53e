package exec

import (
	"context"
	"sync/atomic"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// ending is a context that ends when it was asked n times whether it has.
type ending struct {
	context.Context
	n, asked atomic.Int64
}

func (e *ending) Err() error {
	if e.asked.Add(1) > e.n.Load() {
		return context.Canceled
	}
	return nil
}

// What works on whole vectors looks now and then whether the query is to end.
func TestWholeVectorsEnd(t *testing.T) {
	store := fillStore(t, 800)
	sel := func() plan.Node { return &plan.Instant{Selector: named("m1")} }
	text := func(s string) plan.Node { return &plan.Text{Value: s} }
	call := func(name string, args ...plan.Node) plan.Node {
		return &plan.Call{Func: name, Args: args, ArgPos: make([]plan.Pos, len(args))}
	}
	ask := func(n plan.Node, limit int64) (int64, error) {
		ctx := &ending{Context: t.Context()}
		ctx.n.Store(limit)
		_, answer, _, err := Run(ctx, n, Params{
			Queryable: store, Grid: row.GridOf(30*minute, 30*minute, 1), Instant: true, Lookback: 5 * minute,
			Meter: &free{}, Memory: memory, Stats: stats.NewQuerySamples(false), Workers: 1,
		})
		answer.Free()
		return ctx.asked.Load(), err
	}
	reading, err := ask(sel(), 1<<40)
	require.NoError(t, err)
	f := func(n plan.Node, leaves, loops int64) {
		t.Helper()
		all, err := ask(n, 1<<40)
		require.NoError(t, err)
		require.Greater(t, all, leaves*reading+loops*(700/64), "one look for 64 rows of each loop")
		for limit := int64(0); limit < all; limit += 3 {
			asked, err := ask(n, limit)
			require.ErrorContains(t, err, "canceled")
			require.Less(t, asked, limit+10, "nothing goes on for long")
		}
	}
	on := &parser.VectorMatching{On: true, MatchingLabels: []string{"host"}}
	f(&plan.Binary{Op: parser.ADD, Left: sel(), Right: sel(), Matching: on}, 2, 2)
	f(call("label_replace", sel(), text("x"), text("$1"), text("host"), text("(.*)")), 1, 2)
	f(call("label_join", sel(), text("x"), text("-"), text("host")), 1, 2)
	f(call("sort_by_label", sel(), text("host")), 1, 6)
	f(call("histogram_quantile", &plan.Number{Value: 0.5}, call("label_replace", sel(), text("le"), text("$1"), text("host"), text("h(.*)"))), 1, 3)
	f(&plan.Aggregate{Op: parser.SUM, Child: sel(), Grouping: []string{"host"}}, 1, 1)
}
