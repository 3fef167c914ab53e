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
	// Hold is asked for room before so many series more than there are get made, and
	// may deny it with an error, which Eval returns. Without it there is room for any
	// number.
	Hold func(series int) error
	Pace *series.Pace // asked whether to go on; nil goes on. If it ends, so does Eval with its error
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
// both sides; where many series match many, to the values of all pairs.
func Eval(c *Call) ([]*series.Series, error) {
	f := named(strings.ToLower(c.Expr.Op))
	if f == nil {
		return nil, fmt.Errorf("unknown binary op %q", c.Expr.Op)
	}
	all, err := f(c)
	if ended := c.Pace.Err(); ended != nil {
		return nil, ended
	}
	return all, err
}
