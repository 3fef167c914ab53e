package rollup_test

import (
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/rollup"
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/row"
)

const (
	second = 1000
	epoch  = 1_600_000_020 // what times below are counted from
)

// The series m: seconds and values. It falls, pauses for two minutes, goes on lower
// and ends with a staleness marker.
var (
	times  = []int64{10, 20, 30, 40, 55, 70, 200, 210, 220, 230}
	values = []float64{1, 3, 2, 2, 5, 9, 4, 4.5, 7, math.Float64frombits(value.StaleNaN)}
)

// constant is the value of an argument that is a number or a text.
func constant(e mql.Expr, grid row.Grid) []*series.Series {
	switch e := e.(type) {
	case *mql.NumberExpr:
		return []*series.Series{series.Constant(e.N, grid.N)}
	case *mql.StringExpr:
		s := series.Constant(math.NaN(), grid.N)
		s.Name.Group = e.S
		return []*series.Series{s}
	}
	return nil
}

// prepare parses a call on m[d] or m and puts it on w, whose window it sets.
func prepare(text string, w *rollup.Windows) (*rollup.Func, *rollup.Roller, error) {
	e, err := mql.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	call := e.(*mql.FuncExpr)
	rolled := mql.GetRollupArgIdx(call)
	args := make([][]*series.Series, len(call.Args))
	for i, a := range call.Args {
		if i != rolled {
			args[i] = constant(a, w.Grid)
			continue
		}
		if re, ok := a.(*mql.RollupExpr); ok {
			w.Window = re.Window.Duration(w.Grid.Step)
		}
	}
	f, err := rollup.New(call, args)
	if err != nil {
		return nil, nil, err
	}
	if f.Name() == "rollup_candlestick" { // one step later, as the evaluator does it
		w.Grid.Start += w.Grid.Step
	}
	r, err := f.On(*w, call)
	return f, r, err
}

// samples are those that a query reads: so far back that the first window is
// covered, and five minutes more if the function looks before it.
func samples(f *rollup.Func, w rollup.Windows) ([]float64, []int64) {
	from := w.Grid.Start - max(w.Window, w.Grid.Step)
	if f.NeedsSilence() {
		from -= 300 * second
	}
	var vs []float64
	var ts []int64
	for i, t := range times {
		if t = (epoch + t) * second; t >= from && t <= w.Grid.End() {
			vs, ts = append(vs, values[i]), append(ts, t)
		}
	}
	return vs, ts
}

