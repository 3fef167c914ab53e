package binop

import (
	"fmt"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// Call is a binary operation with both its sides evaluated.
type Call struct {
	Expr *mql.BinaryOpExpr // read only
	// Left and Right are owned by the call, which changes them in place.
	Left, Right []*series.Series
	Grid        row.Grid
}

// operator is a binary operator.
type operator func(c *Call) ([]*series.Series, error)

// named returns the operator of a name in lower case, nil if there is none.
func named(op string) operator {
	switch op {
	case "==", "!=":
		return equality
	case "and":
		return infallible(and)
	case "or":
		return infallible(or)
	case "unless":
		return infallible(unless)
	case "if":
		return infallible(ifThere)
	case "ifnot":
		return infallible(ifNotThere)
	case "default":
		return infallible(byDefault)
	}
	if arithmetic[op] != nil || comparisons[op] != nil {
		return each
	}
	return nil
}

func infallible(f func(c *Call) []*series.Series) operator {
	return func(c *Call) ([]*series.Series, error) { return f(c), nil }
}

// Known tells whether there is an operator of this name, in any case.
func Known(op string) bool { return named(strings.ToLower(op)) != nil }

// Eval returns what the operation evaluates to. Groups of series that match come in
// the order in which the first series of the left side did; with and in the order of
// the right side. Series without any value may be among them.
//
// Errors have VictoriaMetrics' texts. The time is in proportion to the values of
// both sides, but of those of the longer side if many match many.
func Eval(c *Call) ([]*series.Series, error) {
	f := named(strings.ToLower(c.Expr.Op))
	if f == nil {
		return nil, fmt.Errorf("unknown binary op %q", c.Expr.Op)
	}
	return f(c)
}
