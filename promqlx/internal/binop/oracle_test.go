package binop

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

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
	p := parser.NewParser(parser.Options{EnableExperimentalFunctions: true, EnableBinopFillModifiers: true})
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
	return answerOf(out, res.Warnings, nil, query, grid)
}

func answerOf(rows []*row.Row, annos annotations.Annotations, err error, query string, grid row.Grid) answer {
	if err != nil {
		return answer{err: err.Error()}
	}
	a := answer{rows: rowtest.Text(rows, !passes(query))}
	if grid.N > 1 {
		slices.Sort(a.rows)
	}
	warnings, infos := annos.AsStrings(query, 0, 0)
	a.annos = append(warnings, infos...)
	slices.Sort(a.annos)
	return a
}

// passes tells whether a query passes values on: then NaNs keep their bits. What
// is computed of two NaNs is one of them, which depends on the compiler.
func passes(query string) bool {
	return slices.ContainsFunc([]string{"==", "!=", "<", ">", "and", "or", "unless"}, func(op string) bool {
		return strings.Contains(query, " "+op+" ") || strings.Contains(query, " "+op+"= ")
	})
}

// roundsOf returns how many rounds to test of n.
func roundsOf(n int) int {
	if testing.Short() {
		return n / 10
	}
	return n
}

// late drops the names that are left to the end.
func late(env *row.Env, rows []*row.Row, err error) ([]*row.Row, error) {
	if err != nil || !env.DelayedNames {
		return rows, err
	}
	for _, r := range rows {
		if r.DropName {
			r.Labels = r.Labels.DropReserved(schema.IsMetadataLabel)
		}
	}
	return row.MergeSame(rows)
}

// side returns rows of the metrics name0 and name1, all of different labels.
// Many live for a part of the time only.
func side(rng *rand.Rand, name string, n int, o rowtest.Options) []*row.Row {
	seen := map[string]bool{}
	var rows []*row.Row
	wide := []int{4, 10}[rng.IntN(2)]
	widths := []int{1 + rng.IntN(wide), 1 + rng.IntN(wide), 1 + rng.IntN(wide)}
	metrics := 1 + rng.IntN(2)
	for range n {
		ls := labels.FromStrings("__name__", fmt.Sprint(name, rng.IntN(metrics)), "a", fmt.Sprint(rng.IntN(widths[0])),
			"b", fmt.Sprint(rng.IntN(widths[1])), "c", fmt.Sprint(rng.IntN(widths[2])))
		if rng.IntN(8) == 0 {
			ls = labels.NewBuilder(ls).Set("__type__", "counter").Set("__unit__", "s").Labels()
		}
		if seen[ls.String()] {
			continue
		}
		seen[ls.String()] = true
		r := row.New(o.Steps)
		r.Labels = ls
		rowtest.Fill(rng, r, o)
		if rng.IntN(2) == 0 {
			from := rng.IntN(o.Steps)
			to := from + 1 + rng.IntN(o.Steps-from)
			for i := range o.Steps {
				if i < from || i >= to {
					r.Has.Unset(i)
					if r.Histograms() {
						r.H[i] = nil
					}
				}
			}
		}
		if !r.Empty() {
			rows = append(rows, r)
		}
	}
	return rows
}

func clones(rows []*row.Row) []*row.Row {
	var out []*row.Row
	for _, r := range rows {
		out = append(out, r.Clone())
	}
	return out
}

// streamed joins with rows of the "many" side that are there one after another
// in the same memory.
func streamed(j *Join, left, right []*row.Row) ([]*row.Row, error) {
	many, one := left, right
	if j.oneLeft() {
		many, one = one, many
	}
	s := j.stream(one, 0)
	var out []*row.Row
	emit := func(r *row.Row) error {
		out = append(out, r.Clone())
		return nil
	}
	used := row.New(j.Env.Grid.N)
	for _, r := range many {
		used.Reset()
		used.Labels, used.DropName = r.Labels, r.DropName
		copy(used.F, r.F)
		copy(used.Has, r.Has)
		used.H = append(used.H, r.H...)
		if err := s.Add(used, emit); err != nil {
			return nil, err
		}
	}
	if len(one) > 0 && s.Bytes() <= 0 {
		panic("a stream takes memory")
	}
	if err := s.End(emit); err != nil {
		return nil, err
	}
	return j.mergeRows(out)
}

