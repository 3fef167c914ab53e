package eval_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql"
	"github.com/varvedb/varve/promqlx/internal/metricsql/eval"
	"github.com/varvedb/varve/tsdb"
)

// start is a multiple of every step that the tests use, milliseconds.
const start = 1_700_000_400_000

// open returns a store with an hour of samples, one each 10 s: a and b of one job
// each, c with a marker in its midst.
func open(t *testing.T) *tsdb.DB {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	app := tsdb.NewStorage(db).Appender(t.Context())
	add := func(at int64, v float64, pairs ...string) {
		_, err := app.Append(0, labels.FromStrings(pairs...), at, v)
		require.NoError(t, err)
	}
	for i := range int64(360) {
		at := start - 3_600_000 + 10_000*(i+1)
		add(at, float64(i), "__name__", "m", "job", "x", "a", "1")
		add(at, float64(2*i), "__name__", "m", "job", "y", "a", "1")
		add(at, 5, "__name__", "n", "job", "x", "zone", "z")
		if i == 200 {
			add(at, math.Float64frombits(value.StaleNaN), "__name__", "stale", "job", "x")
		} else if i < 200 {
			add(at, 1, "__name__", "stale", "job", "x")
		}
	}
	require.NoError(t, app.Commit())
	return db
}

func run(t *testing.T, db *tsdb.DB, text string, p eval.Params) (*eval.Answer, error) {
	e, err := metricsql.Parse(text)
	require.NoError(t, err)
	p.DB, p.Now = db, func() time.Time { return time.UnixMilli(start) }
	p.Memory = &eval.Memory{}
	return eval.Run(t.Context(), eval.Prepare(e), p)
}

func at(t int64) eval.Scope { return eval.Scope{Start: t, End: t, Step: 60_000, MayCache: true} }

func TestInstant(t *testing.T) {
	db := open(t)
	f := func(text string, want map[string]float64) {
		t.Helper()
		a, err := run(t, db, text, eval.Params{Scope: at(start)})
		require.NoError(t, err)
		got := map[string]float64{}
		for _, s := range a.Series {
			require.Len(t, s.Values, 1)
			got[s.Name.String()] = s.Values[0]
		}
		require.Equal(t, want, got, text)
	}
	x, y := `m{a="1", job="x"}`, `m{a="1", job="y"}`
	f(`m`, map[string]float64{x: 359, y: 718})
	f(`m{job="x" or job="y"}`, map[string]float64{x: 359, y: 718})
	f(`m{job="x" or a="1"}`, map[string]float64{x: 359, y: 718})
	f(`m offset 1m`, map[string]float64{x: 353, y: 706})
	f(`m @ end() offset 1m`, map[string]float64{x: 353, y: 706})
	f(`sum(m)`, map[string]float64{`{}`: 1077})
	f(`sum(m) by (a, nope)`, map[string]float64{`{a="1"}`: 1077})
	f(`sum(max_over_time(m[5m])) by (__name__)`, map[string]float64{`m{}`: 1077})
	f(`sum(rate(m[5m])) by (__name__)`, map[string]float64{`{}`: 0.30000000000000004})
	f(`sum(m) without (a)`, map[string]float64{`{job="x"}`: 359, `{job="y"}`: 718})
	f(`count(rollup(m[1m])) by (rollup)`, map[string]float64{`{rollup="min"}`: 2, `{rollup="max"}`: 2, `{rollup="avg"}`: 2})
	f(`m + on(job) group_left(zone) n`, map[string]float64{`{a="1", job="x", zone="z"}`: 364})
	f(`sum_over_time(m{job="x"}[1m:20s])`, map[string]float64{`{a="1", job="x"}`: 355 + 357 + 359})
	f(`max_over_time(sum(m)[10m:1m])`, map[string]float64{`{}`: 1077})
	f(`rate(m{job="x"}[4h])`, map[string]float64{`{a="1", job="x"}`: 359. / (4 * 3600)})
	f(`avg_over_time(m{job="x"}[4h])`, map[string]float64{`{a="1", job="x"}`: 179.5})
	f(`avg_over_time(m{job="x"}[1h])`, map[string]float64{x: 179.5})
	f(`absent_over_time(nothing{job="q"}[5m])`, map[string]float64{`{job="q"}`: 1})
	f(`absent_over_time(m[5m])`, map[string]float64{})
	f(`stale`, map[string]float64{})
	f(`stale_samples_over_time(stale[1h])`, map[string]float64{`{job="x"}`: 1})
	f(`"text"`, map[string]float64{})
	f(`1i`, map[string]float64{`{}`: 60})
	f(`{}`, map[string]float64{})
	f(`m{job="x"} default 3 if (n > 10)`, map[string]float64{x: 359})
}