// show renders series, one a line, in the order of their names.
func show(all []*series.Series) string {
	var lines []string
	for _, s := range all {
		if s.Empty() {
			continue
		}
		line := s.Name.String()
		for _, v := range s.Values {
			if math.IsNaN(v) {
				line += " _"
				continue
			}
			line += " " + strconv.FormatFloat(v, 'g', -1, 64)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func roll(t *testing.T, text string, w rollup.Windows) string {
	t.Helper()
	f, r, err := prepare(text, &w)
	require.NoError(t, err, text)
	name := series.Name{Group: "m", Tags: []series.Tag{{Key: "job", Value: "j"}, {Key: "a", Value: "b"}}}
	kept := name.Clone()
	vs, ts := samples(f, w)
	var s rollup.Scratch
	all := r.Append(nil, &name, false, slices.Clone(vs), slices.Clone(ts), &s)
	require.Equal(t, kept, name, "%s: the name is not changed", text)
	if r.Single() {
		dst := r.Do([]float64{42}, vs, ts, &s)
		require.Equal(t, 42.0, dst[0])
		got := []*series.Series{{Name: all[0].Name, Values: dst[1:]}}
		require.Equal(t, show(all), show(got), "%s: Do as Append", text)
	}
	return show(all)
}

// TestReference rolls m up as VictoriaMetrics v1.146.0 answered. A line of
// testdata/reference.txt that is a query is followed by the series of its answer:
//
//	start step steps lookback query
//
// (The labels of absent_over_time are those of m, as long as the evaluator has not made others.)
func TestReference(t *testing.T) {
	text, err := os.ReadFile("testdata/reference.txt")
	require.NoError(t, err)
	seen := make(map[string]bool)
	for block := range strings.SplitSeq(strings.TrimSpace(string(text)), "\n\n") {
		head, want, _ := strings.Cut(block, "\n")
		var w rollup.Windows
		fields := strings.SplitN(head, " ", 5)
		require.Len(t, fields, 5, head)
		for i, to := range []*int64{&w.Grid.Start, &w.Grid.Step, nil, &w.Lookback} {
			n, err := strconv.ParseInt(fields[i], 10, 64)
			require.NoError(t, err, head)
			if to == nil {
				w.Grid.N = int(n)
				continue
			}
			*to = n * second
		}
		w.Grid.Start += epoch * second
		query := fields[4]
		name, _, _ := strings.Cut(query, "(")
		seen[name] = true
		require.Equal(t, want, roll(t, query, w), head)
	}
	require.Len(t, seen, 80)
}

// TestErrors has the texts of VictoriaMetrics v1.146.0.
func TestErrors(t *testing.T) {
	f := func(want, text string) {
		t.Helper()
		_, _, err := prepare(text, &rollup.Windows{Grid: row.Grid{Start: 0, Step: 1, N: 2}})
		require.EqualError(t, err, want, text)
	}
	f("unexpected number of args; got 2; want 1", `rate(m, 1)`)
	f("unexpected number of args; got 3; want 1...2", `rollup(m, "min", "max")`)
	f("unexpected number of args; got 3; want 2", `aggr_over_time("rate", m, 1)`)
	f("unexpected number of args; got 2; want 3", `holt_winters(m, 1)`)
	f("unexpected number of args; got 3; want 2", `count_eq_over_time(m, 1, 2)`)
	f("unexpected number of args; got 3; want 2", `count_values_over_time("a", m, 1)`)
	f("unexpected number of args: 2; want at least 3 args", `quantiles_over_time("a", m)`)
	f("arg #2 must be a scalar", `predict_linear(m, x)`)
	f("arg #3 must be a scalar", `holt_winters(m, 0.1, x)`)
	f("arg #1 must be a scalar", `quantile_over_time(x, m)`)
	f("cannot get labelName: arg #1 must be a string", `count_values_over_time(5, m)`)
	f("arg #1 must be a string", `quantiles_over_time(x, 0.5, m)`)
	f("cannot obtain phi from arg #2: arg #3 must be a scalar", `quantiles_over_time("q", 0.5, x, m)`)
	f("invalid args for rollup(m, 5): unexpected rollup tag type: 5; expecting string", `rollup(m, 5)`)
	f(`invalid args for rollup_candlestick(m, ""): rollup tag cannot be empty`, `rollup_candlestick(m, "")`)
	f("unexpected second arg for rollup_rate(m, \"x\"): \"x\"; want `min`, `max` or `avg`", `rollup_rate(m, "x")`)
	f("unexpected second arg for rollup_candlestick(m, \"min\"): \"min\"; want `min`, `max` or `avg`", `rollup_candlestick(m, "min")`)
	f("invalid args to aggr_over_time(x, m): x cannot be passed to aggr_over_time(); expecting quoted aggregate function name or a list of quoted aggregate function names", `aggr_over_time(x, m)`)
	f("invalid args to aggr_over_time((\"rate\", 1), m): 1 cannot be passed here; expecting quoted aggregate function name", `aggr_over_time(("rate", 1), m)`)
	f("invalid args to aggr_over_time(\"RATE\", m): \"RATE\" cannot be used in `aggr_over_time` function; expecting quoted aggregate function name", `aggr_over_time("RATE", m)`)
	f("invalid args to aggr_over_time(\"outlier_iqr_over_time\", m): \"outlier_iqr_over_time\" cannot be used in `aggr_over_time` function; expecting quoted aggregate function name", `aggr_over_time("outlier_iqr_over_time", m)`)
	f("invalid args to aggr_over_time(union(), m): union() cannot be passed to aggr_over_time(); expecting quoted aggregate function name or a list of quoted aggregate function names", `aggr_over_time(union(), m)`)
	f("invalid args to aggr_over_time((), m): aggr_over_time() must contain at least a single aggregate function name", `aggr_over_time((), m)`)

	_, err := rollup.New(&mql.FuncExpr{Name: "abs"}, nil)
	require.EqualError(t, err, `unknown rollup function "abs"`)
}

func TestProperties(t *testing.T) {
	require.True(t, rollup.Known("Max_Over_Time"))
	require.False(t, rollup.Known("abs"))
	require.False(t, rollup.Known("iqr_over_time"), "only aggr_over_time knows it")

	f := func(text, name string, silence, keepsName, keepsStale, single bool) {
		t.Helper()
		fn, r, err := prepare(text, &rollup.Windows{Grid: row.Grid{Step: 1, N: 1}})
		require.NoError(t, err)
		require.Equal(t, name, fn.Name())
		require.Equal(t, silence, fn.NeedsSilence(), "silence")
		require.Equal(t, keepsName, fn.KeepsName(), "name")
		require.Equal(t, keepsStale, fn.KeepsStale(), "stale")
		require.Equal(t, single, r.Single(), "single")
	}
	f(`RATE(m)`, "rate", true, false, false, true)
	f(`max_over_time(m)`, "max_over_time", false, true, false, true)
	f(`rollup(m)`, "rollup", true, true, false, false)
	f(`rollup(m, "min")`, "rollup", true, true, false, true)
	f(`rollup_candlestick(m, "low")`, "rollup_candlestick", true, true, false, false)
	f(`aggr_over_time("rate", m)`, "aggr_over_time", false, false, false, false)
	f(`quantiles_over_time("q", 1, m)`, "quantiles_over_time", false, true, false, false)
	f(`stale_samples_over_time(m)`, "stale_samples_over_time", false, false, true, true)

	d := rollup.Default()
	require.Equal(t, "default_rollup", d.Name())
	require.True(t, d.NeedsSilence() && d.KeepsName() && d.KeepsStale())
}

// TestInside: the call may stand inside of an aggregation, where names are kept or
// not as the caller says.
func TestInside(t *testing.T) {
	call := &mql.FuncExpr{Name: "rollup", Args: []mql.Expr{&mql.MetricExpr{}, &mql.StringExpr{S: "max"}}}
	f, err := rollup.New(call, make([][]*series.Series, 2))
	require.NoError(t, err)
	r, err := f.On(rollup.Windows{Grid: row.Grid{Start: 20, Step: 10, N: 1}}, &mql.AggrFuncExpr{Name: "sum", Args: []mql.Expr{call}})
	require.NoError(t, err)
	require.True(t, r.Single())
	var s rollup.Scratch
	require.Equal(t, []float64{3}, r.Do(nil, []float64{3, 1}, []int64{15, 20}, &s))

	call = &mql.FuncExpr{Name: "count_over_time", Args: []mql.Expr{&mql.MetricExpr{}}}
	f, err = rollup.New(call, make([][]*series.Series, 1))
	require.NoError(t, err)
	r, err = f.On(rollup.Windows{Grid: row.Grid{Start: 20, Step: 10, N: 1}}, call)
	require.NoError(t, err)
	name := series.Name{Group: "m"}
	all := r.Append(nil, &name, true, []float64{3, 1}, []int64{15, 20}, &s)
	all = r.Append(all, &name, false, []float64{math.NaN(), 1}, []int64{15, 20}, &s)
	require.Equal(t, "m{} 2\n{} 1", show([]*series.Series{all[0]})+"\n"+show([]*series.Series{all[1]}), "a NaN is no sample")
}

// TestByStep: a scalar argument may change from step to step.
func TestByStep(t *testing.T) {
	call := &mql.FuncExpr{Name: "count_gt_over_time", Args: []mql.Expr{&mql.MetricExpr{}, &mql.FuncExpr{Name: "time"}}}
	f, err := rollup.New(call, [][]*series.Series{nil, {{Values: []float64{0, 1, 2, math.NaN()}}}})
	require.NoError(t, err)
	r, err := f.On(rollup.Windows{Grid: row.Grid{Start: 10, Step: 1, N: 4}, Window: 10}, call)
	require.NoError(t, err)
	var s rollup.Scratch
	require.Equal(t, []float64{3, 2, 1, 0}, r.Do(nil, []float64{1, 2, 3}, []int64{8, 9, 10}, &s))
}

// TestGap: with a look-back a counter begins anew after a gap longer than that and
// the window.
func TestGap(t *testing.T) {
	call := &mql.FuncExpr{Name: "increase_pure", Args: []mql.Expr{&mql.MetricExpr{}}}
	f, err := rollup.New(call, make([][]*series.Series, 1))
	require.NoError(t, err)
	at := func(lookback int64) float64 {
		r, err := f.On(rollup.Windows{Grid: row.Grid{Start: 100, Step: 10, N: 1}, Window: 10, Lookback: lookback}, call)
		require.NoError(t, err)
		var s rollup.Scratch
		return r.Do(nil, []float64{100, 7, 9}, []int64{20, 60, 95}, &s)[0]
	}
	require.Equal(t, 2.0, at(0), "109 - 107")
	require.Equal(t, 2.0, at(40), "7 is near enough to 9, and 100 to 7")
	require.Equal(t, 9.0, at(20), "too far away: 9 - 0")
}

// A series ends when it is asked to, in the middle of its windows, and makes no more
// series than there is room for.
func TestWatchedWork(t *testing.T) {
	const n = 20_000
	w := rollup.Windows{Grid: row.Grid{Start: 1, Step: 1, N: n}, Window: n}
	work := func(text string, hold func(int) error, ended func() error) ([]*series.Series, error) {
		_, r, err := prepare(text, &w)
		require.NoError(t, err, text)
		values, times := make([]float64, n), make([]int64, n)
		for i := range values {
			values[i], times[i] = float64(i*7%n)+0.5, int64(i+1)
		}
		s := rollup.Scratch{Pace: &series.Pace{Ended: ended}, Hold: hold}
		all := r.Append(nil, &series.Name{Group: "m"}, false, values, times, &s)
		return all, s.Pace.Err()
	}
	stop := errors.New("stop")
	for _, text := range []string{"mode_over_time(m[20s])", "histogram_over_time(m[20s])", "sum_over_time(m[20s])", "avg_over_time(m[20s])",
		"sum2_over_time(m[20s])", "distinct_over_time(m[20s])"} {
		asked := 0
		begun := time.Now()
		_, err := work(text, nil, func() error {
			if asked++; asked > 2 {
				return stop
			}
			return nil
		})
		require.ErrorIs(t, err, stop, text)
		require.Equal(t, 3, asked, text)
		require.Less(t, time.Since(begun), 5*time.Second, text)
	}
	for text, room := range map[string]int{`count_values_over_time("v", m[20s])`: 10, "histogram_over_time(m[20s])": 3, "rollup(m[20s])": 2,
		`quantiles_over_time("phi", 0.1, 0.2, 0.3, m[20s])`: 2} {
		held := 0
		all, err := work(text, func(k int) error {
			if held += k; held > room {
				return stop
			}
			return nil
		}, nil)
		require.ErrorIs(t, err, stop, text)
		require.LessOrEqual(t, len(all), room, text)
	}
}
