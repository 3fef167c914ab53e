package cache

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/plan"
)

// noteOf returns the annotation that answers of a plan may have and be kept all the
// same, nil if there is none: that rate or increase are asked of what has no name of
// a counter. Line protocol knows no such names, so its counters all are remarked on.
//
// The remark is made if the function yields a float at any step. So the function
// must be the only one, of series with one name, and what is above it must yield
// floats of floats, and of nothing else: then it belongs to the steps at which the
// answer has a float.
func noteOf(n plan.Node) error {
	for {
		switch x := n.(type) {
		case *plan.Rollup:
			name := nameOf(x.Selector)
			if name == "" || x.Func != "rate" && x.Func != "increase" {
				return nil
			}
			return annotations.NewPossibleNonCounterInfo(name, x.ArgPos[0].Position())
		case *plan.Aggregate:
			if x.Param != nil || x.Op != parser.SUM && x.Op != parser.AVG {
				return nil
			}
			n = x.Child
		case *plan.Minus:
			n = x.Child
		case *plan.Binary:
			if n = scaled(x); n == nil {
				return nil
			}
		default:
			return nil
		}
	}
}

// nameOf returns the name of all series of a selector, empty if it may be several.
func nameOf(s *plan.Selector) string {
	if s == nil {
		return ""
	}
	for _, m := range s.Matchers {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual {
			return m.Value
		}
	}
	return ""
}

// scaled returns the vector of an operation with a number, or nil. (With a
// histogram, which may yield nothing, it yields no float either.)
func scaled(n *plan.Binary) plan.Node {
	switch n.Op {
	case parser.ADD, parser.SUB, parser.MUL, parser.DIV:
	default:
		return nil
	}
	if _, ok := n.Right.(*plan.Number); ok {
		return n.Left
	}
	if _, ok := n.Left.(*plan.Number); ok {
		return n.Right
	}
	return nil
}
