package transform

import (
	"fmt"
	"math"
	"time"
	_ "time/tzdata" // for timezone_offset where the machine has none

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// number makes a function without arguments of one that is the same at all steps.
func number(f func(*call) float64) function {
	return func(c *call) ([]*series.Series, error) {
		if err := c.want(0); err != nil {
			return nil, err
		}
		return c.constant(f(c)), nil
	}
}

// end returns the end of the evaluation as it was given, in milliseconds.
func (c *call) end() int64 {
	last := c.Grid.End()
	if over := c.End - last; over > 0 && over < c.Grid.Step {
		return c.End
	}
	return last
}

func times(c *call) ([]*series.Series, error) {
	if err := c.want(0); err != nil {
		return nil, err
	}
	return c.times(), nil
}

// times returns the times of the steps, in seconds.
func (c *call) times() []*series.Series {
	all := c.constant(0)
	for i := range all[0].Values {
		all[0].Values[i] = float64(c.Grid.T(i)) / 1e3
	}
	return all
}

// date makes a function of a part of a date, in UTC; without an argument it is about
// the steps' times.
func date(part func(time.Time) int) function {
	return func(c *call) ([]*series.Series, error) {
		if len(c.Args) > 1 {
			return nil, fmt.Errorf("too many args; got %d; want up to %d", len(c.Args), 1)
		}
		var all []*series.Series
		if len(c.Args) == 1 {
			all = c.Args[0]
		} else {
			all = c.times()
		}
		return c.apply(all, func(values []float64) {
			for i, v := range values {
				if !math.IsNaN(v) {
					values[i] = float64(part(time.Unix(int64(v), 0).UTC()))
				}
			}
		}), nil
	}
}

func daysInMonth(t time.Time) int {
	switch t.Month() {
	case time.February:
		if y := uint32(t.Year()); y%4 == 0 && (y%100 != 0 || y%400 == 0) {
			return 29
		}
		return 28
	case time.April, time.June, time.September, time.November:
		return 30
	}
	return 31
}

func timezoneOffset(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	name, err := c.text(0)
	if err != nil {
		return nil, fmt.Errorf("cannot get timezone name: %w", err)
	}
	loc, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("cannot load timezone %q: %w", name, err)
	}
	all := c.constant(0)
	for i := range all[0].Values {
		_, offset := time.Unix(c.Grid.T(i)/1000, 0).In(loc).Zone()
		all[0].Values[i] = float64(offset)
	}
	return all, nil
}
