package promql_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
	front "github.com/varvedb/varve/promqlx/internal/promql"
)

var parse = parser.NewParser(parser.Options{
	EnableExperimentalFunctions: true,
	EnableBinopFillModifiers:    true,
	EnableUnquotedUTF8Names:     true,
})

// rarities are expressions that the built-in tests do not have.
var rarities = []string{
	`1`, `-1`, `+x`, `-x`, `-(-x)`, `1 + 2`, `1 + 2 * -(3)`, `"text"`, `(("text"))`,
	`x`, `x @ 5`, `x @ start()`, `x @ end() offset 1m`, `x offset -3m`, `x smoothed`,
	`x[5m]`, `x[5m] @ 7`, `x[5m:1m]`, `x[5m:] @ 3 offset 1m`, `(x[5m])`,
	`rate(x[5m])`, `rate((x[5m]))`, `rate(x[5m] @ 9)`, `rate(x[5m] anchored)`, `increase(x[5m] smoothed)`,
	`predict_linear(x[5m] @ 9, 10)`, `predict_linear(x[5m], scalar(y @ 3))`,
	`quantile_over_time(scalar(q), x[5m])`, `quantile_over_time(0.5, x[5m:30s] @ end())`,
	`timestamp(x)`, `timestamp((x))`, `timestamp(x @ 5)`, `timestamp(x @ 5 offset 1s)`, `timestamp(abs(x @ 5))`,
	`start_timestamp(x @ 5)`, `start_timestamp(abs(x))`, `timestamp(-x)`,
	`time()`, `time() - x`, `hour()`, `hour(x @ 5)`, `vector(time())`, `vector(1)`,
	`sum(x)`, `sum((x))`, `sum by (b, a) (x)`, `sum without (b, a) ((x @ 3))`,
	`topk(2, x)`, `topk((2), x)`, `topk(scalar(y), x @ 1)`, `topk(scalar(y @ 10), x)`, `topk(scalar((y)), x @ 1)`,
	`topk(scalar(y @ start()), x)`, `topk(scalar(sum((y @ end()))), x)`, `topk(1 + 1, x)`, `topk(start() / 100, x)`,
	`topk(scalar(timestamp((y))), x)`, `topk(scalar(timestamp(y @ 3)), x)`, `topk(scalar(absent((y{a="b"}))), x)`,
	`topk(scalar(sum_over_time(y[5m:1m] @ 100)), x)`, `topk(scalar(sum_over_time((y @ 100)[5m:1m])), x)`,
	`count_values("v", x)`, `count_values(("v"), x @ 5)`, `count_values("bad\xff", x)`,
	`absent(x{a="b"})`, `absent((x{a="b"}))`, `absent(x{a="b",a="c",c="d"} @ 5)`, `absent(sum(x{a="b"}))`,
	`absent_over_time(x{a="b"}[5m])`, `absent_over_time(x{a="b"}[5m:1m])`, `absent_over_time(x{__type__="b",c=~"d"}[5m])`,
	`label_replace(x, ("a"), "b", "c", ".*")`, `label_join(x @ 2, "a", "b", "c")`,
	`x + y`, `x @ 3 + y`, `x @ 3 + y @ 4`, `(x @ 3) + (1)`, `1 + (x)`, `x + on (a) group_left (b) y`, `x and y`, `x > bool 3`,
	`sum_over_time(x[5m:1m])`, `sum_over_time((x @ 3)[5m:1m])`, `sum_over_time(sum(x @ 3)[5m:1m] @ 5)`,
	`sum_over_time(vector(1)[5m:1m])`, `max_over_time(sum_over_time(x[5m:1m] offset 3m)[1h:7m] @ 500 offset 10m)`,
	`start()`, `end() - start()`, `vector(range())`, `vector(step())`, `x + start()`,
	`info(x)`, `info(x @ 5)`, `info(x, {build=~".+"})`, `info(x, {__name__!="b"})`, `info(x @ 5, {__name__=~"b"})`,
	`info(x @ 5 + y @ 6)`, `info(x offset 5s + y offset 5s)`, `info(sum_over_time(x[5m:1m] offset 10m))`, `info(vector(1))`,
	`info(x @ 5 or vector(1))`, `info(sum_over_time(x[5m:1m] @ 100 offset 10m) + y @ 100 offset 10m)`, `info(info(x @ 1))`,
	`histogram_count(x)`, `histogram_count(rate(x[5m]))`, `histogram_count(sum_over_time(x[5m:1m]))`,
	`histogram_quantile(0.9, histogram_sum(x))`, `histogram_sum(x) == histogram_sum(y)`, `count_values("a", histogram_sum(x))`,
	`histogram_avg(changes(x[5m]))`, `histogram_quantiles(x, "q", 0.1, 0.2)`,
	`x[5m + 1m]`, `rate(x[2 * 3m])`, `x offset (1h / 2)`, `x offset -(1h)`, `rate(x[step()])`, `rate(x[range()])`, `rate(x[max_of(step(), 5s)])`,
	`x offset step()`, `sum_over_time(x[10m:step()])`, `sum_over_time(x[10m:1m+1m] offset (1m % 7))`, `x offset 2 ^ 3`,
	`rate(x[5m-5m])`, `rate(x[1/(step()-step())])`, `rate(x[5m % (range()-range())])`, `x offset (9e8 * 9e8)`, `x offset (9e8 ^ 99)`, `x offset (0-9e8 * 9e8)`,
	`x offset ((0-9) ^ 0.5)`, `rate(x[9e6 ^ 9e6])`, `sum_over_time(x[5m:1m-2m])`,
	`sum_over_time(x[0-1m:1m/(0*step())])`, `rate(x[1m-2m] offset (1/(0*step())))`, `sum_over_time((x offset (1%(0*step())))[5m-6m:1m])`,
}

