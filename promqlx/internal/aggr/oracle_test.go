package aggr_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/aggr"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/row/rowtest"
)

const step = 10 * time.Minute

func gridOf(steps int) row.Grid { return row.Grid{Start: 1e9, Step: step.Milliseconds(), N: steps} }

// answer is what an evaluation came to, as text.
type answer struct {
	rows  []string
	annos []string
	err   string
}

func newEngine(delayed bool) (*promql.Engine, parser.Parser) {
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples: math.MaxInt, Timeout: time.Minute, EnableDelayedNameRemoval: delayed, Parser: p,
	}), p
}

// oracle asks Prometheus' engine.
func oracle(t *testing.T, e *promql.Engine, rows []*row.Row, grid row.Grid, query string) answer {
	ctx := context.Background()
	store, at := rowtest.Store(rows, grid), time.UnixMilli(grid.Start)
	var q promql.Query
	var err error
	if grid.N == 1 {
		q, err = e.NewInstantQuery(ctx, store, nil, query, at)
	} else {
		q, err = e.NewRangeQuery(ctx, store, nil, query, at, time.UnixMilli(grid.End()), step)
	}
	require.NoError(t, err, query)
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return answer{err: res.Err.Error()}
	}
	var out []*row.Row
	switch v := res.Value.(type) {
	case promql.Vector:
		for _, s := range v {
			r := row.New(1)
			r.Labels = s.Metric
			r.SetAt(0, s.F, s.H)
			out = append(out, r)
		}
	case promql.Matrix:
		for _, s := range v {
			r := row.New(grid.N)
			r.Labels = s.Metric
			for _, p := range s.Floats {
				r.SetF(int((p.T-grid.Start)/grid.Step), p.F)
			}
			for _, p := range s.Histograms {
				r.SetH(int((p.T-grid.Start)/grid.Step), p.H)
			}
			out = append(out, r)
		}
	}
	return answerOf(out, res.Warnings, query, grid)
}

func answerOf(rows []*row.Row, annos annotations.Annotations, query string, grid row.Grid) answer {
	a := answer{rows: rowtest.Text(rows, computes(query))}
	if grid.N > 1 || strings.Contains(query, "count_values") {
		slices.Sort(a.rows)
	}
	warnings, infos := annos.AsStrings(query, 0, 0)
	a.annos = append(warnings, infos...)
	slices.Sort(a.annos)
	return a
}

// computes tells whether a query computes values, rather than choosing among
// them. What is computed of two NaNs is one of them, which depends on the
// compiler.
func computes(query string) bool {
	return slices.ContainsFunc([]string{"sum", "avg", "std", "quantile"}, func(op string) bool {
		return strings.HasPrefix(query, op)
	})
}

// specOf makes the spec of a query that is one aggregation.
func specOf(t *testing.T, p parser.Parser, query string, rows []*row.Row, steps int) aggr.Spec {
	expr, err := p.ParseExpr(query)
	require.NoError(t, err, query)
	e := expr.(*parser.AggregateExpr)
	spec := aggr.Spec{Op: e.Op, Without: e.Without, Pos: e.PosRange, ChildPos: e.Expr.PositionRange()}
	spec.Grouping = slices.Clone(e.Grouping)
	if e.Without {
		spec.Grouping = append(spec.Grouping, "__name__", "__type__", "__unit__")
	}
	slices.Sort(spec.Grouping)
	if e.Param == nil {
		return spec
	}
	spec.ParamPos = e.Param.PositionRange()
	spec.Param = make([]float64, steps)
	switch param := e.Param.(type) {
	case *parser.StringLiteral:
		spec.Text = param.Val
	case *parser.NumberLiteral:
		for i := range spec.Param {
			spec.Param[i] = param.Val
		}
	default: // scalar(k)
		for _, r := range rows {
			if r.Labels.Get("__name__") == "k" {
				copy(spec.Param, r.F)
			}
		}
	}
	return spec
}

// ours folds the rows that are not the parameter.
func ours(spec aggr.Spec, rows []*row.Row, env *row.Env, query string) answer {
	acc := aggr.New(spec, env)
	gr := aggr.NewGrouper(spec, nil)
	used := row.New(env.Grid.N)
	for _, r := range rows {
		if r.Labels.Get("__name__") == "k" {
			continue
		}
		// A row that the caller uses again must not be seen later.
		copy(used.F, r.F)
		copy(used.Has, r.Has)
		used.H = append(used.H[:0], r.H...)
		used.Labels, used.DropName = r.Labels, r.DropName
		acc.Add(gr.Group(used), used)
	}
	for i := range used.F {
		used.F[i] = 12345
	}
	return finish(acc, gr.Labels(), env, query)
}

