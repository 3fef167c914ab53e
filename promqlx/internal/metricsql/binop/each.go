package binop

import (
	"math"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// pair is two series that match, and the one of them that the result is put in.
// Several pairs may have the same other series.
type pair struct{ left, right, dst *series.Series }

// each computes an operator of arithmetic, or a comparison, for all pairs of series
// that match.
func each(c *Call) ([]*series.Series, error) {
	be := c.Expr
	var k kernel
	if cmp := comparisons[be.Op]; cmp != nil {
		// Empty series stay: a missing value is less than nothing, but differs from
		// everything.
		k = cmp.keep
		if be.Bool {
			k = cmp.asBool
		}
	} else {
		k = arithmetic[strings.ToLower(be.Op)]
		c.Left, c.Right = series.DropEmpty(c.Left), series.DropEmpty(c.Right)
	}
	noLeft, noRight := len(c.Left) == 0, len(c.Right) == 0
	if noLeft && noRight || noLeft && be.FillLeft == nil || noRight && be.FillRight == nil {
		return nil, nil
	}
	pairs, err := c.pairs()
	if err != nil {
		return nil, err
	}
	k = filled(k, be.FillLeft, be.FillRight)
	// Series that have no values now stay too, for a default to fill.
	out := make([]*series.Series, len(pairs))
	for i, p := range pairs {
		k(p.dst.Values, p.left.Values, p.right.Values)
		out[i] = p.dst
		if c.Pace.Over(len(p.dst.Values)) {
			break
		}
	}
	return out, nil
}

// equality is a comparison, or tells whether values are in a list.
func equality(c *Call) ([]*series.Series, error) {
	isList := isUnion(c.Expr.Left)
	if !isList && !isUnion(c.Expr.Right) {
		return each(c)
	}
	values, list := c.Left, c.Right
	if isList {
		values, list = list, values
	}
	want := c.Expr.Op == "=="
	if len(values) == 0 || want && len(list) == 0 {
		return nil, nil
	}
	for _, s := range values {
		for i, v := range s.Values {
			if c.Pace.Over(len(list)) {
				return nil, nil // Eval tells why
			}
			if hasAt(list, v, i) != want {
				s.Values[i] = math.NaN()
			}
		}
	}
	return values, nil
}

// isUnion tells whether an expression is (a, b, ...) or union(a, b, ...).
func isUnion(e mql.Expr) bool {
	f, ok := e.(*mql.FuncExpr)
	return ok && (f.Name == "" || strings.EqualFold(f.Name, "union"))
}

// hasAt tells whether there is a series with this value at a step.
func hasAt(all []*series.Series, v float64, step int) bool {
	for _, s := range all {
		if s.Values[step] == v {
			return true
		}
	}
	return false
}
