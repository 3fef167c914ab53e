package aggr_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/aggr"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/row/rowtest"
)

// BenchmarkAgainstPrometheus folds 200 series of 500 steps, or 20,000 of one.
// Prometheus' engine gathers the samples besides, which is its query of the
// selector alone.
func BenchmarkAgainstPrometheus(b *testing.B) {
	engine, p := newEngine(false)
	for _, shape := range [][2]int{{200, 500}, {20_000, 1}} {
		n, steps := shape[0], shape[1]
		rng := rand.New(rand.NewPCG(1, 1))
		var rows []*row.Row
		for i := range n {
			r := row.New(steps)
			r.Labels = labels.FromStrings("__name__", "m", "a", fmt.Sprint(i%10), "i", fmt.Sprint(i))
			rowtest.Fill(rng, r, rowtest.Options{Steps: steps, Plain: true})
			rows = append(rows, r)
		}
		grid := gridOf(steps)
		store, start, end := rowtest.Store(rows, grid), time.UnixMilli(grid.Start), time.UnixMilli(grid.End())
		prometheus := func(b *testing.B, query string) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := engine.NewRangeQuery(context.Background(), store, nil, query, start, end, step)
				require.NoError(b, err)
				require.NoError(b, q.Exec(context.Background()).Err)
				q.Close()
			}
		}
		b.Run(fmt.Sprintf("selector/%dx%d/prometheus", n, steps), func(b *testing.B) { prometheus(b, "m") })
		for _, query := range []string{
			"sum by (a) (m)", "avg by (a) (m)", "max (m)", "count (m)", "stddev by (a) (m)", "quantile by (a) (0.9, m)",
			"topk (5, m)", "limitk (5, m)", "sum by (i) (m)",
		} {
			name := fmt.Sprintf("%s/%dx%d", query, n, steps)
			b.Run(name+"/prometheus", func(b *testing.B) { prometheus(b, query) })
			b.Run(name+"/ours", func(b *testing.B) {
				b.ReportAllocs()
				expr, err := p.ParseExpr(query)
				require.NoError(b, err)
				e := expr.(*parser.AggregateExpr)
				spec := aggr.Spec{Op: e.Op, Grouping: e.Grouping}
				if e.Param != nil {
					for range steps {
						spec.Param = append(spec.Param, e.Param.(*parser.NumberLiteral).Val)
					}
				}
				for b.Loop() {
					acc, gr := aggr.New(spec, &row.Env{Grid: grid}), aggr.NewGrouper(spec, nil)
					for _, r := range rows {
						acc.Add(gr.Group(r), r)
					}
					require.NoError(b, acc.Finish(gr.Labels(), func(*row.Row) error { return nil }))
				}
			})
		}
	}
}
