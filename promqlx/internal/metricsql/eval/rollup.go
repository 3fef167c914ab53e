package eval

import (
	"fmt"
	"math"
	"slices"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/rollup"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/transform"
)

// call is a function over windows where it is called.
type call struct {
	f    *rollup.Func
	expr mql.Expr        // the whole, the aggregate around it included
	arg  *mql.RollupExpr // what the windows are of
	aggr *mql.AggrFuncExpr
}

// keepsNames tells whether the call says keep_metric_names.
func (c *call) keepsNames() bool {
	e := c.expr
	if c.aggr != nil {
		if len(c.aggr.Args) != 1 {
			return false
		}
		e = c.aggr.Args[0]
	}
	f, ok := e.(*mql.FuncExpr)
	return ok && f.KeepMetricNames
}

// rollup evaluates a function over windows, with @ if there is one: what it comes to
// at that time stands at all steps.
func (q *query) rollup(s Scope, c *call) ([]*series.Series, error) {
	if c.arg.At == nil {
		return q.rollupOffset(s, c)
	}
	at, err := q.expr(s, c.arg.At)
	if err != nil {
		return nil, readable{&about{"cannot evaluate `@` modifier", nil, err}}
	}
	if len(at) != 1 {
		return nil, readablef("`@` modifier must return a single series; it returns %d series instead", len(at))
	}
	i := slices.IndexFunc(at[0].Values, func(v float64) bool { return !math.IsNaN(v) })
	if i < 0 {
		return nil, readablef("`@` modifier must return a non-NaN value")
	}
	all, err := q.rollupOffset(s.at(Near(int64(at[0].Values[i]*1000))), c)
	if err != nil {
		return nil, err
	}
	g := s.grid()
	if err := q.hold(len(all), g); err != nil {
		return nil, err
	}
	for _, one := range all {
		one.Values = series.Constant(one.Values[0], g.N).Values
	}
	return all, nil
}

func (q *query) rollupOffset(s Scope, c *call) ([]*series.Series, error) {
	if c.arg.Offset != nil {
		s = s.shifted(-Near(c.arg.Offset.Duration(s.Step)))
	}
	if c.f.Name() == "rollup_candlestick" {
		s = s.shifted(s.Step) // so that a candle is what follows its time
	}
	var all []*series.Series
	var err error
	if m, ok := c.arg.Expr.(*mql.MetricExpr); ok {
		all, err = q.rollupSelector(s, c, m)
	} else {
		all, err = q.rollupSubquery(s, c)
	}
	if err != nil {
		return nil, asReadable(err)
	}
	if c.f.Name() == "absent_over_time" {
		all = absent(s, c.arg.Expr, all)
	}
	return all, nil
}

// absent makes one series of what absent_over_time comes to: 1 where no series has
// samples.
func absent(s Scope, e mql.Expr, all []*series.Series) []*series.Series {
	out := transform.Absent(e, s.grid().N)
	for _, one := range all {
		for i, v := range one.Values {
			if math.IsNaN(v) {
				out[0].Values[i] = math.NaN()
			}
		}
	}
	return out
}

func (q *query) rollupSubquery(s Scope, c *call) ([]*series.Series, error) {
	step, err := c.arg.Step.NonNegativeDuration(s.Step)
	if err != nil {
		return nil, fmt.Errorf("cannot parse step in square brackets at %s: %w", c.expr.AppendString(nil), err)
	}
	if step == 0 {
		step = s.Step
	}
	window, err := c.arg.Window.NonNegativeDuration(s.Step)
	if err != nil {
		return nil, fmt.Errorf("cannot parse lookbehind window in square brackets at %s: %w", c.expr.AppendString(nil), err)
	}
	step, window = Near(step), Near(window)
	inner := s
	inner.Start = Near(s.Start - window - step - silence)
	inner.End = Near(s.End + step)
	inner.Step, inner.maxPoints = step, maxSubqueryPoints
	if err := ValidatePoints(inner.Start, inner.End, inner.Step, inner.maxPoints); err != nil {
		return nil, fmt.Errorf("%w; (see -search.maxPointsSubqueryPerTimeseries command-line flag)", err)
	}
	inner.Start, inner.End = align(inner.Start, inner.End, inner.Step)
	sub, err := q.expr(inner, c.arg.Expr)
	if err != nil || len(sub) == 0 {
		return nil, err
	}
	roller, err := q.roller(s, c, window)
	if err != nil {
		return nil, err
	}
	g, from := s.grid(), inner.grid()
	var out []*series.Series
	scratch := rollup.Scratch{Pace: &q.pace, Hold: q.holding(s)}
	var values []float64
	var times []int64
	for i, one := range sub {
		if i&15 == 0 {
			if err := q.pause(); err != nil {
				return nil, err
			}
		}
		values, times = values[:0], times[:0]
		for k, v := range one.Values {
			if !math.IsNaN(v) {
				values, times = append(values, v), append(times, from.T(k))
			}
		}
		before, since := len(out), q.used()
		out = roller.Append(out, &one.Name, c.keepsNames(), values, times, &scratch)
		if err := q.pace.Err(); err != nil {
			return nil, err
		}
		if err := q.settle(since, len(out)-before, g); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (q *query) roller(s Scope, c *call, window int64) (*rollup.Roller, error) {
	return c.f.On(rollup.Windows{Grid: s.grid(), Window: window, Lookback: q.Lookback}, c.expr)
}

// silence is how long before a window the sample before it is looked for, beyond the
// window itself.
const silence = 5 * 60 * 1000

// rollupSelector evaluates a function over windows of stored series.
func (q *query) rollupSelector(s Scope, c *call, m *mql.MetricExpr) ([]*series.Series, error) {
	window, err := c.arg.Window.NonNegativeDuration(s.Step)
	if err != nil {
		return nil, fmt.Errorf("cannot parse lookbehind window in square brackets at %s: %w", c.expr.AppendString(nil), err)
	}
	if m.IsEmpty() {
		return number(s, math.NaN()), nil
	}
	window = Near(window)
	if s.instant() {
		all, err := q.rollupOnce(s, c, m, window)
		return all, asReadable(err)
	}
	all, err := q.read(s, c, m, window)
	if err != nil {
		return nil, asReadable(err)
	}
	if s.keeps() && len(all) > 1 {
		sortLabels(all)
	}
	return all, nil
}

// sortLabels sorts the labels of series until it meets one again: so far
// VictoriaMetrics gets when it makes sure that it can keep them. It returns whether
// it met one.
func sortLabels(all []*series.Series) (again bool) {
	seen := make(map[string]struct{}, len(all))
	var key []byte
	for _, one := range all {
		key = one.Name.AppendKey(key[:0])
		if _, ok := seen[string(key)]; ok {
			return true
		}
		seen[string(key)] = struct{}{}
	}
	return false
}