// grids are the times that expressions are planned for.
var grids = []front.Options{
	{Start: time.Unix(1000, 0), End: time.Unix(1000, 0)},
	{Start: time.Unix(1000, 0), End: time.Unix(2000, 0), Step: 30 * time.Second},
	{Start: time.Unix(1000, 0), End: time.Unix(1000, 0), Step: time.Minute},
	{Start: time.UnixMilli(1234), End: time.UnixMilli(98765), Step: 1500 * time.Millisecond},
}

// expressions returns the texts that plans are tested with: those of Prometheus'
// built-in tests (promqltest.GetBuiltInExprs of v0.316.0, Apache-2.0), one quoted
// string a line, and the rarities.
func expressions(t *testing.T) []string {
	data, err := os.ReadFile("testdata/builtin.txt")
	require.NoError(t, err)
	exprs := rarities
	for line := range strings.Lines(string(data)) {
		text, err := strconv.Unquote(strings.TrimSpace(line))
		require.NoError(t, err)
		exprs = append(exprs, text)
	}
	return exprs
}

// TestSameAsUpstream compares plans with what PreprocessExpr of Prometheus'
// engine makes of the same texts: nodes, positions, times, and above all what is
// evaluated once.
func TestSameAsUpstream(t *testing.T) {
	refused, planned := map[string]bool{}, 0
	for _, text := range expressions(t) {
		_, err := parse.ParseExpr(text)
		require.NoError(t, err)
		for _, opts := range grids {
			if err := same(t, text, opts); err != nil {
				refused[err.Error()] = true
			} else {
				planned++
			}
		}
	}
	require.Greater(t, planned, 6000)
	require.Greater(t, len(refused), 15, refused)
}