// pick returns one of the texts.
func pick(rng *rand.Rand, texts ...string) string { return texts[rng.IntN(len(texts))] }

// randomJoin returns a random query that joins l and r.
func randomJoin(rng *rand.Rand, l, r string) string {
	op := pick(rng, "+", "-", "*", "/", "%", "^", "atan2", "==", "!=", "<", ">", "<=", ">=", "== bool", "< bool",
		"+", "/", "==", "and", "or", "unless", "</", ">/")
	match := pick(rng, "", "on (a)", "on (a, b)", "ignoring (c)", "ignoring (b, c)", "on (a, b, c)", "on ()", "on (__name__, a)")
	switch op {
	case "and", "or", "unless":
		return fmt.Sprintf("%s %s %s %s", l, op, match, r)
	}
	if match != "" {
		match += " " + pick(rng, "", "", "group_left", "group_right", "group_left (c)", "group_right (c)", "group_left (__name__)")
		if match[:2] == "on" && (match[len(match)-3:] == "(c)" && match[4] == 'a' && len(match) > 10 && match[9] == 'c') {
			match = "on (a)"
		}
	}
	fill := pick(rng, "", "", "", "fill (0)", "fill_left (1)", "fill_right (2)", "fill (NaN)", "fill_left (1) fill_right (5)")
	return fmt.Sprintf("%s %s %s %s %s", l, op, match, fill, r)
}

func TestJoinAgainstPrometheus(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	rounds := roundsOf(10_000)
	var failed, annotated, filled int
	for _, delayed := range []bool{false, true} {
		engine, p := newEngine(delayed)
		for round := range rounds / 2 {
			rng := rand.New(rand.NewPCG(seed, uint64(round)))
			steps := []int{1, 1, 3, 20, 70}[round%5]
			o := rowtest.Options{Steps: steps, Gaps: 0.4 * float64(rng.IntN(3)), Histograms: 0.3 * float64(rng.IntN(2))}
			left, right := side(rng, "l", 1+rng.IntN(6), o), side(rng, "r", 1+rng.IntN(6), o)
			query := randomJoin(rng, `{__name__=~"l.*"}`, `{__name__=~"r.*"}`)
			expr, err := p.ParseExpr(query)
			if err != nil {
				continue
			}
			want := oracle(t, engine, slices.Concat(left, right), gridOf(steps), query)

			e := expr.(*parser.BinaryExpr)
			join := func() *Join {
				env := &row.Env{Grid: gridOf(steps), DelayedNames: delayed}
				return &Join{Op: e.Op, Matching: e.VectorMatching, Bool: e.ReturnBool, Pos: e.PositionRange(), Env: env}
			}
			slow := join()
			rows, err := slow.bySteps(clones(left), clones(right))
			rows, err = late(slow.Env, rows, err)
			got := answerOf(rows, slow.Env.Annos, err, query, slow.Env.Grid)
			require.Equal(t, want, got, "slow: seed %d round %d: %s", seed, round, query)

			fast := join()
			rows, err = fast.Run(clones(left), clones(right))
			rows, err = late(fast.Env, rows, err)
			got = answerOf(rows, fast.Env.Annos, err, query, fast.Env.Grid)
			require.Equal(t, want, got, "fast: seed %d round %d: %s", seed, round, query)

			stream := join()
			rows, err = streamed(stream, clones(left), clones(right))
			rows, err = late(stream.Env, rows, err)
			got = answerOf(rows, stream.Env.Annos, err, query, stream.Env.Grid)
			require.Equal(t, want, got, "stream: seed %d round %d: %s", seed, round, query)

			failed += min(1, len(want.err))
			annotated += min(1, len(want.annos))
			filled += min(1, len(want.rows))
		}
	}
	t.Logf("failed %d annotated %d with rows %d of %d", failed, annotated, filled, rounds)
	require.Greater(t, failed, rounds/100)
	require.Greater(t, annotated, rounds/100)
	require.Greater(t, filled, rounds/5)
}