func finish(acc aggr.Accumulator, groups []labels.Labels, env *row.Env, query string) answer {
	var out []*row.Row
	err := acc.Finish(groups, func(r *row.Row) error {
		out = append(out, r.Clone())
		return nil
	})
	if err == nil && env.DelayedNames {
		for _, r := range out {
			if r.DropName {
				r.Labels = r.Labels.DropReserved(schema.IsMetadataLabel)
			}
		}
		out, err = row.MergeSame(out)
	}
	if err != nil {
		return answer{err: err.Error()}
	}
	return answerOf(out, env.Annos, query, env.Grid)
}

// randomRows returns rows of three metrics with labels a (2 values), b (3
// values) and i (all different), and k, the parameter.
func randomRows(rng *rand.Rand, n int, o rowtest.Options) []*row.Row {
	rows := make([]*row.Row, n)
	for i := range rows {
		r := row.New(o.Steps)
		r.Labels = labels.FromStrings("__name__", fmt.Sprintf("m%d", rng.IntN(3)), "a", fmt.Sprint(rng.IntN(2)),
			"b", fmt.Sprint(rng.IntN(3)), "d", fmt.Sprint(rng.IntN(2)), "i", fmt.Sprint(i))
		if rng.IntN(8) == 0 {
			r.Labels = labels.NewBuilder(r.Labels).Set("__type__", "counter").Set("__unit__", "s").Labels()
		}
		rowtest.Fill(rng, r, o)
		rows[i] = r
	}
	return rows
}

func paramRow(steps int, value func(i int) float64) *row.Row {
	r := row.New(steps)
	r.Labels = labels.FromStrings("__name__", "k")
	for i := range steps {
		r.SetF(i, value(i))
	}
	return r
}

var operators = []string{
	"sum", "avg", "min", "max", "count", "group", "stddev", "stdvar",
	"quantile(0.5", "quantile(0.9", "quantile(0", "quantile(1", "quantile(1.5", "quantile(NaN", "quantile(scalar(k)",
	"topk(1", "topk(3", "topk(100", "topk(0", "topk(scalar(k)", "bottomk(1", "bottomk(2", "bottomk(7", "bottomk(scalar(k)",
	"topk(NaN", "topk(1e20", "bottomk(-Inf", "topk(+Inf",
	"limitk(1", "limitk(2", "limitk(5", "limitk(0", "limitk(scalar(k)", "limitk(NaN",
	"limit_ratio(0.5", "limit_ratio(-0.3", "limit_ratio(2", "limit_ratio(-3", "limit_ratio(0", "limit_ratio(scalar(k)", "limit_ratio(NaN",
	`count_values("v"`, `count_values("a"`, `count_values("__name__"`,
}

func queryOf(op, by, child string) string {
	if name, param, ok := strings.Cut(op, "("); ok {
		return fmt.Sprintf("%s %s (%s, %s)", name, by, param, child)
	}
	return fmt.Sprintf("%s %s (%s)", op, by, child)
}

func TestAgainstPrometheus(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	engine, p := newEngine(false)
	for round := range rounds() {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		steps := []int{1, 1, 2, 63, 64, 65, 200}[round%7]
		o := rowtest.Options{Steps: steps, Gaps: 0.3 * float64(rng.IntN(3)), Histograms: 0.2 * float64(rng.IntN(2)), Plain: rng.IntN(3) == 0}
		rows := randomRows(rng, 1+rng.IntN(40), o)
		ks := []float64{0, 1, 2, 3.7, -2, 0.4, -0.6, 1.2}
		if rng.IntN(3) == 0 {
			ks = append(ks, math.NaN(), math.Inf(1), math.Inf(-1), 1e20, -1e20)
		}
		rows = append(rows, paramRow(steps, func(int) float64 { return ks[rng.IntN(len(ks))] }))
		for _, op := range operators {
			for _, by := range []string{"", "by (a)", "by (a, b)", "by (__name__, __type__, __type__)", "without (b, i)", "without (a)"} {
				if testing.Short() && rng.IntN(4) > 0 {
					continue
				}
				query := queryOf(op, by, `{__name__=~"m.*"}`)
				env := &row.Env{Grid: gridOf(steps)}
				got := ours(specOf(t, p, query, rows, steps), rows, env, query)
				want := oracle(t, engine, rows, env.Grid, query)
				require.Equal(t, want, got, "seed %d round %d steps %d: %s", seed, round, steps, query)
			}
		}
	}
}

