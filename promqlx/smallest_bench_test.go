package promqlx

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// BenchmarkSmallest asks for the smallest thing there is, one series at one time:
// what every query costs at least.
func BenchmarkSmallest(b *testing.B) {
	db, err := tsdb.Open(b.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	batch := db.Batch()
	s, err := batch.Series(labels.FromStrings("__name__", "one"))
	require.NoError(b, err)
	for i := range int64(4320) {
		require.NoError(b, batch.Add(s, shapesStart+i*10_000, float64(i%100)))
	}
	require.NoError(b, batch.Commit(context.Background()))
	require.NoError(b, db.ForceFlush(context.Background()))
	store := tsdb.NewStorage(db)
	e, err := New(Options{Registerer: prometheus.NewRegistry()})
	require.NoError(b, err)
	at := time.UnixMilli(shapesStart + 43_000_000)
	b.ReportAllocs()
	for b.Loop() {
		q, err := e.Instant(context.Background(), store, "one", QueryOptions{}, at)
		if err != nil {
			b.Fatal(err)
		}
		if err := q.Exec(context.Background()).Err; err != nil {
			b.Fatal(err)
		}
		q.Close()
	}
}
