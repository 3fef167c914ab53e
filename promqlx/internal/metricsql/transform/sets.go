package transform

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// union gives every series once, those of the first argument first. Numbers alone are
// all given, even equal ones: they are the list that `q == (1, 2)` looks at.
func union(c *call) ([]*series.Series, error) {
	if len(c.Args) == 0 {
		return c.constant(math.NaN()), nil
	}
	if allScalars(c.Args) {
		all := make([]*series.Series, len(c.Args))
		for i, arg := range c.Args {
			all[i] = arg[0]
		}
		return all, nil
	}
	all := make([]*series.Series, 0, len(c.Args[0]))
	seen := make(map[string]struct{}, len(c.Args[0]))
	var key []byte
	for _, arg := range c.Args {
		for _, s := range arg {
			key = s.Name.AppendKey(key[:0])
			if _, ok := seen[string(key)]; ok {
				continue
			}
			seen[string(key)] = struct{}{}
			all = append(all, s)
		}
	}
	return all, nil
}

func allScalars(args [][]*series.Series) bool {
	for _, arg := range args {
		if len(arg) != 1 || arg[0].Name.Group != "" || len(arg[0].Name.Tags) > 0 {
			return false
		}
	}
	return true
}

func absent(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	all := Absent(c.Expr.Args[0], c.Grid.N)
	values := all[0].Values
	for _, s := range c.Args[0] {
		for i, v := range s.Values {
			if !math.IsNaN(v) {
				values[i] = math.NaN()
			}
		}
	}
	return all, nil
}

// Absent returns the series that tells that a selector found nothing: 1 at n steps,
// with the labels the selector asks for by `=`, but not the name. Any other expression
// and a selector with `or` give one without labels.
func Absent(e mql.Expr, n int) []*series.Series {
	s := series.Constant(1, n)
	if m, ok := e.(*mql.MetricExpr); ok && len(m.LabelFilterss) == 1 {
		for _, f := range m.LabelFilterss[0] {
			if f.Label != series.NameLabel && f.Label != "" && !f.IsRegexp && !f.IsNegative {
				s.Name.Add(f.Label, f.Value)
			}
		}
	}
	return []*series.Series{s}
}

// scalar makes a series a number, which has no labels. A string is read as a number.
func scalar(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	if e, ok := c.Expr.Args[0].(*mql.StringExpr); ok {
		v, err := strconv.ParseFloat(e.S, 64)
		if err != nil {
			v = math.NaN()
		}
		return c.constant(v), nil
	}
	arg := c.Args[0]
	if len(arg) != 1 {
		return c.constant(math.NaN()), nil
	}
	arg[0].Name = series.Name{}
	return arg, nil
}

func vector(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	return c.Args[0], nil
}

func dropEmptySeries(c *call) ([]*series.Series, error) {
	if err := c.want(1); err != nil {
		return nil, err
	}
	return series.DropEmpty(c.Args[0]), nil
}

var errNegative = errors.New("must not be negative")

// limitOffset gives up to a number of series, those after a number of others. Limits
// below zero are errors (VictoriaMetrics 1.146 crashes of them); strings are such.
func limitOffset(c *call) ([]*series.Series, error) {
	if err := c.want(3); err != nil {
		return nil, err
	}
	limit, err := c.integer(0)
	if err == nil && limit < 0 {
		err = errNegative
	}
	if err != nil {
		return nil, fmt.Errorf("cannot obtain limit arg: %w", err)
	}
	offset, err := c.integer(1)
	if err == nil && offset < 0 {
		err = errNegative
	}
	if err != nil {
		return nil, fmt.Errorf("cannot obtain offset arg: %w", err)
	}
	all := series.DropEmpty(c.Args[2])
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))], nil
}

// dropCommonLabels drops what all series of all arguments have in common, the
// metric's name too.
func dropCommonLabels(c *call) ([]*series.Series, error) {
	if err := c.wantSome(1); err != nil {
		return nil, err
	}
	all := c.Args[0]
	for _, arg := range c.Args[1:] {
		all = append(all, arg...)
	}
	count := map[series.Tag]int{}
	for _, s := range all {
		count[series.Tag{Key: series.NameLabel, Value: s.Name.Group}]++
		for _, t := range s.Name.Tags {
			count[t]++
		}
	}
	var common []string
	for t, n := range count {
		if n == len(all) {
			common = append(common, t.Key)
		}
	}
	for _, s := range all {
		s.Name.Drop(common)
	}
	return all, nil
}