func TestVectorScalarAgainstPrometheus(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for _, delayed := range []bool{false, true} {
		engine, p := newEngine(delayed)
		for round := range roundsOf(2000) {
			rng := rand.New(rand.NewPCG(seed, uint64(round)))
			steps := []int{1, 1, 3, 64, 70}[round%5]
			o := rowtest.Options{Steps: steps, Gaps: 0.4 * float64(rng.IntN(3)), Histograms: 0.3 * float64(rng.IntN(2))}
			rows := side(rng, "l", 1+rng.IntN(6), o)
			k := row.New(steps)
			k.Labels = labels.FromStrings("__name__", "k")
			for i := range steps {
				k.SetF(i, rowtest.Float(rng, false))
			}
			op := pick(rng, "+", "-", "*", "/", "%", "^", "atan2", "==", "!=", "<", ">", "<=", ">=", "!= bool", ">= bool", "</", ">/")
			a, b := `{__name__=~"l.*"}`, "scalar(k)"
			swap := rng.IntN(2) == 0
			if swap {
				a, b = b, a
			}
			query := fmt.Sprintf("%s %s %s", a, op, b)
			minus := rng.IntN(20) == 0
			if minus {
				query = `-{__name__=~"l.*"}`
			}
			expr, err := p.ParseExpr(query)
			require.NoError(t, err, query)
			want := oracle(t, engine, append(clones(rows), k), gridOf(steps), query)

			env := &row.Env{Grid: gridOf(steps), DelayedNames: delayed}
			var out []*row.Row
			var finish func() error
			if minus {
				for _, r := range clones(rows) {
					Minus(env, r)
					out = append(out, r)
				}
			} else {
				e := expr.(*parser.BinaryExpr)
				v := &VectorScalar{Op: e.Op, Swap: swap, Bool: e.ReturnBool, Pos: e.PositionRange(), Env: env}
				for _, r := range clones(rows) {
					if v.Each(r, k.F); !r.Empty() {
						out = append(out, r)
					}
				}
				finish = v.Finish
			}
			if finish != nil {
				require.NoError(t, finish())
			}
			err = nil
			if !delayed {
				out, err = row.MergeSame(out)
			}
			out, err = late(env, out, err)
			require.Equal(t, want, answerOf(out, env.Annos, err, query, env.Grid), "seed %d round %d: %s", seed, round, query)
		}
	}
}

func TestScalarsAgainstPrometheus(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	engine, p := newEngine(false)
	rng := rand.New(rand.NewPCG(seed, 0))
	for _, op := range []string{"+", "-", "*", "/", "%", "^", "atan2", "== bool", "!= bool", "< bool", "> bool", "<= bool", ">= bool"} {
		for _, steps := range []int{1, 63, 64, 129} {
			var rows []*row.Row
			for _, name := range []string{"x", "y"} {
				r := row.New(steps)
				r.Labels = labels.FromStrings("__name__", name)
				for i := range steps {
					r.SetF(i, rowtest.Float(rng, false))
				}
				rows = append(rows, r)
			}
			query := "scalar(x) " + op + " scalar(y)"
			expr, err := p.ParseExpr(query)
			require.NoError(t, err)
			want := oracle(t, engine, rows, gridOf(max(steps, 2)), query)
			out := row.New(max(steps, 2))
			out.Has.Fill(out.Steps())
			for _, r := range rows { // scalar() of no sample is NaN
				for len(r.F) < out.Steps() {
					r.F = append(r.F, math.NaN())
				}
			}
			Scalars(expr.(*parser.BinaryExpr).Op, rows[0].F, rows[1].F, out.F)
			require.Equal(t, want, answerOf([]*row.Row{out}, nil, nil, query, gridOf(out.Steps())), "seed %d: %s", seed, query)
		}
	}
}

