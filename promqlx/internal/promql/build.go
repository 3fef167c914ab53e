package promql

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/funcs"
	"github.com/varvedb/varve/promqlx/internal/plan"
)

// pos is n.PositionRange, but goes down chains of operators by itself: that one asks
// both sides of each operator for both their ends, and is asked for each operator.
func pos(n parser.Node) plan.Pos {
	first, last := n, n
	for b, ok := first.(*parser.BinaryExpr); ok; b, ok = first.(*parser.BinaryExpr) {
		first = b.LHS
	}
	for b, ok := last.(*parser.BinaryExpr); ok; b, ok = last.(*parser.BinaryExpr) {
		last = b.RHS
	}
	return plan.Pos{Start: first.PositionRange().Start, End: last.PositionRange().End}
}

// build makes the node of e.
//
// A part is raw that Prometheus' preprocessing passes over: the parameter of an
// aggregation. Nothing in it is evaluated but once, start() and end() after @ say
// nothing, and parentheses stay.
func (f *front) build(e parser.Expr, raw bool) (plan.Node, error) {
	n, err := f.buildPlain(e, raw)
	if err != nil || !f.once[e] {
		return n, err
	}
	return &plan.Once{Child: n}, nil
}

func (f *front) buildPlain(e parser.Expr, raw bool) (plan.Node, error) {
	switch n := e.(type) {
	case *parser.NumberLiteral:
		return &plan.Number{Pos: pos(n), Value: n.Val}, nil
	case *parser.StringLiteral:
		return &plan.Text{Pos: pos(n), Value: n.Val}, nil
	case *parser.ParenExpr:
		return f.build(n.Expr, raw)
	case *parser.VectorSelector:
		sel := f.selector(n, raw)
		return &plan.Instant{Selector: sel, Drift: raw && sel.At != nil}, nil
	case *parser.MatrixSelector:
		sel := f.selector(n.VectorSelector.(*parser.VectorSelector), raw)
		sel.Pos = pos(n)
		return &plan.Matrix{Selector: sel, Range: f.timesOf(n).span.Milliseconds()}, nil
	case *parser.SubqueryExpr:
		return f.subquery(n, raw)
	case *parser.Call:
		return f.call(n, raw)
	case *parser.AggregateExpr:
		return f.aggregate(n, raw)
	case *parser.BinaryExpr:
		return f.binary(n, raw)
	case *parser.UnaryExpr:
		child, err := f.build(n.Expr, raw)
		if err != nil || n.Op != parser.SUB {
			return child, err
		}
		return &plan.Minus{Pos: pos(n), Child: child, Collide: true}, nil
	}
	return nil, fmt.Errorf("unhandled expression of type: %T", e)
}

func (f *front) selector(n *parser.VectorSelector, raw bool) plan.Selector {
	return plan.Selector{
		Pos:       pos(n),
		Matchers:  n.LabelMatchers,
		Offset:    f.timesOf(n).offset.Milliseconds(),
		At:        f.at(n.Timestamp, n.StartOrEnd, raw),
		Anchored:  n.Anchored,
		Smoothed:  n.Smoothed,
		StatsOnly: f.statsOnly[n],
	}
}

func (f *front) subquery(n *parser.SubqueryExpr, raw bool) (*plan.Subquery, error) {
	child, err := f.build(n.Expr, raw)
	if err != nil {
		return nil, err
	}
	t := f.timesOf(n)
	step := t.step.Milliseconds()
	if t.step == 0 {
		step = f.opts.SubqueryStep(t.span.Milliseconds())
	}
	if step <= 0 { // below a millisecond
		return nil, errors.New("unexpected error: runtime error: integer divide by zero")
	}
	return &plan.Subquery{
		Pos:    pos(n),
		Child:  child,
		Range:  t.span.Milliseconds(),
		Step:   step,
		Offset: t.offset.Milliseconds(),
		At:     f.at(n.Timestamp, n.StartOrEnd, raw),
	}, nil
}

// arg returns an argument as Prometheus' engine sees it.
func (f *front) arg(e parser.Expr, raw bool) parser.Expr {
	if raw {
		return e
	}
	return bare(e)
}

