package aggr

import (
	"math"
	"slices"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// deviation returns of each step of a group the median, and the median of the
// distances from it.
func deviation(c *Call, group []*series.Series) (medians, mads []float64) {
	n := len(group[0].Values)
	room := make([]float64, 2*n)
	medians, mads = room[:n:n], room[n:]
	var values []float64
	for i := range medians {
		if c.over(2 * len(group)) {
			break
		}
		values = sortedColumn(values[:0], group, i)
		medians[i] = stat.Quantile(0.5, values)
		mads[i] = stat.Far(medians[i], values)
	}
	return medians, mads
}

func mad(c *Call, group []*series.Series) []*series.Series {
	_, group[0].Values = deviation(c, group)
	return group[:1]
}

// outliersMAD returns the series that are further from the median, once, than the
// tolerance, in median distances.
func outliersMAD(c *Call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	tolerances, err := c.scalar(0)
	if err != nil {
		return nil, err
	}
	f := func(_ *Call, group []*series.Series) []*series.Series {
		medians, mads := deviation(c, group)
		for i := range mads {
			mads[i] *= tolerances[i]
		}
		return having(group, func(i int, v float64) bool { return math.Abs(v-medians[i]) > mads[i] })
	}
	return c.each(f, c.Args[1], c.Expr.Limit, true)
}

// outliersIQR returns the series that are, once, further outside of the middle half
// of all values than one and a half times its width.
func outliersIQR(c *Call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	var sorted []float64
	f := func(_ *Call, group []*series.Series) []*series.Series {
		n := len(group[0].Values)
		lower, upper := make([]float64, n), make([]float64, n)
		for i := range n {
			if c.over(len(group)) {
				break
			}
			sorted = sortedColumn(sorted[:0], group, i)
			q1, q3 := stat.Quantile(0.25, sorted), stat.Quantile(0.75, sorted)
			width := 1.5 * (q3 - q1)
			lower[i], upper[i] = q1-width, q3+width
		}
		return having(group, func(i int, v float64) bool { return v > upper[i] || v < lower[i] })
	}
	return c.each(f, c.Args[0], c.Expr.Limit, true)
}

// having returns the series that have a value like this, in place.
func having(group []*series.Series, like func(step int, v float64) bool) []*series.Series {
	return slices.DeleteFunc(group, func(s *series.Series) bool {
		for i, v := range s.Values {
			if like(i, v) {
				return false
			}
		}
		return true
	})
}

// outliersK returns the series furthest away from the median over all steps.
func outliersK(c *Call) ([]*series.Series, error) {
	if err := c.want(2); err != nil {
		return nil, err
	}
	ks, err := c.scalar(0)
	if err != nil {
		return nil, err
	}
	f := func(_ *Call, group []*series.Series) []*series.Series {
		medians, _ := deviation(c, group)
		distance := func(values []float64) float64 {
			sum := 0.0
			for i, v := range values {
				d := v - medians[i]
				sum += d * d
			}
			return sum
		}
		return rangeTopK(group, distance, compareUp, ks)
	}
	return c.each(f, c.Args[1], c.Expr.Limit, true)
}
