package transform_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/transform"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// grid is four minutes around noon of a leap day.
func grid() row.Grid { return row.Grid{Start: 1709208000_000, Step: 60_000, N: 4} } // 2024-02-29T12:00:00Z

// bench evaluates queries of functions alone over sets of series written as text.
type bench struct {
	t    *testing.T
	sets map[string][]string // selectors by name
	end  int64
}

// eval returns the answer as lines of text.
func (b *bench) eval(text string) ([]string, error) {
	b.t.Helper()
	e, err := mql.Parse(text)
	require.NoError(b.t, err, text)
	all, err := b.expr(e)
	lines := []string{}
	for _, s := range all {
		require.Len(b.t, s.Values, grid().N)
		lines = append(lines, printed(s))
	}
	return lines, err
}

func (b *bench) expr(e mql.Expr) ([]*series.Series, error) {
	one := func(v float64) []*series.Series { return []*series.Series{series.Constant(v, grid().N)} }
	switch e := e.(type) {
	case *mql.NumberExpr:
		return one(e.N), nil
	case *mql.StringExpr:
		s := one(math.NaN())
		s[0].Name.Group = e.S
		return s, nil
	case *mql.MetricExpr:
		var all []*series.Series
		for _, line := range b.sets[e.LabelFilterss[0][0].Value] {
			all = append(all, read(b.t, line))
		}
		return all, nil
	case *mql.FuncExpr:
		c := &transform.Call{Expr: e, Grid: grid(), End: b.end, Now: func() time.Time { return time.Unix(5, 500_000_000) }}
		for _, arg := range e.Args {
			all, err := b.expr(arg)
			if err != nil {
				return nil, err
			}
			c.Args = append(c.Args, all)
		}
		return transform.Eval(c)
	}
	b.t.Fatalf("no part of a test: %T", e)
	return nil, nil
}

// read reads `name{key="value"} 1 _ 3`, where _ is no value.
func read(t *testing.T, line string) *series.Series {
	name, rest, ok := strings.Cut(line, "{")
	require.True(t, ok, line)
	end := strings.LastIndexByte(rest, '}')
	s := &series.Series{Name: series.Name{Group: name}}
	if end > 0 {
		for tag := range strings.SplitSeq(rest[:end], ", ") {
			key, value, _ := strings.Cut(tag, "=")
			s.Name.Add(key, strings.Trim(value, `"`))
		}
	}
	for _, text := range strings.Fields(rest[end+1:]) {
		v := math.NaN()
		if text != "_" {
			var err error
			v, err = strconv.ParseFloat(text, 64)
			require.NoError(t, err)
		}
		s.Values = append(s.Values, v)
	}
	return s
}

// printed is what read reads, with labels in the order they are in.
func printed(s *series.Series) string {
	tags := make([]string, len(s.Name.Tags))
	for i, t := range s.Name.Tags {
		tags[i] = t.Key + "=" + strconv.Quote(t.Value)
	}
	line := s.Name.Group + "{" + strings.Join(tags, ", ") + "}"
	for _, v := range s.Values {
		text := "_"
		if !math.IsNaN(v) {
			text = strconv.FormatFloat(v, 'g', -1, 64)
		}
		line += " " + text
	}
	return line
}

func (b *bench) is(query string, want ...string) {
	b.t.Helper()
	got, err := b.eval(query)
	require.NoError(b.t, err, query)
	require.Equal(b.t, append([]string{}, want...), got, query)
}

func (b *bench) fails(query, want string) {
	b.t.Helper()
	_, err := b.eval(query)
	require.EqualError(b.t, err, want, query)
}

func TestKnown(t *testing.T) {
	require.True(t, transform.Known("abs"))
	require.True(t, transform.Known("Label_SET"))
	require.True(t, transform.Known(""))
	require.False(t, transform.Known("rate"))
	require.False(t, transform.Known("timestamp"), "it looks at samples")

	_, err := transform.Eval(&transform.Call{Expr: &mql.FuncExpr{Name: "Rate"}, Grid: grid()})
	require.EqualError(t, err, `unknown func "Rate"`)
}

