package binop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/row/rowtest"
)

// BenchmarkAgainstPrometheus joins 200 series of 500 steps, or 20,000 of one.
// Prometheus' engine gathers the samples besides, which is its query of the
// selector alone. Ours copies the rows, which the join takes, as steps does.
func BenchmarkAgainstPrometheus(b *testing.B) {
	engine, p := newEngine(false)
	for _, shape := range [][2]int{{200, 500}, {20_000, 1}} {
		n, steps := shape[0], shape[1]
		rng := rand.New(rand.NewPCG(1, 1))
		make := func(name string, n int) []*row.Row {
			var rows []*row.Row
			for i := range n {
				r := row.New(steps)
				r.Labels = labels.FromStrings("__name__", name, "a", fmt.Sprint(i%10), "i", fmt.Sprint(i), "job", "some-service")
				rowtest.Fill(rng, r, rowtest.Options{Steps: steps, Plain: true})
				rows = append(rows, r)
			}
			return rows
		}
		left, right, few := make("l", n), make("r", n), make("f", 10)
		grid := gridOf(steps)
		store := rowtest.Store(slices.Concat(left, right, few), grid)
		start, end := time.UnixMilli(grid.Start), time.UnixMilli(grid.End())
		prometheus := func(b *testing.B, query string) {
			b.ReportAllocs()
			for b.Loop() {
				q, err := engine.NewRangeQuery(context.Background(), store, nil, query, start, end, step)
				require.NoError(b, err)
				require.NoError(b, q.Exec(context.Background()).Err)
				q.Close()
			}
		}
		b.Run(fmt.Sprintf("selector/%dx%d/prometheus", n, steps), func(b *testing.B) { prometheus(b, "l") })
		for _, query := range []string{"l / r", "l / on (i) r", "l > r", "l == bool r", "l * on (a) group_left f", "l and r", "l or r", "l unless r", "l * 2"} {
			name := fmt.Sprintf("%s/%dx%d", query, n, steps)
			b.Run(name+"/prometheus", func(b *testing.B) { prometheus(b, query) })
			expr, err := p.ParseExpr(query)
			require.NoError(b, err)
			e := expr.(*parser.BinaryExpr)
			other := right
			if query == "l * on (a) group_left f" {
				other = few
			}
			for twin, run := range map[string]func(*Join, []*row.Row, []*row.Row) ([]*row.Row, error){"ours": (*Join).Run, "steps": (*Join).bySteps} {
				b.Run(name+"/"+twin, func(b *testing.B) {
					b.ReportAllocs()
					two := slices.Repeat([]float64{2}, steps)
					for b.Loop() {
						env := &row.Env{Grid: grid}
						if e.VectorMatching == nil {
							v := &VectorScalar{Op: e.Op, Env: env}
							for _, r := range clones(left) {
								v.Each(r, two)
							}
							continue
						}
						j := &Join{Op: e.Op, Matching: e.VectorMatching, Bool: e.ReturnBool, Env: env}
						_, err := run(j, clones(left), clones(other))
						require.NoError(b, err)
					}
				})
			}
		}
		b.Run(fmt.Sprintf("clones/%dx%d", n, steps), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				clones(left)
				clones(right)
			}
		})
	}
}