// TestComposedSameAsUpstream does so for expressions put into one another at
// random.
func TestComposedSameAsUpstream(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	texts := expressions(t)
	around := []string{
		`topk(scalar(%s), %s)`, `quantile(%s, %s)`, `sum_over_time((%s)[5m:1m])`, `max_over_time(%s[1h:] @ end() offset 1m)`,
		`info(%s)`, `info(%s, {a="b"})`, `(%s) + on () (%s)`, `%s * %s`, `-(%s)`, `timestamp((%s))`, `absent(%s)`,
		`clamp(%s, scalar(%s), 3)`, `predict_linear((%s)[5m:1m] @ 3, scalar(%s))`, `sum by (a) (%s)`, `histogram_count(%s)`,
		`%s == %s`, `vector(%s)`, `hour(%s)`, `count_values("v", (%s))`, `label_replace(%s, "a", "b", "c", "d")`, `%s @ 1234`,
	}
	compared := 0
	for range 20_000 {
		text := texts[rnd.IntN(len(texts))]
		for range 1 + rnd.IntN(4) {
			outer := around[rnd.IntN(len(around))]
			args := []any{text}
			if strings.Count(outer, "%s") == 2 {
				args = append(args, texts[rnd.IntN(len(texts))])
				if rnd.IntN(2) == 0 {
					args[0], args[1] = args[1], args[0]
				}
			}
			next := fmt.Sprintf(outer, args...)
			if _, err := parse.ParseExpr(next); err == nil {
				text = next
			}
		}
		if same(t, text, grids[rnd.IntN(len(grids))]) == nil {
			compared++
		}
	}
	require.Greater(t, compared, 10_000)
}

// same holds the plan of text equal to what Prometheus' engine makes of it. It
// returns their error.
func same(t *testing.T, text string, opts front.Options) error {
	expr, err := parse.ParseExpr(text)
	require.NoError(t, err)
	before := expr.String()
	got, gotErr := front.Plan(expr, opts)
	require.Equal(t, before, expr.String(), "the expression was changed")

	want, wantErr := preprocess(t, text, opts)
	if wantErr != nil {
		require.EqualError(t, gotErr, wantErr.Error(), text)
		return wantErr
	}
	require.NoError(t, gotErr, text)
	require.Equal(t, want.Type(), got.Type(), text)
	require.Equal(t, (&shaper{}).expr(want), planShape(got), text)
	sameRanges(t, text, want, got, opts)
	return nil
}

// sameRanges holds the range of all samples that a plan reads equal to that
// which Prometheus' engine opens.
func sameRanges(t *testing.T, text string, expr parser.Expr, n plan.Node, opts front.Options) {
	const lookback = 5 * time.Minute
	cutInfo(expr)
	wantMin, wantMax := promql.FindMinMaxTime(&parser.EvalStmt{
		Expr: expr, Start: opts.Start, End: opts.End, Interval: opts.Step, LookbackDelta: lookback,
	})
	var gotMin, gotMax int64
	for i, r := range plan.Ranges(n, opts.Start.UnixMilli(), opts.End.UnixMilli(), lookback.Milliseconds()) {
		if i == 0 {
			gotMin, gotMax = r.Min, r.Max
		}
		gotMin, gotMax = min(gotMin, r.Min), max(gotMax, r.Max)
	}
	require.Equal(t, []int64{wantMin, wantMax}, []int64{gotMin, gotMax}, text)
}

// cutInfo takes the second argument of info away: FindMinMaxTime counts it as a
// selector, though nobody reads it.
func cutInfo(expr parser.Expr) {
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if call, ok := n.(*parser.Call); ok && call.Func.Name == "info" {
			call.Args = call.Args[:1]
		}
		return nil
	})
}

// preprocess does what NewInstantQuery and NewRangeQuery do to a text.
func preprocess(t *testing.T, text string, opts front.Options) (parser.Expr, error) {
	expr, err := parse.ParseExpr(text)
	require.NoError(t, err)
	if opts.Step != 0 && expr.Type() != parser.ValueTypeVector && expr.Type() != parser.ValueTypeScalar {
		return nil, fmt.Errorf("invalid expression type %q for range query, must be Scalar or instant Vector", parser.DocumentedType(expr.Type()))
	}
	return promql.PreprocessExpr(expr, opts.Start, opts.End, opts.Step)
}

// shaper writes preprocessed expressions as planShape writes plans.
type shaper struct {
	param int // depth in parameters of aggregations
}

