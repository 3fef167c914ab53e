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

// scalar returns the values by step of argument i.
func (a args) scalar(i int) ([]float64, error) { return series.Scalar(a[i], i) }

// text returns the string that argument i is.
func (a args) text(i int) (string, error) { return series.Text(a[i], i) }

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
