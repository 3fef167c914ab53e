package transform

import (
	"fmt"
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// want returns an error unless there are n arguments.
func (c *call) want(n int) error {
	if len(c.Args) == n {
		return nil
	}
	return fmt.Errorf("unexpected number of args; got %d; want %d", len(c.Args), n)
}

// wantSome returns an error if there are less than n arguments.
func (c *call) wantSome(n int) error {
	if len(c.Args) >= n {
		return nil
	}
	return fmt.Errorf("not enough args; got %d; want at least %d", len(c.Args), n)
}

// scalar returns the values of argument i.
func (c *call) scalar(i int) ([]float64, error) { return series.Scalar(c.Args[i], i) }

// first returns what argument i is at the first step.
func (c *call) first(i int) (float64, error) {
	values, err := c.scalar(i)
	if err != nil || len(values) == 0 {
		return 0, err
	}
	return values[0], nil
}

// integer returns what argument i is at the first step, cut to an integer. What is
// not a number is the least of all, as on the machines VictoriaMetrics runs on.
func (c *call) integer(i int) (int, error) {
	v, err := c.first(i)
	switch {
	case err != nil:
		return 0, err
	case v >= math.MaxInt:
		return math.MaxInt, nil
	case v > math.MinInt:
		return int(v), nil
	}
	return math.MinInt, nil
}

// text returns the text that argument i is.
func (c *call) text(i int) (string, error) { return series.Text(c.Args[i], i) }

// texts returns the texts that all arguments from i on are.
func (c *call) texts(i int) ([]string, error) {
	all := make([]string, 0, max(len(c.Args)-i, 0))
	for ; i < len(c.Args); i++ {
		s, err := c.text(i)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

type pair struct{ key, value string }

// pairs returns the texts that all arguments from i on are, two by two. Errors number
// arguments from i.
func (c *call) pairs(i int) ([]pair, error) {
	args := c.Args[i:]
	if len(args)%2 != 0 {
		return nil, fmt.Errorf("the number of string args must be even; got %d", len(args))
	}
	all := make([]pair, 0, len(args)/2)
	for i := 0; i < len(args); i += 2 {
		key, err := series.Text(args[i], i)
		if err != nil {
			return nil, err
		}
		value, err := series.Text(args[i+1], i+1)
		if err != nil {
			return nil, err
		}
		all = append(all, pair{key, value})
	}
	return all, nil
}
