package promqlx

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

const mqlStart = int64(1_700_000_400_000)

// mqlStore has a minute of samples, one each 10 s, of three series.
func mqlStore(t testing.TB) *tsdb.Storage {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	st := tsdb.NewStorage(db)
	app := st.Appender(t.Context())
	for k := range 3 {
		for i := range int64(7) {
			ls := labels.FromStrings("__name__", "m", "job", "j", "a", fmt.Sprint(k))
			_, err := app.Append(0, ls, mqlStart+i*10_000, float64(k)+float64(i)/8)
			require.NoError(t, err)
		}
	}
	require.NoError(t, app.Commit())
	return st
}

func mqlText(s MetricsQLSeries) string {
	var b strings.Builder
	b.WriteString(s.Name)
	for _, tag := range s.Tags {
		fmt.Fprintf(&b, " %s=%s", tag.Key, tag.Value)
	}
	return fmt.Sprint(b.String(), s.Values, s.Times)
}

func TestMetricsQLKinds(t *testing.T) {
	st := mqlStore(t)
	var ended []QueryInfo
	e, err := New(Options{QueryEnded: func(q QueryInfo) { ended = append(ended, q) }})
	require.NoError(t, err)
	f := func(q MetricsQLQuery, kind MetricsQLKind, start, step int64, want ...string) {
		t.Helper()
		if q.RoundDigits == 0 {
			q.RoundDigits = 100
		}
		r := e.MetricsQL(t.Context(), st, q)
		defer r.Close()
		require.NoError(t, r.Err)
		require.Equal(t, kind, r.Kind)
		require.Equal(t, []int64{start, step}, []int64{r.Start, r.Step})
		var got []string
		for _, s := range r.Series {
			got = append(got, mqlText(s))
		}
		require.Equal(t, want, got)
	}
	at := mqlStart + 60_000
	once := MetricsQLQuery{Text: "sum(m)", Start: at, End: at, Step: 60_000, Instant: true}
	f(once, MetricsQLVector, at, 60_000, "[5.25] []")
	once.RoundDigits = 1
	f(once, MetricsQLVector, at, 60_000, "[5.3] []")
	once.RoundDigits, once.Text = 0, `m{a="2"}[15s]`
	f(once, MetricsQLRaw, 0, 0, "m job=j a=2[2.625 2.75] [1700000450000 1700000460000]")
	once.Text = `sum(m)[30s:15s] offset 1s`
	f(once, MetricsQLMatrix, at-31_000, 15_000, "[3.75 4.5 4.875] []")
	once.Text, once.Filters = "count(m)", [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchRegexp, "a", "0|1")}}
	f(once, MetricsQLVector, at, 60_000, "[2] []")

	ranged := MetricsQLQuery{Text: "sum(m)", Start: mqlStart, End: at, Step: 30_000}
	f(ranged, MetricsQLMatrix, mqlStart, 30_000, "[3 4.125 5.25] []")
	ranged.Start, ranged.End = at, mqlStart // five minutes from at on
	r := e.MetricsQL(t.Context(), st, ranged)
	require.Len(t, r.Series[0].Values, 11)
	r.Close()

	require.Len(t, ended, 7)
	require.EqualValues(t, 21, ended[0].Samples)
	require.Equal(t, "sum(m)", ended[0].Text)
	require.Empty(t, e.ActiveQueries())
	require.Zero(t, e.memory.Reserved())
}

func TestMetricsQLErrors(t *testing.T) {
	st := mqlStore(t)
	e, err := New(Options{MaxQueryMemory: 1 << 20})
	require.NoError(t, err)
	f := func(q MetricsQLQuery, want string) {
		t.Helper()
		r := e.MetricsQL(t.Context(), st, q)
		defer r.Close()
		require.Error(t, r.Err)
		require.True(t, strings.HasPrefix(r.Err.Error(), want), r.Err.Error())
		require.Empty(t, r.Series)
	}
	f(MetricsQLQuery{Text: "sum(", Start: 1000, End: 1000, Step: 5, Instant: true},
		`error when executing query="sum(" for (time=1000, step=5): `)
	f(MetricsQLQuery{Text: "(1, 2)", Start: mqlStart, End: mqlStart + 1000, Step: 1000},
		`error when executing query="(1, 2)" on the time range (start=1700000400000, end=1700000401000, step=1000): duplicate output timeseries: {}`)
	f(MetricsQLQuery{Text: "m @ nothing", Start: mqlStart, End: mqlStart + 1000, Step: 1000},
		"`@` modifier must return a single series; it returns 0 series instead")
	f(MetricsQLQuery{Text: "m", Start: 0, End: 30_000_000, Step: 1000},
		`error when executing query="m" on the time range (start=0, end=30000000, step=1000): too many points for the given start=0, end=30000000 and step=1000: 30001; the maximum number of points is 30000; (see -search.maxPointsPerTimeseries command-line flag)`)
	f(MetricsQLQuery{Text: strings.Repeat("m+", 40_000) + "m", Step: 1},
		"error when executing query=\""+strings.Repeat("m+", 40_000)+"m\" on the time range (start=0, end=0, step=1): too long query; got 80001 bytes; mustn't exceed `--query.max-length=65536` bytes")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := e.MetricsQL(ctx, st, MetricsQLQuery{Text: "m", Start: mqlStart, End: mqlStart, Step: 1000, Instant: true})
	require.Error(t, got.Err)
	got.Close()
	var tooMuch *MemoryError
	got = e.MetricsQL(t.Context(), st, MetricsQLQuery{Text: "m[1h:1s]", Start: mqlStart, End: mqlStart, Step: 1000, Instant: true})
	require.NoError(t, got.Err)
	got.Close()
	got = e.MetricsQL(t.Context(), st, MetricsQLQuery{Text: "sum_over_time(m[20h:1s])", Start: mqlStart, End: mqlStart, Step: 1000, Instant: true})
	require.ErrorAs(t, got.Err, &tooMuch)
	got.Close()
	require.Zero(t, e.memory.Reserved())
}

