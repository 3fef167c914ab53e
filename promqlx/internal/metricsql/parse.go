package metricsql

import (
	"fmt"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"
)

// Parse parses a query and prepares it for evaluation. The expression may be used
// by several goroutines as long as nobody changes it. Errors are the parser's and
// tell where it stopped, but for one of ours: templates may not make a text longer than
// 64 KiB, unless it is so by itself.
//
// Time and memory are in proportion to the text, with its templates written out.
func Parse(text string) (mql.Expr, error) {
	e, err := Expand(text)
	if err != nil {
		return nil, err
	}
	turnComparisons(e)
	return e, nil
}

// Expand is Parse of a text that is to be shown, not evaluated: comparisons stay as they
// are written.
func Expand(text string) (mql.Expr, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("too long query; got %d bytes; the parser takes no more than %d", len(text), maxText)
	}
	if err := checkExpansion(text); err != nil {
		return nil, err
	}
	e, err := mql.Parse(text)
	if err != nil {
		return nil, err
	}
	if optimizes(e) {
		e = unlessPanics(e, mql.Optimize)
	}
	return e, nil
}

// Push returns a copy of an expression with filters put into it, where they belong.
func Push(e mql.Expr, filters []mql.LabelFilter) mql.Expr {
	return unlessPanics(e, func(e mql.Expr) mql.Expr { return mql.PushdownBinaryOpFilters(e, filters) })
}

// unlessPanics returns what f makes of an expression, or the expression as it is: the
// library copies expressions by parsing their texts, and panics where it writes one
// that it does not read, as of m * label_set(m, "", "x").
func unlessPanics(e mql.Expr, f func(mql.Expr) mql.Expr) (out mql.Expr) {
	defer func() {
		if recover() != nil {
			out = e
		}
	}()
	return f(e)
}

// maxText is the longest text that is parsed, whatever the flags say: the parser takes
// 2 KiB of stack for each bracket, and a stack that is full ends the process.
const maxText = 256 << 10

// maxOptimize is about how many steps putting the filters of an expression where they
// save most may take: a tenth of a second.
const maxOptimize = 100_000_000

// optimizes tells whether that is worth while. It goes through all that is below an
// operator, and puts filters into all of it, at each operator anew. The answer is the
// same without.
func optimizes(e mql.Expr) bool {
	var operators, filters float64
	mql.VisitAll(e, func(e mql.Expr) {
		switch e := e.(type) {
		case *mql.BinaryOpExpr:
			operators++
		case *mql.MetricExpr:
			for _, set := range e.LabelFilterss {
				filters += float64(len(set))
			}
		}
	})
	return operators*operators*(operators+filters) <= maxOptimize
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
