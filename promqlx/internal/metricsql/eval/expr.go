package eval

import (
	"fmt"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/aggr"
	"github.com/varvedb/varve/promqlx/internal/metricsql/rollup"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/transform"
)

// expr evaluates an expression. Its series are counted as held until the expression
// around it is evaluated.
func (q *query) expr(s Scope, e mql.Expr) ([]*series.Series, error) {
	if err := q.pause(); err != nil {
		return nil, err
	}
	since := q.used()
	all, err := q.traced(s, e)
	if err != nil {
		return nil, err
	}
	return all, q.settle(since, len(all), s.grid())
}

func (q *query) traced(s Scope, e mql.Expr) ([]*series.Series, error) {
	if !q.Trace.Enabled() {
		return q.untraced(s, e)
	}
	outer := q.Trace
	q.Trace = outer.Start("eval: query=%s, start=%d, end=%d, step=%d", e.AppendString(nil), s.Start, s.End, s.Step)
	all, err := q.untraced(s, e)
	q.Trace.Donef("%d series", len(all))
	q.Trace = outer
	return all, err
}

func (q *query) untraced(s Scope, e mql.Expr) ([]*series.Series, error) {
	switch e := e.(type) {
	case *mql.MetricExpr:
		return q.selected(s, e, &mql.RollupExpr{Expr: e})
	case *mql.RollupExpr:
		return q.selected(s, e, e)
	case *mql.FuncExpr:
		if rollup.Known(e.Name) {
			return q.rollupFunc(s, e)
		}
		return q.transform(s, e)
	case *mql.AggrFuncExpr:
		return q.aggregate(s, e)
	case *mql.BinaryOpExpr:
		return q.binary(s, e)
	case *mql.NumberExpr:
		return number(s, e.N), nil
	case *mql.StringExpr:
		return text(s, e.S), nil
	case *mql.DurationExpr:
		return number(s, float64(e.Duration(s.Step))/1000), nil
	}
	return nil, fmt.Errorf("unexpected expression %q", e.AppendString(nil))
}

// selected evaluates a selector without a function.
func (q *query) selected(s Scope, e mql.Expr, r *mql.RollupExpr) ([]*series.Series, error) {
	all, err := q.rollup(s, &call{f: rollup.Default(), expr: e, arg: r})
	if err != nil {
		return nil, &about{"cannot evaluate", e, err}
	}
	return all, nil
}

// rollupFunc evaluates a function over windows.
func (q *query) rollupFunc(s Scope, e *mql.FuncExpr) ([]*series.Series, error) {
	args, arg, err := q.rollupArgs(s, e)
	if err != nil {
		return nil, err
	}
	f, err := rollup.New(e, args)
	if err != nil {
		return nil, &about{"cannot evaluate args for", e, err}
	}
	all, err := q.rollup(s, &call{f: f, expr: e, arg: arg})
	if err != nil {
		return nil, &about{"cannot evaluate", e, err}
	}
	return all, nil
}

// rollupArgs evaluates the arguments of a function over windows but that with the
// windows, which it returns.
func (q *query) rollupArgs(s Scope, e *mql.FuncExpr) (args [][]*series.Series, arg *mql.RollupExpr, err error) {
	at := mql.GetRollupArgIdx(e)
	if len(e.Args) <= at {
		return nil, nil, fmt.Errorf("expecting at least %d args to %q; got %d args; expr: %q", at+1, e.Name, len(e.Args), e.AppendString(nil))
	}
	args = make([][]*series.Series, len(e.Args))
	for i, a := range e.Args {
		if i == at {
			arg = windowed(a)
			continue
		}
		if args[i], err = q.expr(s, a); err != nil {
			return nil, nil, &about{fmt.Sprintf("cannot evaluate arg #%d for", i+1), e, err}
		}
	}
	return args, arg, nil
}

// windowed makes an argument one with windows: m[w:step] is a subquery over
// default_rollup(m).
func windowed(arg mql.Expr) *mql.RollupExpr {
	r, ok := arg.(*mql.RollupExpr)
	if !ok {
		return &mql.RollupExpr{Expr: arg}
	}
	m, ok := r.Expr.(*mql.MetricExpr)
	if !ok || !r.ForSubquery() {
		return r
	}
	sub := *r
	sub.Expr = &mql.FuncExpr{Name: "default_rollup", Args: []mql.Expr{&mql.RollupExpr{Expr: m}}}
	return &sub
}

func (q *query) transform(s Scope, e *mql.FuncExpr) ([]*series.Series, error) {
	if !transform.Known(e.Name) {
		return nil, readablef(`unknown func %q`, e.Name)
	}
	args, err := q.each(s, e.Args)
	if err != nil {
		return nil, err
	}
	all, err := transform.Eval(&transform.Call{Expr: e, Grid: s.grid(), End: s.End, Args: args, Now: q.Now, Pace: &q.pace, Hold: q.holding(s), HoldText: q.holdText})
	if err != nil {
		return nil, readable{&about{"cannot evaluate", e, err}}
	}
	return all, nil
}

// each evaluates several expressions.
func (q *query) each(s Scope, es []mql.Expr) (all [][]*series.Series, err error) {
	for _, e := range es {
		one, err := q.expr(s, e)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (q *query) aggregate(s Scope, e *mql.AggrFuncExpr) ([]*series.Series, error) {
	if fold := aggr.NewFold(e, s.grid().N); fold != nil {
		if inner := foldable(e); inner != nil {
			args, arg, err := q.rollupArgs(s, inner)
			if err != nil {
				return nil, err
			}
			f, err := rollup.New(inner, args)
			if err != nil {
				return nil, &about{"cannot evaluate args for aggregate func", e, err}
			}
			return q.rollup(s, &call{f: f, expr: e, arg: arg, aggr: e})
		}
	}
	args, err := q.each(s, e.Args)
	if err != nil {
		return nil, err
	}
	if !aggr.Known(e.Name) {
		return nil, readablef(`unknown func %q`, e.Name)
	}
	all, err := aggr.Eval(&aggr.Call{Expr: e, Grid: s.grid(), Args: args, Hold: q.holding(s), Pace: &q.pace})
	if err != nil {
		return nil, &about{"cannot evaluate", e, err}
	}
	return all, nil
}

// foldable returns the function over windows of a selector that an aggregate is
// right above, a selector being one of default_rollup; nil if it is above anything else.
func foldable(e *mql.AggrFuncExpr) *mql.FuncExpr {
	if len(e.Args) != 1 {
		return nil
	}
	if plain(e.Args[0]) {
		return &mql.FuncExpr{Name: "default_rollup", Args: e.Args}
	}
	f, ok := e.Args[0].(*mql.FuncExpr)
	if !ok || !rollup.Known(f.Name) {
		return nil
	}
	if at := mql.GetRollupArgIdx(f); at >= len(f.Args) || !plain(f.Args[at]) {
		return nil
	}
	return f
}

// plain tells whether an expression is a selector, with a window or without, that
// selects anything.
func plain(e mql.Expr) bool {
	if r, ok := e.(*mql.RollupExpr); ok {
		if r.ForSubquery() {
			return false
		}
		e = r.Expr
	}
	m, ok := e.(*mql.MetricExpr)
	return ok && !m.IsEmpty()
}
