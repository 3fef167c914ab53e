package promqlx

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// A query that would need more than its memory fails at once: for steps without
// bound, whatever is evaluated at them.
func TestStepsAreBounded(t *testing.T) {
	e := newEngine(t, Options{MaxMemory: 64 << 20, MaxQueryMemory: 16 << 20, EnabledFeatures: []string{"promql-experimental-functions"}})
	store := newNoData(nil)
	bounded := func(text string, q Query, err error) {
		t.Helper()
		require.NoError(t, err, text)
		defer q.Close()
		began := time.Now()
		res := q.Exec(t.Context())
		var memory *MemoryError
		var samples promql.ErrTooManySamples
		require.True(t, errors.As(res.Err, &memory) || errors.As(res.Err, &samples), "%s: %v", text, res.Err)
		require.Less(t, time.Since(began), time.Second, text)
	}
	for _, text := range []string{
		"max_over_time(vector(1)[10y:1ms])", "count_over_time(nosuch[10y:1ms])", "nosuch[290y:1ms]", "sum_over_time(vector(time())[290y:1ms])",
		"absent_over_time(nosuch[1y:1ms])", "max_over_time(max_over_time(nosuch[1d:1s])[1y:1s])", "rate(nosuch[290y:1ms] offset -280y)",
		"max_over_time(vector(1)[1y:10s] @ 9e15)", "max_over_time(vector(1)[1y:10s] @ -9e15)",
		"sum(max_over_time(nosuch[10y:1ms])) + on() vector(1)", "quantile_over_time(0.5, nosuch[10y:1ms])",
	} {
		q, err := e.Instant(t.Context(), store, text, QueryOptions{}, time.Unix(1_700_000_000, 0))
		bounded(text, q, err)
		q, err = e.Range(t.Context(), store, text, QueryOptions{}, time.Unix(1_700_000_000, 0), time.Unix(1_700_000_100, 0), time.Second)
		if err == nil { // a range vector is none
			bounded(text, q, err)
		}
	}
	far := time.Unix(1<<53-1, 0)
	for _, text := range []string{"1", "time()", "vector(1)", "nosuch", "sum(nosuch)", "timestamp(nosuch)"} {
		for _, start := range []time.Time{time.Unix(0, 0), time.Unix(-1<<53, 0)} {
			for _, step := range []time.Duration{time.Millisecond, 14 * time.Minute} {
				q, err := e.Range(t.Context(), store, text, QueryOptions{}, start, far, step)
				bounded(text, q, err)
			}
		}
	}
	// What one level holds while the next is evaluated adds up.
	deep := strings.Repeat("(time()+", 500) + "1" + strings.Repeat(")", 500)
	q, err := e.Instant(t.Context(), store, "max_over_time(vector("+deep+")[1d:1s])", QueryOptions{}, time.Unix(1_700_000_000, 0))
	bounded("deep", q, err)
	require.Zero(t, e.memory.Reserved())
}

// Scalars are given back, whatever they were for.
func TestScalarsAreGivenBack(t *testing.T) {
	e := newEngine(t, Options{EnabledFeatures: []string{"promql-experimental-functions"}})
	f := func(text string) {
		t.Helper()
		q, err := e.Range(t.Context(), newNoData(nil), text, QueryOptions{}, time.Unix(0, 0), time.Unix(10_000, 0), time.Second)
		require.NoError(t, err)
		defer q.Close()
		res := q.Exec(context.Background())
		require.NoError(t, res.Err)
		require.Equal(t, parser.ValueTypeMatrix, res.Value.Type())
		require.LessOrEqual(t, q.(*query).req.Meter.Used(), int64(300_000), "%s: the answer alone is held", text)
	}
	many := strings.Repeat("time()+", 100) + "time()"
	for _, text := range []string{
		many, "-(" + many + ")", "vector(" + many + ") + (" + many + ")", "round(vector(time()), " + many + ")", "scalar(vector(1)) * (" + many + ")",
		"clamp(vector(1), " + many + ", 1e99)", "max_over_time(vector(" + many + ")[1m:1s])",
	} {
		f(text)
	}
}

// Labels that functions make are counted: a text of some thousand bytes makes them
// as long, for each series.
func TestMadeLabelsAreCounted(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	b := db.Batch()
	for i := range 2000 {
		s, err := b.Series(labels.FromStrings("__name__", "a", "id", fmt.Sprint("host-", i)))
		require.NoError(t, err)
		require.NoError(t, b.Add(s, 1000, 1))
	}
	require.NoError(t, b.Commit(t.Context()))
	e := newEngine(t, Options{MaxMemory: 64 << 20, MaxQueryMemory: 16 << 20})
	long := strings.Repeat("x", 20_000)
	for _, text := range []string{
		`label_join(a, "to", "` + long + `", "id", "id")`, `label_replace(a, "to", "${1}` + long + `", "id", "(.*)")`,
		`count(label_replace(a, "to", "` + strings.Repeat("$1", 3000) + `", "id", "(.*)"))`,
	} {
		q, err := e.Instant(t.Context(), tsdb.NewStorage(db), text, QueryOptions{}, time.Unix(2, 0))
		require.NoError(t, err)
		var memory *MemoryError
		require.ErrorAs(t, q.Exec(t.Context()).Err, &memory, text[:40])
		q.Close()
	}
	require.Zero(t, e.memory.Reserved())
}

// Histograms in answers and in rows that are kept are counted.
func TestHistogramsAreCounted(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	b := db.Batch()
	for i := range 100 {
		s, err := b.Series(labels.FromStrings("__name__", "h", "id", fmt.Sprint(i)))
		require.NoError(t, err)
		for k := range int64(60) {
			h := &histogram.Histogram{Schema: 3, Count: 160, PositiveSpans: []histogram.Span{{Length: 160}}, PositiveBuckets: make([]int64, 160)}
			h.PositiveBuckets[0] = 1
			require.NoError(t, b.Histogram(s, 0, k*60_000, h))
		}
	}
	require.NoError(t, b.Commit(t.Context()))
	e := newEngine(t, Options{MaxMemory: 64 << 20, MaxQueryMemory: 4 << 20})
	f := func(q Query, err error) {
		t.Helper()
		require.NoError(t, err)
		defer q.Close()
		var memory *MemoryError
		require.ErrorAs(t, q.Exec(t.Context()).Err, &memory)
	}
	st := tsdb.NewStorage(db)
	f(e.Instant(t.Context(), st, "h[1h]", QueryOptions{}, time.Unix(3600, 0)))
	f(e.Range(t.Context(), st, "h", QueryOptions{}, time.Unix(0, 0), time.Unix(3600, 0), time.Minute))
	f(e.Range(t.Context(), st, "count(h + on(id) h offset 1m)", QueryOptions{}, time.Unix(0, 0), time.Unix(3600, 0), time.Minute))
	require.Zero(t, e.memory.Reserved())
}
