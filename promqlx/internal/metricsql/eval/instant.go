package eval

import (
	"strings"

	mql "github.com/VictoriaMetrics/metricsql"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
)

// longWindow is the window from which on VictoriaMetrics evaluates some functions at
// one time by what it keeps of earlier times. (-search.minWindowForInstantRollupOptimization)
const longWindow = 3 * 60 * 60 * 1000

// rollupOnce evaluates a function over windows of stored series at one time. Over
// long windows it shows that VictoriaMetrics takes other ways, though all is
// evaluated anew here: averages are sums by counts and rates increases by the window,
// and labels are sorted.
func (q *query) rollupOnce(s Scope, c *call, m *mql.MetricExpr, window int64) ([]*series.Series, error) {
	if !s.keeps() || window < longWindow {
		return q.read(s, c, m, window)
	}
	under := func(name string) bool { return c.aggr == nil || strings.EqualFold(c.aggr.Name, name) }
	switch c.f.Name() {
	case "avg_over_time":
		if c.aggr == nil {
			return q.averageOnce(s, c)
		}
	case "rate":
		if under("sum") {
			return q.rateOnce(s, c)
		}
	case "max_over_time":
		if under("max") {
			return q.sortedOnce(s, c, m, window)
		}
	case "min_over_time":
		if under("min") {
			return q.sortedOnce(s, c, m, window)
		}
	case "count_eq_over_time", "count_gt_over_time", "count_le_over_time", "count_ne_over_time", "count_over_time",
		"increase", "increase_pure", "sum_over_time":
		if under("sum") {
			return q.sortedOnce(s, c, m, window)
		}
	}
	return q.read(s, c, m, window)
}

func (q *query) sortedOnce(s Scope, c *call, m *mql.MetricExpr, window int64) ([]*series.Series, error) {
	all, err := q.read(s, c, m, window)
	if err == nil && len(all) > 1 {
		sortLabels(all)
	}
	return all, err
}

// averageOnce evaluates avg_over_time(m[d]) as sum_over_time(m[d]) / count_over_time(m[d]).
func (q *query) averageOnce(s Scope, c *call) ([]*series.Series, error) {
	f := c.expr.(*mql.FuncExpr)
	arg := withoutOffset(f.Args[0])
	part := func(name string) mql.Expr {
		return &mql.FuncExpr{Name: name, Args: []mql.Expr{arg}, KeepMetricNames: f.KeepMetricNames}
	}
	return q.expr(s, &mql.BinaryOpExpr{
		Op: "/", KeepMetricNames: f.KeepMetricNames, Left: part("sum_over_time"), Right: part("count_over_time"),
	})
}

// rateOnce evaluates rate(m[d]) as increase(m[d]) / d, below a sum too.
func (q *query) rateOnce(s Scope, c *call) ([]*series.Series, error) {
	f, _ := c.expr.(*mql.FuncExpr)
	if c.aggr != nil {
		f = c.aggr.Args[0].(*mql.FuncExpr)
	}
	arg := withoutOffset(f.Args[0])
	d := arg.Window.Duration(s.Step)
	if d == 0 {
		d = s.Step
	}
	increase := *f
	increase.Name, increase.Args = "increase", []mql.Expr{arg}
	of := &mql.BinaryOpExpr{Op: "/", KeepMetricNames: f.KeepMetricNames, Left: &increase, Right: &mql.NumberExpr{N: float64(d) / 1000}}
	if c.aggr != nil {
		sum := *c.aggr
		sum.Args = []mql.Expr{&increase}
		of.Left, of.KeepMetricNames = &sum, true
	}
	return q.expr(s, of)
}

// withoutOffset copies an argument with windows; the scope has its offset already.
func withoutOffset(e mql.Expr) *mql.RollupExpr {
	r := *e.(*mql.RollupExpr)
	r.Offset = nil
	return &r
}