func (f *front) call(n *parser.Call, raw bool) (plan.Node, error) {
	if v, ok := f.folded(n); ok {
		return &plan.Number{Pos: pos(n), Value: v}, nil
	}
	name := n.Func.Name
	switch name {
	case "timestamp", "start_timestamp":
		if vs, ok := f.arg(n.Args[0], raw).(*parser.VectorSelector); ok {
			return &plan.Instant{Selector: f.selector(vs, raw), Time: name, TimePos: pos(n), Collide: true}, nil
		}
	case "info":
		return f.info(n, raw)
	}
	for i := range n.Args {
		switch m := bare(n.Args[i]).(type) {
		case *parser.MatrixSelector, *parser.SubqueryExpr:
			return f.rollup(n, i, m, raw)
		}
	}
	call := &plan.Call{Pos: pos(n), Func: name, Collide: true}
	for i := range n.Args {
		arg := f.arg(n.Args[i], raw)
		child, err := f.build(arg, raw)
		if err != nil {
			return nil, err
		}
		call.Args = append(call.Args, child)
		call.ArgPos = append(call.ArgPos, pos(arg))
		if vs, ok := arg.(*parser.VectorSelector); ok && name == "absent" {
			call.Absent = absentLabels(vs.LabelMatchers)
		}
	}
	if name == "label_replace" {
		call.Pattern = pattern(call.Args[4])
	}
	return call, nil
}

// rollup builds a call whose argument number at is the range vector m.
func (f *front) rollup(n *parser.Call, at int, m parser.Expr, raw bool) (plan.Node, error) {
	r := &plan.Rollup{Pos: pos(n), Func: n.Func.Name, RangeArg: at, Collide: true}
	for i := range n.Args {
		if i == at {
			r.ArgPos = append(r.ArgPos, pos(m))
			continue
		}
		arg := f.arg(n.Args[i], raw)
		child, err := f.build(arg, raw)
		if err != nil {
			return nil, err
		}
		r.Args = append(r.Args, child)
		r.ArgPos = append(r.ArgPos, pos(arg))
	}
	r.Range, r.RangeRest = f.timesOf(m).span.Milliseconds(), f.timesOf(m).span%time.Millisecond
	switch m := m.(type) {
	case *parser.MatrixSelector:
		vs := m.VectorSelector.(*parser.VectorSelector)
		sel := f.selector(vs, raw)
		r.Selector, r.OffsetRest = &sel, f.timesOf(vs).offset%time.Millisecond
		if r.Func == "absent_over_time" {
			r.Absent = absentLabels(vs.LabelMatchers)
		}
	case *parser.SubqueryExpr:
		sq, err := f.subquery(m, raw)
		if err != nil {
			return nil, err
		}
		r.Subquery, r.OffsetRest = sq, f.timesOf(m).offset%time.Millisecond
		// Prometheus' engine puts what a subquery yields in its place, and that
		// stands nowhere in the text.
		r.ArgPos[at] = plan.Pos{}
	}
	return r, nil
}

func (f *front) aggregate(n *parser.AggregateExpr, raw bool) (plan.Node, error) {
	expr := f.arg(n.Expr, raw)
	child, err := f.build(expr, raw)
	if err != nil {
		return nil, err
	}
	a := &plan.Aggregate{Pos: pos(n), Op: n.Op, Child: child, ChildPos: pos(expr), Without: n.Without}
	a.Grouping = slices.Clone(n.Grouping)
	if n.Without {
		a.Grouping = append(a.Grouping, labels.MetricName, "__type__", "__unit__")
	}
	slices.Sort(a.Grouping)
	if n.Param != nil {
		param := f.arg(n.Param, raw)
		if a.Param, err = f.build(param, true); err != nil {
			return nil, err
		}
		a.ParamPos = pos(param)
	}
	return a, nil
}

func (f *front) binary(n *parser.BinaryExpr, raw bool) (plan.Node, error) {
	left, err := f.build(n.LHS, raw)
	if err != nil {
		return nil, err
	}
	right, err := f.build(n.RHS, raw)
	if err != nil {
		return nil, err
	}
	return &plan.Binary{
		Pos: pos(n), Op: n.Op, Left: left, Right: right,
		Matching: n.VectorMatching, Bool: n.ReturnBool, Collide: true,
	}, nil
}

// absentLabels returns the labels that absent and absent_over_time give their
// series (createLabelsForAbsentFunction of Prometheus' promql/functions.go).
func absentLabels(ms []*labels.Matcher) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	seen := map[string]bool{}
	for _, m := range ms {
		switch {
		case schema.IsMetadataLabel(m.Name):
		case m.Type == labels.MatchEqual && !seen[m.Name]:
			b.Set(m.Name, m.Value)
			seen[m.Name] = true
		default:
			b.Del(m.Name)
		}
	}
	return b.Labels()
}

// pattern compiles the pattern of label_replace, if it takes no more memory than its
// text lets expect: plans are remembered by what that takes.
func pattern(n plan.Node) *regexp.Regexp {
	text, ok := n.(*plan.Text)
	if !ok || strings.Contains(text.Value, "{") || strings.Contains(text.Value, `\p`) || strings.Contains(text.Value, `\P`) {
		return nil
	}
	re, err := funcs.ReplacePattern(text.Value)
	if err != nil {
		return nil // which evaluation says
	}
	return re
}
