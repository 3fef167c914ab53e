package promqlx

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"
)

// noData is a Queryable without series, whose Select first calls enter.
type noData struct {
	emptyQuerier
	enter func(ctx context.Context, hints *storage.SelectHints) error
}

type emptyQuerier = storage.Querier

func newNoData(enter func(context.Context, *storage.SelectHints) error) noData {
	return noData{storage.NoopQuerier(), enter}
}

func (d noData) Querier(int64, int64) (storage.Querier, error) { return d, nil }

func (d noData) Select(ctx context.Context, _ bool, hints *storage.SelectHints, _ ...*labels.Matcher) storage.SeriesSet {
	if d.enter != nil {
		if err := d.enter(ctx, hints); err != nil {
			return storage.ErrSeriesSet(err)
		}
	}
	return storage.EmptySeriesSet()
}

func newEngine(t *testing.T, opts Options) *Engine {
	t.Helper()
	e, err := New(opts)
	require.NoError(t, err)
	return e
}

func execute(t *testing.T, e *Engine, q Queryable, query string) (parser.Value, annotations.Annotations, error) {
	t.Helper()
	qry, err := e.Instant(t.Context(), q, query, QueryOptions{}, time.Unix(10, 0))
	require.NoError(t, err)
	defer qry.Close()
	res := qry.Exec(t.Context())
	return res.Value, res.Warnings, res.Err
}

func TestInstantAndRange(t *testing.T) {
	e := newEngine(t, Options{})
	v, _, err := execute(t, e, newNoData(nil), "1 + 1")
	require.NoError(t, err)
	require.Equal(t, promql.Scalar{T: 10_000, V: 2}, v)

	qry, err := e.Range(t.Context(), newNoData(nil), "vector(time())", QueryOptions{}, time.Unix(1, 0), time.Unix(5, 0), 2*time.Second)
	require.NoError(t, err)
	res := qry.Exec(t.Context())
	require.NoError(t, res.Err)
	require.Equal(t, promql.Matrix{{Floats: []promql.FPoint{{T: 1000, F: 1}, {T: 3000, F: 3}, {T: 5000, F: 5}}}}, res.Value)
	require.NotNil(t, qry.Stats().Samples)
	qry.Close()

	_, err = e.Instant(t.Context(), newNoData(nil), "sum(", QueryOptions{}, time.Unix(1, 0))
	require.ErrorContains(t, err, "parse error")
	_, err = e.Range(t.Context(), newNoData(nil), "a[5m]", QueryOptions{}, time.Unix(1, 0), time.Unix(5, 0), time.Second)
	require.EqualError(t, err, `invalid expression type "range vector" for range query, must be Scalar or instant Vector`)
}

func TestWarningsPass(t *testing.T) {
	_, ws, err := execute(t, newEngine(t, Options{}), newNoData(nil), "quantile(2, vector(1))")
	require.NoError(t, err)
	require.Len(t, ws.AsErrors(), 1)
	require.ErrorIs(t, ws.AsErrors()[0], annotations.InvalidQuantileWarning)
}

func TestLookbackDelta(t *testing.T) {
	f := func(engine, query, want time.Duration) {
		t.Helper()
		e := newEngine(t, Options{LookbackDelta: engine})
		var start, end int64
		d := newNoData(func(_ context.Context, h *storage.SelectHints) error { start, end = h.Start, h.End; return nil })
		qry, err := e.Instant(t.Context(), d, "a", QueryOptions{LookbackDelta: query}, time.Unix(1000, 0))
		require.NoError(t, err)
		require.NoError(t, qry.Exec(t.Context()).Err)
		require.Equal(t, want.Milliseconds()-1, end-start) // open on the left
	}
	f(0, 0, DefaultLookbackDelta)
	f(time.Minute, 0, time.Minute)
	f(time.Minute, time.Hour, time.Hour)
	require.Equal(t, DefaultLookbackDelta, newEngine(t, Options{}).LookbackDelta())
}

func TestSubqueryStep(t *testing.T) {
	f := func(step time.Duration, want float64) {
		t.Helper()
		v, _, err := execute(t, newEngine(t, Options{SubqueryStep: step}), newNoData(nil), "count_over_time(vector(1)[1h:])")
		require.NoError(t, err)
		require.Equal(t, want, v.(promql.Vector)[0].F)
	}
	f(0, 60)
	f(10*time.Minute, 6)
}

