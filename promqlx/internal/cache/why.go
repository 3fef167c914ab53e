package cache

import (
	"fmt"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/funcs"
	"github.com/varvedb/varve/promqlx/internal/plan"
)

// Why tells why answers of a plan on a grid of that step, in milliseconds, are not
// to be kept by stretches; it is empty if they may be. It wants the plan optimized
// (Collide is found out then).
//
// They may be kept if the sample of each series at a step is the same, as bits,
// whatever the other steps of the query are. That says no to
//
//   - @ and what hangs on it, because start() and end() are times by then, and
//     because what is evaluated once looks from the first step;
//   - anchored and smoothed, which look at samples beyond the window;
//   - a subquery shorter than the step above it: between two windows there are
//     steps of the subquery that an evaluation of the whole looks at, for errors
//     and annotations, and one by stretches does not;
//   - sort and the like, limitk and limit_ratio, and info;
//   - an aggregation of rows whose order hangs on the range. The last bits of a
//     sum, and which of equal values is in topk, come from the order of rows. That
//     of a selector is by labels, and functions of single rows leave it. The groups
//     of an aggregation, and what is joined or matched, are in the order in which
//     they appear, which other steps decide too. count, group and count_values
//     take any order;
//   - a parameter that is no constant, and fill, for which nobody asked;
//   - what reads no samples, because it costs nothing.
//
// What shows when samples are read, annotations and native histograms whose resets
// are told by samples far before (exec.Params.Hints), is the answer's to say.
//
// Buckets of a classic histogram are sorted by their bounds, so that their order
// does not matter, unless one histogram has a bound in three spellings.
func Why(n plan.Node, step int64) string {
	j := &judge{}
	j.ordered(n, step)
	if j.why == "" && !reads(n) {
		return "no samples are read"
	}
	return j.why
}

// judge remembers the first reason.
type judge struct{ why string }

func (j *judge) no(format string, args ...any) bool {
	if j.why == "" {
		j.why = fmt.Sprintf(format, args...)
	}
	return false
}

// ordered judges n, evaluated with a step, and tells whether its rows come in an
// order that no other step has a say in.
func (j *judge) ordered(n plan.Node, step int64) bool {
	switch n := n.(type) {
	case *plan.Number, *plan.Text:
		return true
	case *plan.Instant:
		return j.selector(&n.Selector) && !n.Drift && !(n.Time != "" && n.Collide)
	case *plan.Rollup:
		return j.rollup(n, step)
	case *plan.Call:
		return j.call(n, step)
	case *plan.Aggregate:
		return j.aggregate(n, step)
	case *plan.Binary:
		return j.binary(n, step)
	case *plan.Minus:
		return j.ordered(n.Child, step) && !n.Collide
	case *plan.Shared:
		return j.ordered(n.Child, step)
	case *plan.Once:
		if reads(n.Child) {
			return j.no("a part is evaluated at the first step alone")
		}
		return true // a constant
	case *plan.Info:
		return j.no("info")
	}
	return j.no("%T", n)
}

func (j *judge) selector(s *plan.Selector) bool {
	switch {
	case s.At != nil:
		return j.no("a selector has a time of its own")
	case s.Anchored || s.Smoothed:
		return j.no("a selector looks beyond its window")
	}
	return true
}

func (j *judge) rollup(n *plan.Rollup, step int64) bool {
	ordered := true
	if sub := n.Subquery; sub != nil {
		switch {
		case sub.At != nil:
			return j.no("a subquery has a time of its own")
		case sub.Range < step:
			return j.no("windows of a subquery leave gaps")
		}
		ordered = j.ordered(sub.Child, sub.Step)
	} else {
		ordered = j.selector(n.Selector)
	}
	for _, a := range n.Args {
		j.ordered(a, step)
	}
	return n.Func == "absent_over_time" || ordered && !n.Collide
}

func (j *judge) call(n *plan.Call, step int64) bool {
	ordered := true
	for _, a := range n.Args {
		ordered = j.ordered(a, step) && ordered
	}
	f, ok := funcs.Lookup(n.Func)
	switch {
	case !ok:
	case f.Scalar != nil && f.Each == nil, n.Func == "absent":
		return true // one row
	case f.Each != nil:
		return ordered && !(n.Collide && f.Join)
	}
	switch n.Func {
	case "label_replace", "label_join", "histogram_quantile", "histogram_quantiles", "histogram_fraction":
		return false
	}
	return j.no("a function of all rows: %s", n.Func)
}

func (j *judge) aggregate(n *plan.Aggregate, step int64) bool {
	switch n.Param.(type) {
	case nil, *plan.Number, *plan.Text:
	default:
		return j.no("a parameter that is no constant")
	}
	ordered := j.ordered(n.Child, step)
	switch n.Op {
	case parser.COUNT, parser.GROUP, parser.COUNT_VALUES:
	case parser.LIMITK, parser.LIMIT_RATIO:
		return j.no("%s", n.Op)
	default:
		if !ordered {
			return j.no("%s of rows whose order hangs on the range", n.Op)
		}
	}
	switch n.Op {
	case parser.TOPK, parser.BOTTOMK, parser.COUNT_VALUES:
		return false
	}
	return len(n.Grouping) == 0 && !n.Without // one row
}

func (j *judge) binary(n *plan.Binary, step int64) bool {
	left, right := j.ordered(n.Left, step), j.ordered(n.Right, step)
	m := n.Matching
	if m == nil {
		return left && right && !n.Collide
	}
	if m.FillValues.LHS != nil || m.FillValues.RHS != nil {
		return j.no("fill")
	}
	return false
}

// reads tells whether n reads samples.
func reads(n plan.Node) bool {
	found := false
	plan.Walk(n, func(c plan.Node) bool {
		_, info := c.(*plan.Info)
		found = found || info || plan.SelectorOf(c) != nil
		return !found
	})
	return found
}