func TestErrors(t *testing.T) {
	db := open(t)
	f := func(text, want string, told bool) {
		t.Helper()
		_, err := run(t, db, text, eval.Params{Scope: at(start)})
		require.Error(t, err)
		part, ok := eval.Readable(err)
		require.Equal(t, told, ok)
		require.ErrorContains(t, part, want)
	}
	f(`(1, 2)`, "duplicate output timeseries: {}", false)
	f(`m @ (m)`, "`@` modifier must return a single series; it returns 2 series instead", true)
	f(`m @ nothing`, "`@` modifier must return a single series; it returns 0 series instead", true)
	f(`sum_over_time(m[1y:1s])`, "too many points for the given start", true)
}

func TestLimits(t *testing.T) {
	db := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, err := metricsql.Parse("m")
	require.NoError(t, err)
	_, err = eval.Run(ctx, eval.Prepare(e), eval.Params{DB: db, Scope: at(start), Memory: &eval.Memory{}, Now: time.Now})
	require.ErrorIs(t, err, context.Canceled)
}

// Labels stand in the order of storage, job first, until something sorts them; so
// the series of a name come in another order.
func TestOrder(t *testing.T) {
	db := open(t)
	app := tsdb.NewStorage(db).Appender(t.Context())
	for _, pairs := range [][]string{{"job", "x", "a", "2"}, {"job", "y", "a", "1"}} {
		_, err := app.Append(0, labels.FromStrings(append(pairs, "__name__", "o")...), start, 1)
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
	f := func(want string, s eval.Scope, text string) {
		t.Helper()
		a, err := run(t, db, text, eval.Params{Scope: s})
		require.NoError(t, err)
		require.Len(t, a.Series, 2)
		require.Equal(t, want, a.Series[0].Name.String())
	}
	ranged := eval.Scope{Start: start, End: start + 60_000, Step: 60_000, MayCache: true}
	f(`o{a="1", job="y"}`, ranged, `o`)
	f(`o{a="2", job="x"}`, at(start), `o`)
	ranged.MayCache = false
	f(`o{a="2", job="x"}`, ranged, `o`)
	f(`{a="1", job="y"}`, at(start), `sum(o) by (job, a)`)
	f(`{a="1", job="y"}`, at(start), `count_over_time(o[3h])`)
}

func TestAlign(t *testing.T) {
	f := func(start, end, step, wantStart, wantEnd int64) {
		t.Helper()
		s, e := eval.Align(start, end, step)
		require.Equal(t, []int64{wantStart, wantEnd}, []int64{s, e})
	}
	f(105, 595, 10, 100, 590)  // 50 points
	f(105, 594, 10, 105, 594)  // 49
	f(100, 590, 10, 100, 590)  // already
	f(101, 1000, 10, 100, 990) // one point less than both roundings give
	f(1000, 1999, 10, 1000, 1990)
}

func TestRaw(t *testing.T) {
	db := open(t)
	e, err := metricsql.Parse(`{__name__=~"stale|n"}`)
	require.NoError(t, err)
	all, err := eval.Raw(t.Context(), e.(*mql.MetricExpr), eval.Params{DB: db, Scope: eval.Scope{Start: start - 1_600_000, End: start - 1_580_000, Step: 1}})
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []float64{5, 5, 5}, all[0].Values)
	require.Equal(t, []int64{start - 1_600_000, start - 1_590_000}, all[1].Times)
	require.True(t, value.IsStaleNaN(all[1].Values[1]))
}

// openLong opens a store with series of every shape on disk, which keeps up to so many
// bytes of samples decoded.
func openLong(t *testing.T, kept int64, at func(i int64) int64) *tsdb.DB {
	t.Helper()
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{SampleCacheBytes: kept})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	r := rand.New(rand.NewPCG(1, 3))
	app := tsdb.NewStorage(db).Appender(t.Context())
	for k := range 12 {
		ls := labels.FromStrings("__name__", "m", "k", fmt.Sprint(k))
		for i := range int64(3000) {
			v := float64(r.IntN(100))
			switch k % 4 {
			case 1:
				v = v*1000 - 20_000
			case 2:
				v /= 10
			case 3:
				v += r.Float64()
			}
			if k > 7 && r.IntN(5) == 0 {
				continue // times that are no grid
			}
			_, err := app.Append(0, ls, at(i), v)
			require.NoError(t, err)
		}
	}
	require.NoError(t, app.Commit())
	require.NoError(t, db.ForceFlush(t.Context()))
	return db
}