// names are those of all functions.
func names() []string {
	return strings.Fields(`abs absent acos acosh asin asinh atan atanh bitmap_and bitmap_or bitmap_xor
		buckets_limit ceil clamp clamp_max clamp_min cos cosh day_of_month day_of_week day_of_year days_in_month
		deg drop_common_labels drop_empty_series end exp floor histogram_avg histogram_fraction histogram_quantile
		histogram_quantiles histogram_share histogram_stddev histogram_stdvar hour interpolate keep_last_value
		keep_next_value label_copy label_del label_graphite_group label_join label_keep label_lowercase label_map
		label_match label_mismatch label_move label_replace label_set label_transform label_uppercase label_value
		labels_equal limit_offset ln log10 log2 minute month now pi prometheus_buckets rad rand rand_exponential
		rand_normal range_avg range_first range_last range_linear_regression range_mad range_max range_min
		range_normalize range_quantile range_stddev range_stdvar range_sum range_trim_outliers range_trim_spikes
		range_trim_zscore range_zscore remove_resets round running_avg running_max running_min running_sum scalar
		sgn sin sinh smooth_exponential sort sort_by_label sort_by_label_desc sort_by_label_numeric
		sort_by_label_numeric_desc sort_desc sqrt start step tan tanh time timezone_offset union vector year`)
}

// Whatever the arguments are, there is an answer of the right length, or an error.
func TestAnyArguments(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"many": {`many{le="1", x="1"} 1 _ 3 4`, `many{vmrange="1...2", le="x"} 1 2 _ 4`, `many{} _ _ _ _`, `a.b{x="-1.5"} Inf -Inf 0 _`},
		"one":  {`one{le="+Inf"} 1 2 3 NaN`},
	}}
	kinds := []string{`many`, `one`, `none`, `"job"`, `2`, `-1`}
	var lists []string
	for _, x := range kinds {
		lists = append(lists, x)
		for _, y := range kinds {
			lists = append(lists, x+", "+y)
			for _, z := range kinds {
				lists = append(lists, x+", "+y+", "+z)
			}
			lists = append(lists, x+`, "a", `+y+`, "b"`, x+`, "a", "$1", "b", `+y)
		}
	}
	good := 0
	for _, name := range names() {
		require.True(t, transform.Known(name), name)
		for _, list := range append(lists, "") {
			if _, err := b.eval(name + "(" + list + ")"); err == nil {
				good++
			}
		}
	}
	require.Greater(t, good, 2000)
	require.Len(t, names(), 111)
}

// Arguments are changed, but never shared between series of an answer.
func TestOwnership(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"h": {`h{le="1", a="b"} 1 1 1 1`, `h{le="2", a="b"} 2 2 2 2`, `h{le="+Inf", a="b"} 4 4 4 4`},
		"v": {`v{vmrange="1...2"} 1 1 1 1`, `v{vmrange="3...4"} 1 1 1 1`},
	}}
	for _, q := range []string{
		`prometheus_buckets(v)`, `histogram_quantile(0.5, h, "x")`, `histogram_quantiles("x", 0.1, 0.2, h)`,
		`buckets_limit(3, v)`, `histogram_share(1, h, "x")`, `union(h, v)`,
	} {
		e, err := mql.Parse(q)
		require.NoError(t, err)
		all, err := b.expr(e)
		require.NoError(t, err)
		require.Greater(t, len(all), 1, q)
		before := make([]string, len(all))
		for i, s := range all {
			before[i] = printed(s)
		}
		for i, s := range all {
			for k := range s.Name.Tags {
				s.Name.Tags[k].Value = "changed"
			}
			for k := range s.Values {
				s.Values[k] = 77
			}
			for k := i + 1; k < len(all); k++ {
				require.Equal(t, before[k], printed(all[k]), q)
			}
		}
	}
}

