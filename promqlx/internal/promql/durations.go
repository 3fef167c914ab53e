package promql

import (
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
)

// times are the durations of a selector or a subquery.
type times struct{ offset, span, step time.Duration }

// timesOf returns the durations of a node as computed, or as written.
func (f *front) timesOf(n parser.Node) times {
	if t, ok := f.times[n]; ok {
		return t
	}
	switch n := n.(type) {
	case *parser.VectorSelector:
		return times{offset: n.OriginalOffset}
	case *parser.MatrixSelector:
		return times{span: n.Range}
	case *parser.SubqueryExpr:
		return times{n.OriginalOffset, n.Range, n.Step}
	}
	return times{}
}

// computeDurations computes the durations that are written as expressions. The
// first bad one in the order of Prometheus' walk is the error. (durationVisitor
// of Prometheus' promql/durations.go.)
func (f *front) computeDurations(expr parser.Expr) error {
	var err error
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		t := f.timesOf(node)
		switch n := node.(type) {
		case *parser.VectorSelector:
			err = f.duration(n.OriginalOffsetExpr, true, &t.offset)
		case *parser.MatrixSelector:
			err = f.duration(n.RangeExpr, false, &t.span)
		case *parser.SubqueryExpr:
			if err = f.duration(n.OriginalOffsetExpr, true, &t.offset); err != nil {
				break
			}
			if err = f.duration(n.StepExpr, false, &t.step); err != nil {
				break
			}
			err = f.duration(n.RangeExpr, false, &t.span)
		default:
			return nil
		}
		f.times[node] = t
		return err
	})
	return err
}

// duration computes one duration into d; none if expr is nil.
func (f *front) duration(expr *parser.DurationExpr, negative bool, d *time.Duration) error {
	if expr == nil {
		return nil
	}
	seconds, err := f.seconds(expr)
	if err != nil {
		return err
	}
	pos := expr.PositionRange()
	switch {
	case math.IsNaN(seconds) || math.IsInf(seconds, 0):
		return fmt.Errorf("%d:%d: duration is NaN or infinite", pos.Start, pos.End)
	case seconds <= 0 && !negative:
		return fmt.Errorf("%d:%d: duration must be greater than 0", pos.Start, pos.End)
	case seconds > 1<<63/1e9 || seconds < -(1<<63)/1e9:
		return fmt.Errorf("%d:%d: duration is out of range", pos.Start, pos.End)
	}
	*d = time.Duration(float64(seconds*1000)) * time.Millisecond
	return nil
}

// seconds computes a duration expression.
func (f *front) seconds(expr parser.Expr) (float64, error) {
	switch n := expr.(type) {
	case *parser.NumberLiteral:
		return n.Val, nil
	case *parser.DurationExpr:
		var lhs, rhs float64
		var err error
		if n.LHS != nil {
			if lhs, err = f.seconds(n.LHS); err != nil {
				return 0, err
			}
		}
		if n.RHS != nil {
			if rhs, err = f.seconds(n.RHS); err != nil {
				return 0, err
			}
		}
		return f.durationOp(n, lhs, rhs)
	}
	return 0, fmt.Errorf("unexpected duration expression type %T", expr)
}

// durationOp applies the operator of n. A sign has no left side: its 0 is as
// good.
func (f *front) durationOp(n *parser.DurationExpr, lhs, rhs float64) (float64, error) {
	switch n.Op {
	case parser.STEP:
		return f.opts.Step.Seconds(), nil
	case parser.RANGE:
		return f.opts.End.Sub(f.opts.Start).Seconds(), nil
	case parser.MIN_OF:
		return math.Min(lhs, rhs), nil
	case parser.MAX_OF:
		return math.Max(lhs, rhs), nil
	case parser.ADD:
		return lhs + rhs, nil
	case parser.SUB:
		return lhs - rhs, nil
	case parser.MUL:
		return float64(lhs * rhs), nil
	case parser.DIV:
		if rhs == 0 {
			return 0, fmt.Errorf("%d:%d: division by zero", n.PositionRange().Start, n.PositionRange().End)
		}
		return lhs / rhs, nil
	case parser.MOD:
		if rhs == 0 {
			return 0, fmt.Errorf("%d:%d: modulo by zero", n.PositionRange().Start, n.PositionRange().End)
		}
		return math.Mod(lhs, rhs), nil
	case parser.POW:
		return math.Pow(lhs, rhs), nil
	}
	return 0, fmt.Errorf("unexpected duration expression operator %q", n.Op)
}