func (s *shaper) expr(e parser.Expr) string {
	switch n := e.(type) {
	case *parser.StepInvariantExpr:
		return "once(" + s.expr(n.Expr) + ")"
	case *parser.ParenExpr:
		return s.expr(n.Expr)
	case *parser.UnaryExpr:
		if n.Op == parser.ADD {
			return s.expr(n.Expr)
		}
		return "minus" + at(n.PositionRange()) + "(" + s.expr(n.Expr) + ")"
	case *parser.NumberLiteral:
		return fmt.Sprint("number", at(n.PosRange), n.Val)
	case *parser.StringLiteral:
		return fmt.Sprintf("text%s%q", at(n.PosRange), n.Val)
	case *parser.VectorSelector:
		return "instant" + at(n.PosRange) + s.selector(n) + s.drift(n)
	case *parser.MatrixSelector:
		return "matrix" + at(n.PositionRange()) + s.selector(n.VectorSelector.(*parser.VectorSelector)) + fmt.Sprint(n.Range.Milliseconds())
	case *parser.SubqueryExpr:
		return s.subquery(n)
	case *parser.BinaryExpr:
		return fmt.Sprintf("binary%s%s(%s,%s)%s%v", at(n.PositionRange()), n.Op, s.expr(n.LHS), s.expr(n.RHS), matching(n.VectorMatching), n.ReturnBool)
	case *parser.AggregateExpr:
		return s.aggregate(n)
	case *parser.Call:
		return s.call(n)
	}
	panic(fmt.Sprintf("%T", e))
}

func (s *shaper) drift(n *parser.VectorSelector) string {
	if s.param > 0 && n.Timestamp != nil {
		return "drift"
	}
	return ""
}

func (s *shaper) selector(n *parser.VectorSelector) string {
	return sel(n.LabelMatchers, n.OriginalOffset.Milliseconds(), n.Timestamp, n.Anchored, n.Smoothed, n.SkipHistogramBuckets)
}

func (s *shaper) subquery(n *parser.SubqueryExpr) string {
	step := n.Step.Milliseconds()
	if step == 0 {
		step = 60000
	}
	return fmt.Sprintf("subquery%s(%s)%d:%d:%d%s", at(n.PositionRange()), s.expr(n.Expr), n.Range.Milliseconds(), step, n.OriginalOffset.Milliseconds(), when(n.Timestamp))
}

func (s *shaper) aggregate(n *parser.AggregateExpr) string {
	var b strings.Builder
	fmt.Fprint(&b, n.Op, at(n.PosRange), n.Without, len(n.Grouping))
	if n.Param != nil {
		s.param++
		fmt.Fprintf(&b, "(%s)%s", s.expr(n.Param), at(n.Param.PositionRange()))
		s.param--
	}
	fmt.Fprintf(&b, "(%s)%s", s.expr(n.Expr), at(n.Expr.PositionRange()))
	return b.String()
}

func (s *shaper) call(n *parser.Call) string {
	name := n.Func.Name
	if vs, ok := first(n.Args).(*parser.VectorSelector); ok && (name == "timestamp" || name == "start_timestamp") {
		return name + at(n.PosRange) + at(vs.PosRange) + s.selector(vs)
	}
	if name == "info" {
		return "info" + at(n.PosRange) + "(" + s.expr(n.Args[0]) + ")"
	}
	var b strings.Builder
	fmt.Fprint(&b, name, at(n.PosRange))
	for i := range n.Args {
		p := n.Args[i].PositionRange()
		arg := s.expr(n.Args[i])
		switch m := unparen(n.Args[i]).(type) {
		case *parser.MatrixSelector:
			p = m.PositionRange()
			arg = "range" + at(m.VectorSelector.PositionRange()) + s.selector(m.VectorSelector.(*parser.VectorSelector)) + fmt.Sprint(m.Range.Milliseconds())
		case *parser.SubqueryExpr:
			p = posrange.PositionRange{} // as evalSubquery leaves it
			arg = s.expr(m)
		}
		fmt.Fprintf(&b, "(%s)%s", arg, at(p))
	}
	return b.String()
}