func TestSets(t *testing.T) {
	b := &bench{t: t, sets: map[string][]string{
		"a":    {`m{x="1", job="j"} 1 _ 3 4`, `m{x="2", job="j"} _ _ 3 4`},
		"b":    {`m{job="j", x="2"} 9 9 9 9`, `n{job="j"} 5 5 5 5`},
		"gone": {`m{job="j"} _ _ _ _`, `n{job="j"} _ 1 _ _`, `n{job="k"} 1 1 1 1`},
		"one":  {`m{x="1"} 1 2 3 _`},
	}}
	b.is(`union()`, `{} _ _ _ _`)
	b.is(`(1, 1, 2)`, `{} 1 1 1 1`, `{} 1 1 1 1`, `{} 2 2 2 2`)
	b.is(`union(a, b)`, `m{job="j", x="1"} 1 _ 3 4`, `m{job="j", x="2"} _ _ 3 4`, `n{job="j"} 5 5 5 5`)
	b.is(`union(1, a, 1)`, `{} 1 1 1 1`, `m{job="j", x="1"} 1 _ 3 4`, `m{job="j", x="2"} _ _ 3 4`)

	b.is(`absent(a)`, `{} _ 1 _ _`)
	b.is(`absent(none{job="j", x=~"y", z!="w", k=""})`, `{job="j", k=""} 1 1 1 1`)
	b.is(`absent(none{job="j" or x="y"})`, `{} 1 1 1 1`)
	b.is(`absent(abs(none{job="j"}))`, `{} 1 1 1 1`)
	b.fails(`absent(a, a)`, `unexpected number of args; got 2; want 1`)

	b.is(`scalar(one)`, `{} 1 2 3 _`)
	b.is(`scalar(a)`, `{} _ _ _ _`)
	b.is(`scalar(none)`, `{} _ _ _ _`)
	b.is(`scalar("1e1")`, `{} 10 10 10 10`)
	b.is(`scalar("sixteen")`, `{} _ _ _ _`)
	b.is(`vector(one)`, `m{x="1"} 1 2 3 _`)

	b.is(`drop_empty_series(gone)`, `n{job="j"} _ 1 _ _`, `n{job="k"} 1 1 1 1`)
	b.is(`limit_offset(1, 1, gone)`, `n{job="k"} 1 1 1 1`)
	b.is(`limit_offset(7.9, 0.9, gone)`, `n{job="j"} _ 1 _ _`, `n{job="k"} 1 1 1 1`)
	b.is(`limit_offset(1e30, 5, gone)`)
	b.is(`limit_offset(0, 0, gone)`)
	b.fails(`limit_offset("a", 1, a)`, `cannot obtain limit arg: must not be negative`)
	b.fails(`limit_offset(1, "a", a)`, `cannot obtain offset arg: must not be negative`)
	b.fails(`limit_offset(-1, 1, a)`, `cannot obtain limit arg: must not be negative`)
	b.fails(`limit_offset(1, -1e30, none)`, `cannot obtain offset arg: must not be negative`)
	b.fails(`limit_offset(a, 1, a)`, `cannot obtain limit arg: arg #1 must be a scalar`)
	b.fails(`limit_offset(1, a, a)`, `cannot obtain offset arg: arg #2 must be a scalar`)

	b.is(`drop_common_labels(a)`, `{x="1"} 1 _ 3 4`, `{x="2"} _ _ 3 4`)
	b.is(`drop_common_labels(a, b)`, `m{x="1"} 1 _ 3 4`, `m{x="2"} _ _ 3 4`, `m{x="2"} 9 9 9 9`, `n{} 5 5 5 5`)
	b.is(`drop_common_labels(one)`, `{} 1 2 3 _`)
	b.is(`drop_common_labels(none)`)
	b.fails(`drop_common_labels()`, `not enough args; got 0; want at least 1`)
}

// values is for answers of which only the numbers are of interest.
func (b *bench) values(query, want string) {
	b.t.Helper()
	got, err := b.eval(query)
	require.NoError(b.t, err, query)
	for i, line := range got {
		got[i] = line[strings.LastIndexByte(line, '}')+2:]
	}
	require.Equal(b.t, want, strings.Join(got, ", "), query)
}

func TestAbsent(t *testing.T) {
	e, err := mql.Parse(`m{a="1", a="2"}`)
	require.NoError(t, err)
	all := transform.Absent(e, 2)
	require.Len(t, all, 1)
	require.True(t, slices.Equal(all[0].Values, []float64{1, 1}))
	require.Equal(t, []series.Tag{{Key: "a", Value: "1"}, {Key: "a", Value: "2"}}, all[0].Name.Tags)
}
