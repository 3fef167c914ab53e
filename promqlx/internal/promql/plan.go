package promql

import (
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/plan"
)

// Options say for which times an expression is planned.
type Options struct {
	// Start and End are the first and the last time asked for; they are the same
	// in an instant query.
	Start, End time.Time
	// Step is the time between two steps; 0 makes an instant query.
	Step time.Duration
	// SubqueryStep is the step of a subquery that names none, in milliseconds,
	// given its range; nil means one minute.
	SubqueryStep func(rangeMillis int64) int64
}

// Plan makes a plan of an expression of Prometheus' parser. The expression is
// only read, and may be shared; the plan refers to its matchers. Errors have the
// texts that Prometheus' engine gives when it prepares such a query; what the
// engine finds out while it evaluates is left to the plan's execution.
//
// The answer at each step is that of NewInstantQuery and NewRangeQuery, which
// fold functions of the query's context, compute durations, and mark what is the
// same at all steps (PreprocessExpr of Prometheus' promql/engine.go).
func Plan(expr parser.Expr, opts Options) (plan.Node, error) {
	if t := expr.Type(); opts.Step != 0 && t != parser.ValueTypeVector && t != parser.ValueTypeScalar {
		return nil, fmt.Errorf("invalid expression type %q for range query, must be Scalar or instant Vector", parser.DocumentedType(t))
	}
	if opts.SubqueryStep == nil {
		opts.SubqueryStep = func(int64) int64 { return time.Minute.Milliseconds() }
	}
	f := &front{
		opts:      opts,
		start:     timestamp.FromTime(opts.Start),
		end:       timestamp.FromTime(opts.End),
		times:     map[parser.Node]times{},
		once:      map[parser.Expr]bool{},
		statsOnly: statsOnly(expr),
	}
	if err := f.computeDurations(expr); err != nil {
		return nil, err
	}
	if _, wrap := f.findOnce(expr); wrap {
		f.once[expr] = true
	}
	return f.build(expr, false)
}

// front is one expression on its way to a plan: what was found out about its
// nodes, which stay as they are.
type front struct {
	opts       Options
	start, end int64 // milliseconds
	times      map[parser.Node]times
	once       map[parser.Expr]bool // these stand below a plan.Once
	statsOnly  map[*parser.VectorSelector]bool
}

// at returns the time of an @ modifier in milliseconds, nil if there is none.
// In raw parts start() and end() are not resolved; see build.
func (f *front) at(t *int64, preprocessor parser.ItemType, raw bool) *int64 {
	if raw {
		return t
	}
	switch preprocessor {
	case parser.START:
		return &f.start
	case parser.END:
		return &f.end
	}
	return t
}

// folded returns the value of a function of the query's context: start(), end(),
// range() and step() (foldQueryContextFunctions of Prometheus' engine).
func (f *front) folded(n *parser.Call) (v float64, ok bool) {
	switch n.Func.Name {
	case "start":
		return float64(f.start) / 1000, true
	case "end":
		return float64(f.end) / 1000, true
	case "range":
		return f.opts.End.Sub(f.opts.Start).Seconds(), true
	case "step":
		if f.opts.Start.Equal(f.opts.End) {
			return 0, true
		}
		return f.opts.Step.Seconds(), true
	}
	return 0, false
}

// bare takes the parentheses off an expression.
func bare(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}
