package corpus

import (
	"testing"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/tsdb"
)

func TestCorpus(t *testing.T) {
	run(t, onStore(func(db *tsdb.DB) storage.Storage { return tsdb.NewStorage(db) }))
}

func TestCorpusMerged(t *testing.T) {
	run(t, onStore(func(db *tsdb.DB) storage.Storage { return NewMerged(db) }))
}

func TestCorpusSplit(t *testing.T) {
	if testing.Short() {
		t.Skip("writes thousands of parts")
	}
	run(t, onStore(func(db *tsdb.DB) storage.Storage { return NewSplit(db, 17) }))
}

func TestCorpusShuffled(t *testing.T) {
	if testing.Short() {
		t.Skip("one more order of the same samples")
	}
	run(t, onStore(func(db *tsdb.DB) storage.Storage { return NewShuffled(db, 1) }))
}

func TestCorpusHidden(t *testing.T) {
	run(t, onStore(func(db *tsdb.DB) storage.Storage { return Hidden{tsdb.NewStorage(db)} }))
}

// TestCorpusHiddenMerged reads merged parts by way of the storage interface.
func TestCorpusHiddenMerged(t *testing.T) {
	if testing.Short() {
		t.Skip("one more state of the same samples")
	}
	run(t, onStore(func(db *tsdb.DB) storage.Storage { return Hidden{NewMerged(db)} }))
}

// TestCorpusPrometheusStorage has the engine over Prometheus' own storage.
func TestCorpusPrometheusStorage(t *testing.T) {
	run(t, func(tb testing.TB) storage.Storage { return promqltest.NewBuiltinTestStorage(tb) })
}

func onStore(wrap func(*tsdb.DB) storage.Storage) func(testing.TB) storage.Storage {
	return func(tb testing.TB) storage.Storage {
		db, err := tsdb.Open(tb.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
		require.NoError(tb, err)
		return wrap(db)
	}
}

func run(t *testing.T, newStorage func(testing.TB) storage.Storage) {
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	require.Greater(t, len(exprs), 2000)
	e, err := promqlx.New(Options())
	require.NoError(t, err)
	engine := NewEngine(e)
	promqltest.RunBuiltinTestsWithStorage(t, engine, newStorage)
	require.Equal(t, len(exprs), engine.Executed(exprs), "evals asked, of those the module has")
	t.Logf("%d evals of %d executed, in %d queries; all passed: %t", engine.Executed(exprs), len(exprs), engine.Asked(), !t.Failed())
}