func first(args parser.Expressions) parser.Expr {
	if len(args) == 0 {
		return nil
	}
	return args[0]
}

func unparen(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

func at(p posrange.PositionRange) string { return fmt.Sprintf("<%d:%d>", p.Start, p.End) }

func when(t *int64) string {
	if t == nil {
		return ""
	}
	return fmt.Sprint("@", *t)
}

func matching(m *parser.VectorMatching) string {
	if m == nil {
		return ""
	}
	s := fmt.Sprint(m.Card, m.On, m.MatchingLabels, m.Include)
	for _, fill := range []*float64{m.FillValues.LHS, m.FillValues.RHS} {
		if fill != nil {
			s += fmt.Sprint(" fill ", *fill)
		}
	}
	return s
}

func sel(ms []*labels.Matcher, offset int64, ts *int64, anchored, smoothed, stats bool) string {
	return fmt.Sprint(ms, offset, when(ts), anchored, smoothed, stats)
}

// planShape writes a plan.
func planShape(n plan.Node) string {
	switch n := n.(type) {
	case *plan.Once:
		return "once(" + planShape(n.Child) + ")"
	case *plan.Minus:
		return "minus" + at(n.Position()) + "(" + planShape(n.Child) + ")"
	case *plan.Number:
		return fmt.Sprint("number", at(n.Position()), n.Value)
	case *plan.Text:
		return fmt.Sprintf("text%s%q", at(n.Position()), n.Value)
	case *plan.Instant:
		s := "instant"
		if n.Time != "" {
			s = n.Time + at(n.TimePos.Position())
		}
		s += at(n.Position()) + planSelector(&n.Selector)
		if n.Drift {
			s += "drift"
		}
		return s
	case *plan.Matrix:
		return "matrix" + at(n.Position()) + planSelector(&n.Selector) + fmt.Sprint(n.Range)
	case *plan.Subquery:
		return fmt.Sprintf("subquery%s(%s)%d:%d:%d%s", at(n.Position()), planShape(n.Child), n.Range, n.Step, n.Offset, when(n.At))
	case *plan.Binary:
		return fmt.Sprintf("binary%s%s(%s,%s)%s%v", at(n.Position()), n.Op, planShape(n.Left), planShape(n.Right), matching(n.Matching), n.Bool)
	case *plan.Aggregate:
		grouping := len(n.Grouping)
		if n.Without {
			grouping -= 3
		}
		s := fmt.Sprint(n.Op, at(n.Position()), n.Without, grouping)
		if n.Param != nil {
			s += fmt.Sprintf("(%s)%s", planShape(n.Param), at(n.ParamPos.Position()))
		}
		return s + fmt.Sprintf("(%s)%s", planShape(n.Child), at(n.ChildPos.Position()))
	case *plan.Info:
		return "info" + at(n.Position()) + "(" + planShape(n.Child) + ")"
	case *plan.Call:
		s := n.Func + at(n.Position())
		for i, arg := range n.Args {
			s += fmt.Sprintf("(%s)%s", planShape(arg), at(n.ArgPos[i].Position()))
		}
		return s
	case *plan.Rollup:
		return rollupShape(n)
	}
	panic(fmt.Sprintf("%T", n))
}

func rollupShape(n *plan.Rollup) string {
	s := n.Func + at(n.Position())
	args := n.Args
	for i, p := range n.ArgPos {
		var arg string
		switch {
		case i != n.RangeArg:
			arg, args = planShape(args[0]), args[1:]
		case n.Subquery != nil:
			arg = planShape(n.Subquery)
		default:
			arg = "range" + at(n.Selector.Position()) + planSelector(n.Selector) + fmt.Sprint(n.Range)
		}
		s += fmt.Sprintf("(%s)%s", arg, at(p.Position()))
	}
	return s
}

func planSelector(s *plan.Selector) string {
	return sel(s.Matchers, s.Offset, s.At, s.Anchored, s.Smoothed, s.StatsOnly)
}