func rounds() int {
	if testing.Short() {
		return 7
	}
	return 14
}

// Names that go at the end go where the samples of the last step lost theirs.
func TestDelayedNames(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	engine, p := newEngine(true)
	const child = `{__name__=~"m.*",d="0"} or -{__name__=~"m.*",d="1"}`
	for round := range rounds() {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		steps := []int{1, 1, 5}[round%3]
		rows := randomRows(rng, 1+rng.IntN(12), rowtest.Options{Steps: steps, Gaps: 0.5, Histograms: 0.3})
		rows = append(rows, paramRow(steps, func(int) float64 { return 2 }))
		var plain, negative []*row.Row
		for _, r := range rows {
			if r.Labels.Get("d") == "1" {
				r = r.Clone()
				r.DropName = true
				for i := range r.F {
					if r.F[i] = -r.F[i]; r.HAt(i) != nil {
						r.H[i] = r.H[i].Copy().Mul(-1)
					}
				}
				negative = append(negative, r)
			} else {
				plain = append(plain, r)
			}
		}
		ops := operators
		if steps > 1 { // the order of rows is not defined
			ops = []string{"count", "group"}
		}
		for _, op := range ops {
			for _, by := range []string{"by (__name__)", "by (a)", "by (__name__, a)", "without (i)"} {
				query := queryOf(op, by, child)
				env := &row.Env{Grid: gridOf(steps), DelayedNames: true}
				got := ours(specOf(t, p, query, rows, steps), slices.Concat(plain, negative), env, query)
				want := oracle(t, engine, rows, env.Grid, query)
				require.Equal(t, want, got, "seed %d round %d steps %d: %s", seed, round, steps, query)
			}
		}
	}
}

func TestEmitFails(t *testing.T) {
	stop := errors.New("enough")
	rows := randomRows(rand.New(rand.NewPCG(1, 1)), 5, rowtest.Options{Steps: 3})
	for _, op := range []parser.ItemType{parser.SUM, parser.MAX, parser.COUNT, parser.STDDEV, parser.QUANTILE, parser.TOPK, parser.LIMITK, parser.COUNT_VALUES} {
		spec := aggr.Spec{Op: op, Param: []float64{1, 1, 1}, Text: "v"}
		acc, gr := aggr.New(spec, &row.Env{Grid: gridOf(3)}), aggr.NewGrouper(spec, nil)
		for _, r := range rows {
			acc.Add(gr.Group(r), r)
		}
		require.Positive(t, acc.Bytes(), op)
		require.ErrorIs(t, acc.Finish(gr.Labels(), func(*row.Row) error { return stop }), stop, op)
	}
}

// Groups known by number alone are numbered as they appear.
func TestGroupsByKey(t *testing.T) {
	gr := aggr.NewGrouper(aggr.Spec{Op: parser.SUM}, func(key int) labels.Labels {
		return labels.FromStrings("key", fmt.Sprint(key))
	})
	var got []int
	for _, key := range []int{7, 3, 7, 0, 3} {
		got = append(got, gr.Group(&row.Row{Key: key}))
	}
	require.Equal(t, []int{0, 1, 0, 2, 1}, got)
	require.Equal(t, []labels.Labels{labels.FromStrings("key", "7"), labels.FromStrings("key", "3"), labels.FromStrings("key", "0")}, gr.Labels())
}

// An evaluation without steps has no results and no errors but those of the
// parameter.
func TestNoSteps(t *testing.T) {
	for _, op := range []parser.ItemType{
		parser.SUM, parser.AVG, parser.MIN, parser.COUNT, parser.STDDEV, parser.QUANTILE, parser.TOPK, parser.LIMITK,
		parser.LIMIT_RATIO, parser.COUNT_VALUES,
	} {
		acc := aggr.New(aggr.Spec{Op: op, Text: "v"}, &row.Env{Grid: row.GridOf(1, 0, 1)})
		require.NoError(t, acc.Finish(nil, func(*row.Row) error { return errors.New("a row") }), op)
	}
}