func TestMinStep(t *testing.T) {
	for _, step := range []time.Duration{-time.Second, 0, MinStep - 1} {
		_, err := newEngine(t, Options{}).Range(t.Context(), newNoData(nil), "1", QueryOptions{}, time.Unix(0, 0), time.Unix(0, 0), step)
		require.EqualError(t, err, "step must be at least 1ms, got "+step.String())
	}
}

func TestMaxSamples(t *testing.T) {
	_, _, err := execute(t, newEngine(t, Options{MaxSamples: 100}), newNoData(nil), "sum_over_time(vector(1)[1000s:1s])")
	var want promql.ErrTooManySamples
	require.ErrorAs(t, err, &want)
}

func TestTimeout(t *testing.T) {
	e := newEngine(t, Options{Timeout: 10 * time.Millisecond})
	_, _, err := execute(t, e, newNoData(func(ctx context.Context, _ *storage.SelectHints) error { <-ctx.Done(); return ctx.Err() }), "a")
	var want promql.ErrQueryTimeout
	require.ErrorAs(t, err, &want)
}

// TestSlots is I1: no more queries evaluate at once than may, and all get their turn.
func TestSlots(t *testing.T) {
	e := newEngine(t, Options{MaxConcurrent: 3})
	var running, most, done atomic.Int64
	d := newNoData(func(context.Context, *storage.SelectHints) error {
		n := running.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(time.Millisecond)
		running.Add(-1)
		return nil
	})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			qry, err := e.Instant(t.Context(), d, "a", QueryOptions{}, time.Unix(1, 0))
			if err == nil && qry.Exec(t.Context()).Err == nil {
				done.Add(1)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 50, done.Load())
	require.LessOrEqual(t, most.Load(), int64(3))
}

// TestQueue is I2: a query that waits ends with its deadline or its caller.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, Options{MaxConcurrent: 1, Timeout: time.Minute})
		release := make(chan struct{})
		first, err := e.Instant(t.Context(), newNoData(func(context.Context, *storage.SelectHints) error { <-release; return nil }), "a", QueryOptions{}, time.Unix(1, 0))
		require.NoError(t, err)
		go first.Exec(context.Background())
		synctest.Wait()

		start := time.Now()
		_, _, err = execute(t, e, newNoData(nil), "a")
		require.Equal(t, promql.ErrQueryTimeout("query queue"), err)
		require.Equal(t, time.Minute, time.Since(start))

		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		qry, err := e.Instant(ctx, newNoData(nil), "a", QueryOptions{}, time.Unix(1, 0))
		require.NoError(t, err, "preparing needs no slot")
		require.Equal(t, promql.ErrQueryCanceled("query queue"), qry.Exec(ctx).Err)

		close(release)
		_, _, err = execute(t, e, newNoData(nil), "a")
		require.NoError(t, err)
	})
}

// TestPanic checks that a panic costs its query alone and leaves no slot taken.
func TestPanic(t *testing.T) {
	e := newEngine(t, Options{MaxConcurrent: 1, Timeout: time.Second})
	broken := newNoData(func(context.Context, *storage.SelectHints) error { panic("boom") })
	_, _, err := execute(t, e, broken, "a")
	require.EqualError(t, err, "unexpected error: boom")
	_, _, err = execute(t, e, newNoData(nil), "a")
	require.NoError(t, err)
}

func TestStorageError(t *testing.T) {
	want := errors.New("disk on fire")
	_, _, err := execute(t, newEngine(t, Options{}), newNoData(func(context.Context, *storage.SelectHints) error { return want }), "a")
	require.ErrorIs(t, err, want)
}

func TestFeatures(t *testing.T) {
	f := func(feature, query string) {
		t.Helper()
		require.Equal(t, FeatureEngine, LookupFeature(feature))
		_, err := newEngine(t, Options{}).ParseExpr(query)
		require.Error(t, err, "off by default")
		_, err = newEngine(t, Options{EnabledFeatures: []string{"otlp-deltatocumulative, " + feature + ",nonsense"}}).ParseExpr(query)
		require.NoError(t, err)
	}
	f("promql-experimental-functions", "limitk(1, a)")
	f("promql-binop-fill-modifiers", "a + fill(0) b")
	f("promql-unquoted-utf8-names", "métric")

	e := newEngine(t, Options{})
	for _, always := range []string{"a @ end()", "a offset -5m", "rate(a[5m + 1m])", "rate(a[5m] smoothed)", "increase(a[5m] anchored)"} {
		_, err := e.ParseExpr(always)
		require.NoError(t, err, always)
	}
	for name, want := range map[string]FeatureKind{
		"promql-per-step-stats": FeatureEngine, "promql-delayed-name-removal": FeatureEngine, "use-start-timestamps": FeatureEngine,
		"type-and-unit-labels": FeatureEngine, "promql-at-modifier": FeatureAlways, "promql-duration-expr": FeatureAlways,
		"promql-extended-range-selectors": FeatureAlways, "search-api": FeatureElsewhere, "nonsense": FeatureUnknown, "": FeatureUnknown,
	} {
		require.Equal(t, want, LookupFeature(name), name)
	}
	require.False(t, e.Features()["promql"]["per_step_stats"])
	on := newEngine(t, Options{EnabledFeatures: []string{"promql-per-step-stats", "promql-delayed-name-removal", "type-and-unit-labels"}}).Features()["promql"]
	for _, name := range []string{"per_step_stats", "delayed_name_removal", "type_and_unit_labels", "at_modifier"} {
		require.True(t, on[name], name)
	}
}

