package rollup

import (
	"fmt"
	"math"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// args are the values of a call's arguments; errors count them from 1.
type args [][]*series.Series

// count checks how many there are.
func (a args) count(want int) error {
	if len(a) == want {
		return nil
	}
	return fmt.Errorf("unexpected number of args; got %d; want %d", len(a), want)
}

// scalar returns the values by step of the one series that argument i is.
func (a args) scalar(i int) ([]float64, error) {
	if len(a[i]) != 1 {
		return nil, fmt.Errorf("arg #%d must be a scalar", i+1)
	}
	return a[i][0].Values, nil
}

// text returns the string that argument i is: a series of that name without values.
func (a args) text(i int) (string, error) {
	if len(a[i]) != 1 || !a[i][0].Empty() {
		return "", fmt.Errorf("arg #%d must be a string", i+1)
	}
	return a[i][0].Name.Group, nil
}

// pair is of functions of two arguments, one of which, at i, is a scalar.
func (a args) pair(i int) ([]float64, error) {
	if err := a.count(2); err != nil {
		return nil, err
	}
	return a.scalar(i)
}

var (
	nan = math.NaN()
	inf = math.Inf(1)
)