// Samples that the store keeps decoded, while there is room from their first reading on,
// answer as those that are decoded anew.
func TestKeptSamples(t *testing.T) {
	at := func(i int64) int64 { return start - 30_000_000 + i*10_000 }
	plain := openLong(t, -1, at)
	stores := []*tsdb.DB{openLong(t, 1<<20, at), openLong(t, 20_000, at)}
	ask := func(db *tsdb.DB, text string, s eval.Scope) *eval.Answer {
		e, err := metricsql.Parse(text)
		require.NoError(t, err)
		a, err := eval.Run(t.Context(), eval.Prepare(e), eval.Params{DB: db, Scope: s, Memory: &eval.Memory{}, Now: time.Now})
		require.NoError(t, err)
		return a
	}

	scope := eval.Scope{Start: at(1500) + 3, End: at(2990) + 3, Step: 600_000}
	for _, f := range []string{"sum", "avg", "min", "max", "count", "first", "last"} {
		for _, text := range []string{"max(%s_over_time(m[10m])) by (k)", "sum(%s_over_time(m[33m])) by (k)", "sum(%s_over_time(m))"} {
			text = fmt.Sprintf(text, f)
			want := ask(plain, text, scope)
			require.NotEmpty(t, want.Series)
			for range 4 {
				for _, db := range stores {
					require.Equal(t, want, ask(db, text, scope), text)
				}
			}
		}
	}
	v, err := stores[0].Select(t.Context(), scope.Start, scope.End, labels.MustNewMatcher(labels.MatchEqual, "k", "0"))
	require.NoError(t, err)
	defer v.Close()
	kept, ok := v.AppendNarrow(0, scope.Start, scope.End, nil)
	require.True(t, ok)
	require.NotEmpty(t, kept)
}

// TestDeepErrors: an error within thousands of expressions costs no text for each, and
// still says what it is.
func TestDeepErrors(t *testing.T) {
	db := open(t)
	f := func(text, starts, ends string) {
		t.Helper()
		_, err := run(t, db, text, eval.Params{Scope: at(start)})
		require.Error(t, err)
		part, _ := eval.Readable(err)
		got := part.Error()
		require.LessOrEqual(t, len(got), 300<<10)
		require.Equal(t, starts, got[:min(len(starts), len(got))])
		require.Equal(t, ends, got[max(0, len(got)-len(ends)):])
	}
	const bad = "`@` modifier must return a non-NaN value"
	f(`n+(m @ NaN)`, bad, bad)
	f(`rate(m[1m], 2)`, `cannot evaluate args for "rate(m[1m], 2)": unexpected number`, `got 2; want 1`)
	f(strings.Repeat("n+(", 300)+"rate(m[1m],2)"+strings.Repeat(")", 300), `cannot execute "n + (n + (`, `...: unexpected number of args; got 2; want 1`)
	f("n"+strings.Repeat(" @ (n", 300)+" @ NaN"+strings.Repeat(")", 300), "cannot evaluate `@` modifier: cannot evaluate \"n", bad)
}

// TestManyFilters: filters of the text and of who asks are joined, up to a bound, and
// each series is found once.
func TestManyFilters(t *testing.T) {
	db := open(t)
	filters := func(n int) (sets [][]*labels.Matcher) {
		for i := range n {
			sets = append(sets, []*labels.Matcher{labels.MustNewMatcher(labels.MatchNotEqual, "zone", fmt.Sprint(i))})
		}
		return sets
	}
	a, err := run(t, db, `sum(m{job="x" or a="1"})`, eval.Params{Scope: at(start), Filters: filters(3)})
	require.NoError(t, err)
	require.Equal(t, 1077.0, a.Series[0].Values[0])
	_, err = run(t, db, `sum(m{job="x" or a="1"})`, eval.Params{Scope: at(start), Filters: filters(5001)})
	require.ErrorContains(t, err, "too many filters joined by or: 2 of the selector by 5001")
}