func TestSelectors(t *testing.T) {
	e := newEngine(t, Options{})
	m, err := e.ParseMetricSelector(`a{b="c"}`)
	require.NoError(t, err)
	require.Len(t, m, 2)
	sets, err := e.ParseMetricSelectors([]string{"a", `{"my.métric"}`})
	require.NoError(t, err)
	require.Len(t, sets, 2)
	_, err = e.ParseMetricSelectors([]string{"a", "{"})
	require.Error(t, err)
}

func TestOptions(t *testing.T) {
	_, err := New(Options{Timeout: -1, MaxSamples: -1, MaxConcurrent: -1, LookbackDelta: -1, SubqueryStep: -1})
	for _, want := range []string{"timeout must not be negative, got -1", "max samples", "max concurrent queries", "lookback delta", "subquery step"} {
		require.ErrorContains(t, err, want)
	}
	_, err = New(Options{SubqueryStep: time.Microsecond})
	require.EqualError(t, err, "subquery step must be at least 1ms, got 1µs")
	reg := prometheus.NewRegistry()
	newEngine(t, Options{Registerer: reg, MaxConcurrent: 7})
	families, err := reg.Gather()
	require.NoError(t, err)
	found := false
	for _, f := range families {
		if f.GetName() == "prometheus_engine_queries_concurrent_max" {
			found = true
			require.Equal(t, 7.0, f.Metric[0].GetGauge().GetValue())
		}
	}
	require.True(t, found)
}

// A text that is too long is refused before it is parsed: parsing knows no
// deadline.
func TestLongQueriesAreRefused(t *testing.T) {
	e, err := New(Options{MaxQueryBytes: 100})
	require.NoError(t, err)
	long := strings.Repeat("-", 100) + "1"
	_, err = e.ParseExpr(long)
	require.ErrorContains(t, err, "limit: 100 bytes")
	_, err = e.Instant(context.Background(), nil, long, QueryOptions{}, time.Now())
	require.ErrorContains(t, err, "limit: 100 bytes")
	_, err = e.Range(context.Background(), nil, long, QueryOptions{}, time.Now(), time.Now(), time.Second)
	require.ErrorContains(t, err, "limit: 100 bytes")
	_, err = e.ParseMetricSelector(strings.Repeat("a", 101))
	require.ErrorContains(t, err, "limit: 100 bytes")
	_, err = e.ParseMetricSelectors([]string{strings.Repeat("a", 60), strings.Repeat("a", 60)})
	require.ErrorContains(t, err, "limit: 100 bytes")
	_, err = e.ParseExpr(strings.Repeat("-", 99) + "1")
	require.NoError(t, err)
}

// TestTimings: the timers are those of Prometheus' engine if they are asked for, and
// there, but empty, if not.
func TestTimings(t *testing.T) {
	e, s := scriptedEngine(t, Options{}, func(context.Context, *Request, *Trace) *Result { return &Result{Value: promql.Vector{}} })
	ask := func(opts QueryOptions) string {
		q, err := e.Instant(t.Context(), nil, "up", opts, time.Unix(1, 0))
		require.NoError(t, err)
		defer q.Close()
		require.Equal(t, opts.Timings, s.last.Stats.Timers != nil)
		require.NoError(t, q.Exec(t.Context()).Err)
		require.NotPanics(t, func() { stats.NewQueryStats(q.Stats()) })
		return q.Stats().Timers.String()
	}
	require.Empty(t, ask(QueryOptions{}))
	told := ask(QueryOptions{Timings: true})
	for _, timer := range []stats.QueryTiming{stats.QueryPreparationTime, stats.ExecTotalTime, stats.ExecQueueTime, stats.EvalTotalTime, stats.InnerEvalTime} {
		require.Contains(t, told, timer.String())
	}
}
