package promql

import "github.com/prometheus/prometheus/promql/parser"

// findOnce marks the parts below e that are the same at all steps, at the
// highest place each. same tells that the whole of e is, and wrap that e is to be
// marked then. It marks exactly what preprocessExprHelper of Prometheus'
// promql/engine.go does, since that can be seen in answers: what is marked is
// evaluated at the first step.
func (f *front) findOnce(e parser.Expr) (same, wrap bool) {
	switch n := e.(type) {
	case *parser.VectorSelector:
		same := f.at(n.Timestamp, n.StartOrEnd, false) != nil
		return same, same
	case *parser.AggregateExpr:
		return f.findOnce(bare(n.Expr)) // its parameter is not looked at
	case *parser.BinaryExpr:
		sameL, wrapL := f.findOnce(n.LHS)
		sameR, wrapR := f.findOnce(n.RHS)
		if sameL && sameR {
			return true, true
		}
		f.mark(n.LHS, wrapL)
		f.mark(n.RHS, wrapR)
		return false, false
	case *parser.Call:
		return f.findOnceInCall(n)
	case *parser.MatrixSelector:
		same, _ := f.findOnce(n.VectorSelector)
		return same, false
	case *parser.SubqueryExpr:
		same, _ := f.findOnce(n.Expr)
		f.mark(n.Expr, same)
		return f.at(n.Timestamp, n.StartOrEnd, false) != nil, false
	case *parser.ParenExpr:
		return f.findOnce(n.Expr)
	case *parser.UnaryExpr:
		return f.findOnce(n.Expr)
	}
	return true, false // literals
}

func (f *front) findOnceInCall(n *parser.Call) (same, wrap bool) {
	if _, ok := f.folded(n); ok {
		return true, false
	}
	name := n.Func.Name
	same = !dependsOnStep(name)
	timestamp := name == "timestamp" // of a selector with @ it is the same at all steps
	wraps := make([]bool, len(n.Args))
	for i := range n.Args {
		arg := bare(n.Args[i])
		sameArg, wrapArg := f.findOnce(arg)
		if name == "info" && i == 1 {
			continue // a selector that is not evaluated
		}
		wraps[i] = wrapArg
		same = same && sameArg
		if _, ok := arg.(*parser.VectorSelector); !sameArg || !ok {
			timestamp = false
		}
	}
	if name == "info" {
		_, uniform := f.infoReference(n.Args[0], false)
		same = same && uniform
	}
	if same || timestamp {
		return true, true
	}
	for i := range n.Args {
		f.mark(bare(n.Args[i]), wraps[i])
	}
	return false, false
}

func (f *front) mark(e parser.Expr, wrap bool) {
	if wrap {
		f.once[e] = true
	}
}

// dependsOnStep tells whether a function can have other values at other steps
// though its arguments are the same (AtModifierUnsafeFunctions of Prometheus'
// promql/functions.go).
func dependsOnStep(name string) bool {
	switch name {
	case "days_in_month", "day_of_month", "day_of_week", "day_of_year",
		"hour", "minute", "month", "year",
		"predict_linear", "time", "timestamp":
		return true
	}
	return false
}
