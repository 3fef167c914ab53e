package eval

import (
	"fmt"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql"
	"github.com/varvedb/varve/promqlx/internal/metricsql/binop"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

func (q *query) binary(s Scope, e *mql.BinaryOpExpr) ([]*series.Series, error) {
	if !binop.Known(e.Op) {
		return nil, fmt.Errorf(`unknown binary op %q`, e.Op)
	}
	left, right, err := q.sides(s, e)
	if err != nil {
		return nil, &about{"cannot execute", e, err}
	}
	all, err := binop.Eval(&binop.Call{Expr: e, Left: left, Right: right, Grid: s.grid(), Hold: q.holding(s), Pace: &q.pace})
	if err != nil {
		return nil, &about{"cannot evaluate", e, err}
	}
	return all, nil
}

// maxPushed is the longest text of an expression that filters are put into. That parses
// it anew, at each operator within an operator: thousands of them would take minutes to
// read a little less.
const maxPushed = 8 << 10

// sides evaluates both sides of an operator, the second of them only as far as labels
// that all series of the first have in common let it matter.
func (q *query) sides(s Scope, e *mql.BinaryOpExpr) (left, right []*series.Series, err error) {
	turned := rightFirst(e)
	first, second := e.Left, e.Right
	if turned {
		first, second = second, first
	}
	a, err := q.expr(s, first)
	if err != nil {
		return nil, nil, err
	}
	if narrows(e) {
		if len(a) == 0 {
			return nil, nil, nil // and so is the answer
		}
		filters := mql.TrimFiltersByGroupModifier(binop.CommonFilters(a), e)
		if len(filters) > 0 && len(second.AppendString(nil)) <= maxPushed {
			second = metricsql.Push(second, filters)
		}
	}
	b, err := q.expr(s, second)
	if err != nil {
		return nil, nil, err
	}
	if turned {
		a, b = b, a
	}
	return a, b, nil
}

// rightFirst tells whether the right side is evaluated first, since it tells more of
// the left one than that of it.
func rightFirst(e *mql.BinaryOpExpr) bool {
	switch strings.ToLower(e.Op) {
	case "and", "if":
		return true
	}
	return e.FillLeft != nil && e.FillRight == nil
}

// narrows tells whether labels of one side bound the other.
func narrows(e *mql.BinaryOpExpr) bool {
	switch strings.ToLower(e.Op) {
	case "or", "default":
		return false
	}
	if e.FillLeft != nil && e.FillRight != nil {
		return false
	}
	return !groupsAll(e.Left) && !groupsAll(e.Right)
}

// groupsAll tells whether an expression is an aggregate without labels.
func groupsAll(e mql.Expr) bool {
	a, ok := e.(*mql.AggrFuncExpr)
	return ok && len(a.Modifier.Args) == 0
}
