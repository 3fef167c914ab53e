package aggr

import (
	"fmt"
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// Call is a call of an aggregate with its arguments evaluated.
type Call struct {
	Expr *mql.AggrFuncExpr // read only
	Grid row.Grid
	Args [][]*series.Series // owned by the call, which changes them in place
	// Hold is asked for room if there come to be so many series more than there were,
	// and may deny it with an error, which Eval returns. Without it there is room for
	// any number.
	Hold func(series int) error
	Pace *series.Pace // asked whether to go on; nil goes on
}

// hold asks for room.
func (c *Call) hold(n int) error {
	if c.Hold == nil || n <= 0 {
		return nil
	}
	return c.Hold(n)
}

// over takes note that so many series were looked at at one step, and tells whether
// to stop.
func (c *Call) over(series int) bool { return c.Pace.Over(series * sortWork) }

// sortWork is about how many values could be looked at while one finds its place among
// others.
const sortWork = 16

// function is an aggregate.
type function func(c *Call) ([]*series.Series, error)

// named returns the aggregate of a name in lower case, nil if there is none.
func named(name string) function {
	if k := kernels[name]; k != nil {
		return perGroup(func(_ *Call, group []*series.Series) []*series.Series { return k.apply(group) })
	}
	switch name {
	case "any":
		return evalAny
	case "count_values":
		return countValues
	case "limitk":
		return limitK
	case "median":
		return median
	case "outliers_iqr":
		return outliersIQR
	case "outliers_mad":
		return outliersMAD
	case "outliersk":
		return outliersK
	case "quantile":
		return quantile
	case "quantiles":
		return quantiles
	case "share":
		return perSeries(share)
	case "zscore":
		return perSeries(zscore)
	}
	if f := columns[name]; f != nil {
		return perGroup(f)
	}
	return namedTopK(name)
}

// groupFunc makes series of a group, most often in place of its first ones.
type groupFunc func(c *Call, group []*series.Series) []*series.Series

// columns are the aggregates that make one series (or the buckets of one) out of
// each group, and cannot be folded.
var columns = map[string]groupFunc{
	"distinct":  distinct,
	"histogram": histogram,
	"mad":       mad,
	"mode":      mode,
	"stddev":    stddev,
	"stdvar":    stdvar,
}

// Known tells whether there is an aggregate of this name, in any case.
func Known(name string) bool { return named(strings.ToLower(name)) != nil }

// Eval returns what the call evaluates to. Groups come in the order in which their
// first series did; what is in a group is ordered as the aggregate has it. Labels of
// the series returned are sorted, but where the series are the argument's own (any,
// limitk, outliers, share, topk, zscore and their like), whose names are untouched.
//
// Errors have VictoriaMetrics' texts. The time is in proportion to the values of the
// arguments, times a logarithm of the series in a group where it has to sort.
func Eval(c *Call) ([]*series.Series, error) {
	f := named(strings.ToLower(c.Expr.Name))
	if f == nil {
		return nil, fmt.Errorf("unknown func %q", c.Expr.Name)
	}
	return f(c)
}

// perGroup is an aggregate of all its arguments that makes new series out of the
// old ones of a group.
func perGroup(f groupFunc) function {
	return func(c *Call) ([]*series.Series, error) {
		all, err := c.all()
		if err != nil {
			return nil, err
		}
		return c.each(f, all, c.Expr.Limit, false)
	}
}

// perSeries is an aggregate of all its arguments that keeps the series and changes
// their values.
func perSeries(f groupFunc) function {
	return func(c *Call) ([]*series.Series, error) {
		all, err := c.all()
		if err != nil {
			return nil, err
		}
		return c.each(f, all, c.Expr.Limit, true)
	}
}

// each returns what f makes out of each group. Room is asked for once f has made
// more series than there were in a group.
func (c *Call) each(f groupFunc, arg []*series.Series, limit int, keep bool) ([]*series.Series, error) {
	groups := c.groups(arg, limit, keep)
	out := make([]*series.Series, 0, len(groups))
	for _, group := range groups {
		before := len(group)
		values := before * len(group[0].Values)
		made := f(c, group)
		c.Pace.Over(values)
		if err := c.Pace.Err(); err != nil {
			return nil, err
		}
		if err := c.hold(len(made) - before); err != nil {
			return nil, err
		}
		out = append(out, made...)
	}
	return out, nil
}

// evalAny returns the first series of each group, of one group alone if there is a
// limit.
func evalAny(c *Call) ([]*series.Series, error) {
	all, err := c.all()
	if err != nil {
		return nil, err
	}
	first := func(_ *Call, group []*series.Series) []*series.Series { return group[:1] }
	return c.each(first, all, min(c.Expr.Limit, 1), true)
}
