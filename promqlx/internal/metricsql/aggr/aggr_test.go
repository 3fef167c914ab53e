package aggr_test

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/aggr"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// read reads series like `up{b=1,a=2} 1 - 3`, where - is no value.
func read(lines ...string) []*series.Series {
	var out []*series.Series
	for _, line := range lines {
		fields := strings.Fields(line)
		s := &series.Series{}
		name, tags, _ := strings.Cut(strings.TrimSuffix(fields[0], "}"), "{")
		s.Name.Group = name
		for tag := range strings.SplitSeq(tags, ",") {
			if key, value, ok := strings.Cut(tag, "="); ok {
				s.Name.Add(key, value)
			}
		}
		for _, field := range fields[1:] {
			v := math.NaN()
			if field != "-" {
				v, _ = strconv.ParseFloat(field, 64)
			}
			s.Values = append(s.Values, v)
		}
		out = append(out, s)
	}
	return out
}

// write is the way back; labels are in the order they are in.
func write(all []*series.Series) []string {
	out := []string{}
	for _, s := range all {
		var tags []string
		for _, t := range s.Name.Tags {
			tags = append(tags, t.Key+"="+t.Value)
		}
		line := s.Name.Group + "{" + strings.Join(tags, ",") + "}"
		for _, v := range s.Values {
			if math.IsNaN(v) {
				line += " -"
			} else {
				line += " " + strconv.FormatFloat(v, 'g', -1, 64)
			}
		}
		out = append(out, line)
	}
	return out
}

// call returns a call of query, whose arguments are numbers, strings, and the name
// of the series given.
func call(t testing.TB, query string, in []*series.Series) *aggr.Call {
	t.Helper()
	e, err := mql.Parse(query)
	require.NoError(t, err)
	c := &aggr.Call{Expr: e.(*mql.AggrFuncExpr), Grid: row.Grid{Step: 1, N: 3}}
	if len(in) > 0 {
		c.Grid.N = len(in[0].Values)
	}
	for _, arg := range c.Expr.Args {
		switch arg := arg.(type) {
		case *mql.NumberExpr:
			c.Args = append(c.Args, []*series.Series{series.Constant(arg.N, c.Grid.N)})
		case *mql.StringExpr:
			s := series.Constant(math.NaN(), c.Grid.N)
			s.Name.Group = arg.S
			c.Args = append(c.Args, []*series.Series{s})
		default:
			var all []*series.Series
			for _, s := range in {
				all = append(all, s.Clone())
			}
			c.Args = append(c.Args, all)
		}
	}
	return c
}

var sample = []string{
	"m{job=a,host=1} 1 - 5",
	"m{job=a,host=2} 3 - -2",
	"m{job=b,host=1} 2 7 5",
	"n{job=b,host=3} - 4 5",
	"m{job=c,host=9} - - -",
}

