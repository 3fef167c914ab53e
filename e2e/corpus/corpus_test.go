package corpus

import (
	"testing"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

func TestCorpus(t *testing.T) {
	run(t, func(db *tsdb.DB) storage.Storage { return tsdb.NewStorage(db) })
}

func TestCorpusMerged(t *testing.T) {
	run(t, func(db *tsdb.DB) storage.Storage { return NewMerged(db) })
}

func TestCorpusSplit(t *testing.T) {
	if testing.Short() {
		t.Skip("writes thousands of parts")
	}
	run(t, func(db *tsdb.DB) storage.Storage { return NewSplit(db, 17) })
}

func TestCorpusShuffled(t *testing.T) {
	if testing.Short() {
		t.Skip("one more order of the same samples")
	}
	run(t, func(db *tsdb.DB) storage.Storage { return NewShuffled(db, 1) })
}

func run(t *testing.T, wrap func(*tsdb.DB) storage.Storage) {
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	require.Greater(t, len(exprs), 2000)
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	promqltest.RunBuiltinTestsWithStorage(t, engine, func(tb testing.TB) storage.Storage {
		db, err := tsdb.Open(tb.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
		require.NoError(tb, err)
		return wrap(db)
	})
	if !t.Failed() {
		t.Logf("%d evals passed", len(exprs))
	}
}
