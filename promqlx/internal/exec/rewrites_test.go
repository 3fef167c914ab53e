package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
	front "github.com/varvedb/varve/promqlx/internal/promql"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// mixedStore has series that collide when names are dropped, some at the same
// times and some not, types in labels, gaps, and native histograms.
func mixedStore(t testing.TB, typed bool) *tsdb.Storage {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	r := rand.New(rand.NewPCG(1, 2))
	b := db.Batch()
	add := func(from, to int, lbls ...string) {
		s, err := b.Series(labels.FromStrings(lbls...))
		require.NoError(t, err)
		for i := from; i < to; i++ {
			if r.IntN(10) > 0 {
				require.NoError(t, b.Add(s, int64(i)*15_000, float64(i)*r.Float64()))
			}
		}
	}
	for h := range 4 {
		host := fmt.Sprint("h", h)
		add(0, 240, "__name__", "x_total", "host", host, "dc", fmt.Sprint(h%2))
		add(0, 240, "__name__", "y", "host", host, "dc", fmt.Sprint(h%2))
		add(0, 120, "__name__", "early", "host", host, "shift", "1")
		add(130, 240, "__name__", "late", "host", host, "shift", "1")
		if typed {
			add(0, 120, "__name__", "typed", "__type__", "gauge", "host", host)
			add(130, 240, "__name__", "typed", "__type__", "counter", "host", host)
		}
	}
	hist, err := b.Series(labels.FromStrings("__name__", "hist", "host", "h1", "dc", "1"))
	require.NoError(t, err)
	for i := range 240 {
		h := &histogram.Histogram{
			Schema: 1, Count: uint64(3 * i), Sum: float64(i), ZeroThreshold: 0.001,
			PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{int64(i), int64(i)},
		}
		require.NoError(t, b.Histogram(hist, 0, int64(i)*15_000, h))
	}
	require.NoError(t, b.Commit(context.Background()))
	return tsdb.NewStorage(db)
}

// TestRewritesKeepAnswers runs random expressions as the front end plans them,
// and after each rewrite and all of them: answers, annotations with their
// positions, and errors are the same.
func TestRewritesKeepAnswers(t *testing.T) {
	stores := []*tsdb.Storage{mixedStore(t, false), mixedStore(t, true)}
	rnd := rand.New(rand.NewPCG(3, 5))
	parse := parser.NewParser(parser.Options{EnableExperimentalFunctions: true})
	good, bad := 0, 0
	for range 1000 {
		text := randomExpr(rnd, 1+rnd.IntN(4))
		expr, err := parse.ParseExpr(text)
		require.NoError(t, err, text)
		opts := front.Options{Start: time.UnixMilli(5 * minute), End: time.UnixMilli(60 * minute), Step: time.Minute}
		if rnd.IntN(3) == 0 {
			opts.Start, opts.End, opts.Step = time.UnixMilli(40*minute), time.UnixMilli(40*minute), 0
		}
		delayed, typed := rnd.IntN(4) == 0, rnd.IntN(2)
		store := stores[typed]
		answer := func(rewrites ...string) string {
			n, err := front.Plan(expr, opts)
			require.NoError(t, err, text)
			c := plan.Config{
				Instant: opts.Step == 0, DelayedNames: delayed, NoMetadata: typed == 0,
			}
			for _, name := range plan.Rewrites() {
				if !slices.Contains(rewrites, name) {
					c.Disable = append(c.Disable, name)
				}
			}
			return answerText(plan.Optimize(n, c), store, opts, delayed, text)
		}
		want := answer()
		if strings.HasPrefix(want, "error") {
			bad++
		} else {
			good++
		}
		for _, name := range plan.Rewrites() {
			require.Equal(t, want, answer(name), "%s after %s, delayed %v, %v", text, name, delayed, opts)
		}
		require.Equal(t, want, answer("collide", "labels"), "%s after collide and labels, delayed %v, %v", text, delayed, opts)
		require.Equal(t, want, answer("collide", "share", "labels"), "%s", text)
		require.Equal(t, want, answer(plan.Rewrites()...), "%s after all, delayed %v, %v", text, delayed, opts)
	}
	require.Greater(t, good, 600)
	require.Greater(t, bad, 50)
}

