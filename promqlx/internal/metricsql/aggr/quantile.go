package aggr

import (
	"fmt"
	"math"
	"slices"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// column appends the values of a group at one step, without NaNs.
func column(dst []float64, group []*series.Series, step int) []float64 {
	for _, s := range group {
		if v := s.Values[step]; !math.IsNaN(v) {
			dst = append(dst, v)
		}
	}
	return dst
}

// sortedColumn is column, with the values sorted.
func sortedColumn(dst []float64, group []*series.Series, step int) []float64 {
	dst = column(dst, group, step)
	slices.Sort(dst)
	return dst
}

func median(c *Call) ([]*series.Series, error) {
	all, err := c.all()
	if err != nil {
		return nil, err
	}
	return c.each(quantileAt(series.Constant(0.5, c.Grid.N).Values), all, c.Expr.Limit, false)
}

func quantile(c *Call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	phis, err := c.scalar(0)
	if err != nil {
		return nil, err
	}
	return c.each(quantileAt(phis), c.Args[1], c.Expr.Limit, false)
}

// quantileAt returns what makes a group the quantile that is asked for at each step.
func quantileAt(phis []float64) groupFunc {
	var sorted []float64
	return func(c *Call, group []*series.Series) []*series.Series {
		dst := group[0].Values
		for i := range dst {
			if c.over(len(group)) {
				break
			}
			sorted = sortedColumn(sorted[:0], group, i)
			dst[i] = stat.Quantile(phis[i], sorted)
		}
		return group[:1]
	}
}

// quantiles makes several quantiles of each group, told apart by a label.
func quantiles(c *Call) ([]*series.Series, error) {
	if len(c.Args) < 3 {
		return nil, fmt.Errorf("unexpected number of args: %d; expecting at least 3 args", len(c.Args))
	}
	label, err := c.text(0)
	if err != nil {
		return nil, fmt.Errorf("cannot obtain dstLabel: %w", err)
	}
	last := len(c.Args) - 1
	phis := make([]float64, last-1)
	for i := range phis {
		v, err := c.scalar(i + 1)
		if err != nil {
			return nil, err
		}
		phis[i] = v[0]
	}
	var sorted []float64
	f := func(_ *Call, group []*series.Series) []*series.Series {
		out := make([]*series.Series, len(phis))
		for k, phi := range phis {
			out[k] = group[0].Clone()
			out[k].Name.Put(label, fmt.Sprintf("%g", phi))
		}
		for i := range group[0].Values {
			if c.over(len(group)) {
				break
			}
			sorted = sortedColumn(sorted[:0], group, i)
			for k, phi := range phis {
				out[k].Values[i] = stat.Quantile(phi, sorted)
			}
		}
		return out
	}
	return c.each(f, c.Args[last], c.Expr.Limit, false)
}

// mode makes a group the value that most series have, the least of several.
func mode(c *Call, group []*series.Series) []*series.Series {
	dst := group[0].Values
	var values []float64
	for i := range dst {
		if c.over(len(group)) {
			break
		}
		values = sortedColumn(values[:0], group, i)
		dst[i] = stat.Mode(math.NaN(), values)
	}
	return group[:1]
}

// distinct counts the different values.
func distinct(c *Call, group []*series.Series) []*series.Series {
	dst := group[0].Values
	var values []float64
	for i := range dst {
		if c.over(len(group)) {
			break
		}
		values = sortedColumn(values[:0], group, i)
		values = slices.Compact(values)
		dst[i] = math.NaN()
		if len(values) > 0 {
			dst[i] = float64(len(values))
		}
	}
	return group[:1]
}
