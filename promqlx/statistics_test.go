package promqlx

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// What a plan and a trace say of statistics of blocks.
func TestStatisticsAreTold(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff(), MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	const day = 24 * 60 * 60
	b := db.Batch()
	s, err := b.Series(labels.FromStrings("__name__", "x"))
	require.NoError(t, err)
	for i := range int64(3 * day / 15) {
		require.NoError(t, b.Add(s, i*15_000+7, float64(i%10)))
	}
	require.NoError(t, b.Commit(t.Context()))
	require.NoError(t, db.ForceFlush(t.Context()))
	e, err := New(Options{})
	require.NoError(t, err)
	ask := func(text string) (plan, trace string) {
		root := NewTrace(true, "query")
		q, err := e.Range(t.Context(), tsdb.NewStorage(db), text, QueryOptions{Trace: root}, time.Unix(day, 0), time.Unix(3*day, 0), 24*time.Hour)
		require.NoError(t, err)
		defer q.Close()
		require.NoError(t, q.Exec(t.Context()).Err)
		return q.(Explainer).Explain(), string(root.AppendJSON(nil))
	}
	plan, trace := ask("avg_over_time(x[1d])")
	require.Contains(t, plan, "avg_over_time 1d stats")
	require.Contains(t, trace, "read 0 samples of 1 series, knew 17280 by statistics")
	plan, trace = ask("avg_over_time(x[10m])")
	require.NotContains(t, plan, "stats")
	require.Contains(t, trace, "knew 0 by statistics")
}
