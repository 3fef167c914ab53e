package aggr

import (
	"errors"
	"fmt"
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// all returns the series of all arguments.
func (c *Call) all() ([]*series.Series, error) {
	if len(c.Args) == 0 {
		return nil, errors.New("expecting at least one arg")
	}
	all := c.Args[0]
	for _, arg := range c.Args[1:] {
		all = append(all, arg...)
	}
	return all, nil
}

// want tells whether there are n arguments.
func (c *Call) want(n int) error {
	if len(c.Args) != n {
		return fmt.Errorf("unexpected number of args; got %d; want %d", len(c.Args), n)
	}
	return nil
}

// scalar returns the values of argument i, one for each step.
func (c *Call) scalar(i int) ([]float64, error) { return series.Scalar(c.Args[i], i) }

// integer returns the value of argument i at the first step.
func (c *Call) integer(i int) (int, error) {
	v, err := c.scalar(i)
	if err != nil || len(v) == 0 {
		return 0, err
	}
	return integerOf(v[0]), nil
}

// text returns argument i, a string.
func (c *Call) text(i int) (string, error) { return series.Text(c.Args[i], i) }

// integerOf returns a float without its fraction, 0 for NaN, and what is nearest if
// it is none of the integers.
func integerOf(f float64) int {
	switch {
	case math.IsNaN(f):
		return 0
	case f >= math.MaxInt:
		return math.MaxInt
	case f <= math.MinInt:
		return math.MinInt
	}
	return int(f)
}