func answerText(n plan.Node, store *tsdb.Storage, opts front.Options, delayed bool, text string) string {
	step := opts.Step.Milliseconds()
	grid := row.GridOf(opts.Start.UnixMilli(), opts.End.UnixMilli(), max(1, step))
	v, _, annos, err := Run(context.Background(), n, Params{
		Queryable: store, Grid: grid, Instant: step == 0, Lookback: 5 * minute, DelayedNames: delayed,
		Meter: &free{}, Memory: memory, Stats: stats.NewQuerySamples(false), Workers: 1,
	})
	if err != nil {
		return "error " + err.Error()
	}
	if m, ok := v.(promql.Matrix); ok {
		slices.SortFunc(m, func(a, b promql.Series) int { return labels.Compare(a.Metric, b.Metric) })
	}
	warnings, infos := annos.AsStrings(text, 0, 0)
	slices.Sort(warnings)
	slices.Sort(infos)
	return fmt.Sprint(v, warnings, infos)
}

func randomExpr(r *rand.Rand, depth int) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	sel := pick("x_total", "y", "hist", "typed", `{host="h1"}`, `{shift="1"}`, `{__name__=~"x_total|y"}`, `{__name__=~"early|late"}`, `y{host=~"h[12]"}`, `{__name__=~"y|hist"}`, "absent_one")
	at := pick("", "", "", " offset 3m", " @ 1000", " @ end() offset 2m")
	if depth == 0 {
		if r.IntN(2) == 0 {
			return sel + at
		}
		return pick("rate", "increase", "max_over_time", "last_over_time", "count_over_time", "sum_over_time", "absent_over_time", "deriv") + "(" + sel + pick("[5m]", "[90s]") + at + ")"
	}
	a := randomExpr(r, depth-1)
	switch r.IntN(14) {
	case 0, 1, 2:
		return pick("sum", "count", "max", "avg", "stddev", "group") + pick("", " by (host)", " by (dc, host)", " without (host)", " by (__name__, dc)") + " (" + a + ")"
	case 3:
		return pick("topk", "bottomk", "limitk", "quantile") + pick("", " by (dc)") + " (" + pick("1", "2", "0.5 + 0.5", "scalar(y{host=\"h1\"})") + ", " + a + ")"
	case 4:
		return "-(" + a + ")"
	case 5:
		return pick("abs", "ceil", "hour", "timestamp", "sort", "histogram_sum", "histogram_count", "sgn", "absent") + "(" + a + ")"
	case 6:
		return "(" + a + ")" + pick(" * ", " > ", " - ", " > bool ") + pick("2", "pi()", "(1 + 2)", "scalar("+a+")", "time()")
	case 7, 8:
		return "(" + a + ")" + pick(" + ", " / ", " and ", " or ", " unless ", " > ", " / on (host) ", " / ignoring (dc) ", " + on (dc) group_left () ") + "(" + a + ")"
	case 9:
		b := randomExpr(r, depth-1)
		return "(" + a + ")" + pick(" + ", " or ", " unless ", " > ") + "(" + b + ")"
	case 10, 11:
		return pick("max_over_time", "rate", "last_over_time", "count_over_time", "present_over_time") + "((" + a + ")[10m:1m]" + pick("", " offset 2m", " @ 2000") + ")"
	case 12:
		return pick(`label_replace(`+a+`, "host", "$1", "dc", "(.*)")`, `label_join(`+a+`, "q", "-", "host", "dc")`, `count_values("v", `+a+`)`)
	}
	return "clamp(" + a + ", 1 * 1, " + pick("3", "scalar(y{host=\"h2\"})") + ")"
}