func TestAggregates(t *testing.T) {
	f := func(query string, want ...string) {
		t.Helper()
		got, err := aggr.Eval(call(t, query, read(sample...)))
		require.NoError(t, err, query)
		require.Equal(t, append([]string{}, want...), write(got), query)
	}
	f("sum(m)", "{} 6 11 13")
	f("SUM(m) by (job)", "{job=a} 4 - 3", "{job=b} 2 11 10")
	f("sum(m) by (job, __name__)", "m{job=a} 4 - 3", "m{job=b} 2 7 5", "n{job=b} - 4 5")
	f("sum(m) without (host)", "{job=a} 4 - 3", "{job=b} 2 11 10")
	f("sum(m) without ()", "{host=1,job=a} 1 - 5", "{host=2,job=a} 3 - -2", "{host=1,job=b} 2 7 5", "{host=3,job=b} - 4 5")
	f("sum(m) by (job) limit 1", "{job=a} 4 - 3")
	f("avg(m)", "{} 2 5.5 3.25")
	f("min(m)", "{} 1 4 -2")
	f("max(m) by (host)", "{host=1} 2 7 5", "{host=2} 3 - -2", "{host=3} - 4 5")
	f("count(m)", "{} 3 2 4")
	f("group(m) by (job)", "{job=a} 1 - 1", "{job=b} 1 1 1")
	f("sum2(m)", "{} 14 65 79")
	f("geomean(m) by (job)", "{job=a} 1.7320508075688772 - -", "{job=b} 2 5.291502622129181 5")
	f("stdvar(m)", "{} 0.6666666666666666 2.25 9.1875")
	f("stddev(m) by (host)", "{host=1} 0.5 0 0", "{host=2} 0 - 0", "{host=3} - 0 0")
	f("distinct(m)", "{} 3 2 2")
	f("mode(m)", "{} 1 4 5")
	f("median(m)", "{} 2 5.5 5")
	f("mad(m)", "{} 1 1.5 0")
	f("quantile(0.25, m)", "{} 1.5 4.75 3.25")
	f("quantile(2, m)", "{} +Inf +Inf +Inf")
	f("quantile(-1, m) by (job)", "{job=a} -Inf - -Inf", "{job=b} -Inf -Inf -Inf")
	f(`quantiles("host", 0, 1, m) by (host, job)`,
		"{job=a,host=0} 1 - 5", "{job=a,host=1} 1 - 5", "{job=a,host=0} 3 - -2", "{job=a,host=1} 3 - -2",
		"{job=b,host=0} 2 7 5", "{job=b,host=1} 2 7 5", "{job=b,host=0} - 4 5", "{job=b,host=1} - 4 5")
	f(`quantiles("__name__", 1e-7, 1e21, m)`, "1e-07{} 1.0000002 4.0000003 -1.9999979", "1e+21{} +Inf +Inf +Inf")
	f(`count_values("v", m)`, "{v=1} 1 - -", "{v=5} - - 3", "{v=3} 1 - -", "{v=-2} - - 1", "{v=2} 1 - -", "{v=7} - 1 -", "{v=4} - 1 -")
	f(`count_values("host", m) by (job, host) limit 1`, "{job=a,host=1} 1 - -", "{job=a,host=5} - - 1", "{job=a,host=3} 1 - -", "{job=a,host=-2} - - 1")
	f(`count_values("job", m) without (host) limit 1`, "{job=1} 1 - -", "{job=5} - - 3", "{job=3} 1 - -", "{job=-2} - - 1", "{job=2} 1 - -", "{job=7} - 1 -", "{job=4} - 1 -")

	// Those that keep the series leave their names as they are.
	f("any(m) by (job)", "m{job=a,host=1} 1 - 5", "m{job=b,host=1} 2 7 5")
	f("any(m) by (job) limit 2", "m{job=a,host=1} 1 - 5")
	f("share(m) by (job)", "m{job=a,host=1} 0.25 - 1", "m{job=a,host=2} 0.75 - -", "m{job=b,host=1} 1 0.6363636363636364 0.5", "n{job=b,host=3} - 0.36363636363636365 0.5")
	f("zscore(m) by (job)", "m{job=a,host=1} -1 - 1", "m{job=a,host=2} 1 - -1", "m{job=b,host=1} - 1 -", "n{job=b,host=3} - -1 -")
	f("topk(1, m)", "m{job=b,host=1} - 7 5", "m{job=a,host=2} 3 - -")
	f("bottomk(1, m) by (job)", "m{job=a,host=2} - - -2", "m{job=a,host=1} 1 - -", "n{job=b,host=3} - 4 5", "m{job=b,host=1} 2 - -")
	f("topk(1e30, m) by (job) limit 1", "m{job=a,host=1} 1 - 5", "m{job=a,host=2} 3 - -2")
	f("topk(-1, m)")
	f("topk(NaN, m)")
	f("topk_max(1, m)", "m{job=b,host=1} 2 7 5")
	f("topk_min(1, m)", "n{job=b,host=3} - 4 5")
	f("topk_avg(1, m)", "m{job=b,host=1} 2 7 5")
	f("topk_median(1, m) by (job)", "m{job=a,host=1} 1 - 5", "m{job=b,host=1} 2 7 5")
	f("bottomk_last(1, m)", "m{job=a,host=2} 3 - -2")
	f(`topk_max(1, m, "rest")`, "{rest=rest} 4 4 8", "m{job=b,host=1} 2 7 5")
	f(`bottomk_min(1, m, "host=rest") by (job, host)`, "m{job=a,host=1} 1 - 5", "m{job=a,host=2} 3 - -2", "m{job=b,host=1} 2 7 5", "n{job=b,host=3} - 4 5")
	f(`topk_avg(1, m, "job=rest") by (job)`, "{job=rest} 3 - -2", "m{job=a,host=1} 1 - 5", "{job=rest} - 4 5", "m{job=b,host=1} 2 7 5")
	f("outliersk(1, m)", "m{job=b,host=1} 2 7 5")
	f("outliers_mad(1, m)", "m{job=a,host=2} 3 - -2")
	f("outliers_iqr(m)", "m{job=a,host=2} 3 - -2")
	f("limitk(2, m)", "m{job=a,host=1} 1 - 5", "n{job=b,host=3} - 4 5")
	f("limitk(0, m)")
	f("limitk(-3, m)")
}

func TestHistogram(t *testing.T) {
	f := func(in string, want ...string) {
		t.Helper()
		got, err := aggr.Eval(call(t, "histogram(m) by (job)", read(strings.Split(in, ";")...)))
		require.NoError(t, err)
		require.Equal(t, append([]string{}, want...), write(got))
	}
	f("m{job=a} 0 -;m{job=a} 1 -1", "{job=a,le=1.000e-09} 1 0", "{job=a,le=8.799e-01} 1 0", "{job=a,le=1.000e+00} 2 0", "{job=a,le=+Inf} 2 0")
	f("m{job=a} 1 -;m{job=a} 1.1 -;m{job=a} - 2", "{job=a,le=8.799e-01} 0 0", "{job=a,le=1.000e+00} 1 0", "{job=a,le=1.136e+00} 2 0",
		"{job=a,le=1.896e+00} 2 0", "{job=a,le=2.154e+00} 2 1", "{job=a,le=+Inf} 2 1")
	f("m{job=a} 1e18 +Inf", "{job=a,le=1.000e+18} 0 0", "{job=a,le=+Inf} 1 1")
	f("m{job=a} -3 -")
}