// Set operators hand on which names go at the end, and where series take turns
// the earliest decides.
func TestSetsWithLateNames(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	engine, p := newEngine(true)
	for round := range roundsOf(2000) {
		rng := rand.New(rand.NewPCG(seed, uint64(round)))
		steps := []int{1, 3, 10}[round%3]
		o := rowtest.Options{Steps: steps, Gaps: 0.6, Histograms: 0.2}
		rows := side(rng, "m", 1+rng.IntN(8), o)
		query := fmt.Sprintf(`%s{__name__=~"m.*"} %s %s %s{__name__=~"m.*"}`, pick(rng, "", "-"),
			pick(rng, "and", "or", "unless", "or", "=="), pick(rng, "", "on (a)", "on (__name__, a, b, c)", "ignoring (c)"), pick(rng, "", "-"))
		expr, err := p.ParseExpr(query)
		require.NoError(t, err, query)
		want := oracle(t, engine, rows, gridOf(steps), query)
		e := expr.(*parser.BinaryExpr)
		operand := func(e parser.Expr, env *row.Env) []*row.Row {
			out := clones(rows)
			if _, negative := e.(*parser.UnaryExpr); negative {
				for _, r := range out {
					Minus(env, r)
				}
			}
			return out
		}
		for _, run := range []func(*Join, []*row.Row, []*row.Row) ([]*row.Row, error){(*Join).Run, (*Join).bySteps, streamed} {
			env := &row.Env{Grid: gridOf(steps), DelayedNames: true}
			j := &Join{Op: e.Op, Matching: e.VectorMatching, Bool: e.ReturnBool, Pos: e.PositionRange(), Env: env}
			out, err := run(j, operand(e.LHS, env), operand(e.RHS, env))
			out, err = late(env, out, err)
			require.Equal(t, want, answerOf(out, env.Annos, err, query, env.Grid), "seed %d round %d: %s", seed, round, query)
		}
	}
}

// A histogram whose buckets are not those of its spans fails the query, unless a
// later pair of the same step has an annotation.
func TestBrokenHistogram(t *testing.T) {
	engine, p := newEngine(false)
	good := func(schema int32) *histogram.FloatHistogram {
		return &histogram.FloatHistogram{Schema: schema, Count: 3, PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []float64{1, 2}}
	}
	broken := func(schema int32) *histogram.FloatHistogram {
		return &histogram.FloatHistogram{Schema: schema, Count: 3, PositiveSpans: []histogram.Span{{Length: 4}}, PositiveBuckets: []float64{1, 2}}
	}
	for _, last := range []float64{0, 1} {
		var rows []*row.Row
		for _, name := range []string{"l", "r"} {
			for k := range 2 {
				r := row.New(3)
				r.Labels = labels.FromStrings("__name__", name, "k", fmt.Sprint(k))
				for i := range 3 {
					switch {
					case name == "l":
						r.SetH(i, good(1))
					case i == 1 && k == 0:
						r.SetH(i, broken(2))
					case k == 1 && last == 1:
						r.SetF(i, 1)
					default:
						r.SetH(i, good(1))
					}
				}
				rows = append(rows, r)
			}
		}
		for _, query := range []string{"l + r", "l - r", "l == r"} {
			want := oracle(t, engine, rows, gridOf(3), query)
			if query != "l == r" && last == 0 {
				require.Contains(t, want.err, "spans")
			}
			expr, err := p.ParseExpr(query)
			require.NoError(t, err)
			e := expr.(*parser.BinaryExpr)
			for _, run := range []func(*Join, []*row.Row, []*row.Row) ([]*row.Row, error){(*Join).Run, (*Join).bySteps, streamed} {
				j := &Join{Op: e.Op, Matching: e.VectorMatching, Pos: e.PositionRange(), Env: &row.Env{Grid: gridOf(3)}}
				out, err := run(j, clones(rows[:2]), clones(rows[2:]))
				require.Equal(t, want, answerOf(out, j.Env.Annos, err, query, j.Env.Grid), query)
			}
		}
	}
}