// A query sees all of a write request or nothing, with all of its selectors.
func TestMetricsQLIsOfOneMoment(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff(), MinFree: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	st := tsdb.NewStorage(db)
	write := func(v int64) {
		app := st.Appender(context.Background())
		for i := range 100 {
			for _, name := range []string{"x", "y"} {
				if _, err := app.Append(0, labels.FromStrings("__name__", name, "i", fmt.Sprint(i)), mqlStart+v, float64(v)); err != nil {
					t.Error(err)
				}
			}
		}
		if err := app.Commit(); err != nil {
			t.Error(err)
		}
	}
	write(0)
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for v := int64(1); !stop.Load() && v < 3000; v++ {
			write(v)
		}
	})
	defer writer.Wait()
	defer stop.Store(true)
	e, err := New(Options{})
	require.NoError(t, err)
	for range 200 {
		r := e.MetricsQL(t.Context(), st, MetricsQLQuery{Text: "last_over_time(x[1m]) - on(i) last_over_time(y[1m])", Start: mqlStart + 3000, End: mqlStart + 3000, Step: 1000, Instant: true, RoundDigits: 100})
		require.NoError(t, r.Err)
		require.Len(t, r.Series, 100)
		for _, s := range r.Series {
			require.Zero(t, s.Values[0])
		}
		r.Close()
	}
}

func TestMetricsQLTexts(t *testing.T) {
	require.True(t, MetricsQLIsWindow("m[5m]"))
	require.True(t, MetricsQLIsWindow("WITH (a = m[5m]) a"))
	require.False(t, MetricsQLIsWindow("rate(m[5m])"))
	require.False(t, MetricsQLIsWindow("m["))
	require.Equal(t, []string{"a", "b"}, MetricsQLNames(`b + rate(a[5m]) + {__name__="b"} + {__name__=~"c.*"}`))
	require.Empty(t, MetricsQLNames("m["))

	templates := "WITH (a0 = m+m"
	for i := range 40 {
		templates += fmt.Sprintf(", a%d = a%d+a%d", i+1, i, i)
	}
	templates += ") a40[5m]"
	require.False(t, MetricsQLIsWindow(templates), "it is not written out")
	require.Empty(t, MetricsQLNames(templates))
	for _, text := range []string{templates, strings.Repeat("(", 1<<20)} {
		_, err := ExpandMetricsQL(text)
		require.ErrorContains(t, err, "too long query")
		_, err = ParseSelectors(text)
		require.ErrorContains(t, err, "too long query")
	}
	_, err := PrettifyMetricsQL(strings.Repeat("(", 1<<20))
	require.ErrorContains(t, err, "too long query")
}

// What a function makes of one series, and the groups of an aggregate, are counted
// as they come up, not when all is there.
func TestMetricsQLMemoryInTheMaking(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	st := tsdb.NewStorage(db)
	app := st.Appender(t.Context())
	const n = 2000
	for i := range int64(n) {
		_, err := app.Append(0, labels.FromStrings("__name__", "one"), mqlStart+i*1000, float64(i)/8)
		require.NoError(t, err)
		_, err = app.Append(0, labels.FromStrings("__name__", "many", "a", fmt.Sprint(i)), mqlStart, 1)
		require.NoError(t, err)
	}
	require.NoError(t, app.Commit())
	e, err := New(Options{MaxQueryMemory: 1 << 20})
	require.NoError(t, err)
	for _, text := range []string{
		`count_values_over_time("v", one[1h])`, `count(count_values_over_time("v", one[1h]))`, `count_values_over_time("v", sum(one)[1h:1s])`,
		"sum(rate(many[1h])) by (a)", "any(last_over_time(many[1h])) by (a)", `sum(count_values_over_time("v", one[1h])) by (v)`,
		"sum(" + strings.Repeat("1, ", 500) + "1)", "union(" + strings.Repeat("time(), ", 500) + "1)", `label_set(one` + strings.Repeat(`, "a", "b"`, 500) + ")",
	} {
		r := e.MetricsQL(t.Context(), st, MetricsQLQuery{Text: text, Start: mqlStart, End: mqlStart + n*1000, Step: 1000})
		var tooMuch *MemoryError
		require.ErrorAs(t, r.Err, &tooMuch, text)
		require.Less(t, tooMuch.Needs, int64(2<<20), text)
		r.Close()
	}
	require.Zero(t, e.memory.Reserved())
}

// Each part of an expression quotes itself in an error of what is in it, which a deep
// one must not make gigabytes of.
func TestMetricsQLErrorsOfDeepQueries(t *testing.T) {
	st := mqlStore(t)
	e, err := New(Options{})
	require.NoError(t, err)
	for _, around := range []string{"(1+%s)", "rate(%s[5m:])", "abs(%s)", "sum(%s)", "m @ (%s)", "topk(%s, m)", "%s + 1"} {
		text := "sum()"
		for len(text) < 15_000 {
			text = strings.Replace(around, "%s", text, 1)
		}
		r := e.MetricsQL(t.Context(), st, MetricsQLQuery{Text: text, Start: mqlStart, End: mqlStart, Step: 1000, Instant: true})
		require.Error(t, r.Err, around)
		require.Less(t, len(r.Err.Error()), 1<<18, around)
		r.Close()
	}
}