func TestErrors(t *testing.T) {
	f := func(query, want string) {
		t.Helper()
		_, err := aggr.Eval(call(t, query, read(sample...)))
		require.EqualError(t, err, want)
	}
	f("topk(1)", "unexpected number of args; got 1; want 2")
	f("topk(m, m)", "arg #1 must be a scalar")
	f("topk_avg(1)", "unexpected number of args; got 1; want at least 2")
	f(`topk_avg(1, m, "a", 2)`, "unexpected number of args; got 4; want no more than 3")
	f("bottomk_avg(1, m, 2)", "arg #3 must be a string")
	f(`quantiles("a", 1)`, "unexpected number of args: 2; expecting at least 3 args")
	f("quantiles(1, 1, m)", "cannot obtain dstLabel: arg #1 must be a string")
	f(`quantiles("a", m, m)`, "arg #2 must be a scalar")
	f("limitk(m, m)", "cannot obtain limit arg: arg #1 must be a scalar")
	f("count_values(1, m)", "arg #1 must be a string")
	f("outliers_iqr(m, m)", "unexpected number of args; got 2; want 1")
	f("outliers_mad(m)", "unexpected number of args; got 1; want 2")
	f("quantile(m)", "unexpected number of args; got 1; want 2")
	for _, name := range []string{"sum", "any", "median", "share"} {
		_, err := aggr.Eval(&aggr.Call{Expr: &mql.AggrFuncExpr{Name: name}})
		require.EqualError(t, err, "expecting at least one arg")
	}
	_, err := aggr.Eval(&aggr.Call{Expr: &mql.AggrFuncExpr{Name: "nope"}})
	require.EqualError(t, err, `unknown func "nope"`)
}

func TestKnown(t *testing.T) {
	n := 0
	for _, name := range strings.Fields(`any avg bottomk bottomk_avg bottomk_last bottomk_max bottomk_median bottomk_min count
		count_values distinct geomean group histogram limitk mad max median min mode outliers_iqr outliers_mad outliersk
		quantile quantiles share stddev stdvar sum sum2 topk topk_avg topk_last topk_max topk_median topk_min zscore`) {
		require.True(t, aggr.Known(name), name)
		require.True(t, aggr.Known(strings.ToUpper(name)), name)
		require.True(t, mql.IsAggrFunc(name), name)
		n++
	}
	require.Equal(t, 37, n)
	for _, name := range []string{"", "rate", "topk_", "topk_sum", "bottomk_stddev", "sum_avg", "limitk_avg"} {
		require.False(t, aggr.Known(name), name)
	}
}

func TestAllArgumentsCount(t *testing.T) {
	got, err := aggr.Eval(call(t, "sum(m, m, 1) by (job)", read(sample...)))
	require.NoError(t, err)
	require.Equal(t, []string{"{job=a} 8 - 6", "{job=b} 4 22 20", "{} 1 1 1"}, write(got))
}

// Modifiers belong to the query, which others may evaluate at the same time.
func TestTheExpressionStays(t *testing.T) {
	for _, query := range []string{`count_values("job", m) without (host)`, `count_values("job", m) by (job, host)`} {
		c := call(t, query, read(sample...))
		want := fmt.Sprint(c.Expr.Modifier)
		_, err := aggr.Eval(c)
		require.NoError(t, err)
		require.Equal(t, want, fmt.Sprint(c.Expr.Modifier))
	}
}

// What makes more series than there were asks before.
func TestHold(t *testing.T) {
	f := func(query string, want int) {
		t.Helper()
		held := 0
		c := call(t, query, read(sample...))
		c.Hold = func(series int) error {
			held += series
			return nil
		}
		got, err := aggr.Eval(c)
		require.NoError(t, err)
		require.Equal(t, want, held, query)

		c = call(t, query, read(sample...))
		full := errors.New("no room")
		c.Hold = func(int) error { return full }
		_, err = aggr.Eval(c)
		if want > 0 {
			require.ErrorIs(t, err, full)
		} else {
			require.NoError(t, err)
		}
		require.NotEmpty(t, got)
	}
	f(`count_values("v", m)`, 7)
	f(`quantiles("phi", 0, 0.2, 0.5, 0.8, 1, m)`, 1)
	f("histogram(m)", 9)
	f(`topk_max(5, m) without ()`, 0)
	f("sum(m)", 0)
}
