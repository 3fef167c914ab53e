package metricsql

import (
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"
)

// Parse parses a query and prepares it for evaluation. The expression may be used
// by several goroutines as long as nobody changes it. Errors are the parser's and
// tell where it stopped.
func Parse(text string) (mql.Expr, error) {
	e, err := mql.Parse(text)
	if err != nil {
		return nil, err
	}
	e = mql.Optimize(e)
	turnComparisons(e)
	return e, nil
}

// turnComparisons makes `scalar op q` a `q op' scalar`, so that the values of q are
// what is left, as in PromQL. (adjustCmpOps of VictoriaMetrics' promql/exec.go.)
func turnComparisons(e mql.Expr) {
	mql.VisitAll(e, func(e mql.Expr) {
		b, ok := e.(*mql.BinaryOpExpr)
		if !ok || !mql.IsBinaryOpCmp(b.Op) || isNumber(b.Right) || !isScalar(b.Left) {
			return
		}
		b.Left, b.Right = b.Right, b.Left
		b.Op = turned(b.Op)
	})
}

func isNumber(e mql.Expr) bool {
	_, ok := e.(*mql.NumberExpr)
	return ok
}

func isScalar(e mql.Expr) bool {
	if f, ok := e.(*mql.FuncExpr); ok {
		return strings.EqualFold(f.Name, "time")
	}
	return isNumber(e)
}

func turned(op string) string {
	switch op {
	case ">":
		return "<"
	case "<":
		return ">"
	case ">=":
		return "<="
	case "<=":
		return ">="
	}
	return op
}
