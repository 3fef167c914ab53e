package tsdb

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// A frame defines a series once, however its samples come.
func TestFrameDefinesSeriesOnce(t *testing.T) {
	db, err := Open("store", Options{FS: vfs.NewMem(), MinFree: -1, Sync: SyncOff()})
	require.NoError(t, err)
	b := db.Batch()
	for i := range int64(1000) {
		for _, id := range []string{"a", "b", "c"} {
			s, err := b.Series(labels.FromStrings("id", id))
			require.NoError(t, err)
			require.NoError(t, b.Float(s, 0, 1700000000000+i, 1))
		}
	}
	b.encode(db.log.Segment())
	require.Len(t, b.defined, 3)
	require.Less(t, b.enc.DefinitionBytes(), 100)
	require.NoError(t, b.Commit(context.Background()))
	require.NoError(t, db.Close())
}

// A batch that ended is nobody else's: to discard it once more does nothing to the
// one that has its memory.
func TestBatchEndsOnce(t *testing.T) {
	db, err := Open("store", Options{FS: vfs.NewMem(), MinFree: -1, Sync: SyncOff()})
	require.NoError(t, err)
	first := db.Batch()
	require.NoError(t, first.Commit(context.Background()))
	second := db.Batch()
	s, err := second.Series(labels.FromStrings("id", "a"))
	require.NoError(t, err)
	require.NoError(t, second.Float(s, 0, 1700000000000, 1))
	first.Discard()
	require.Panics(t, func() { _ = first.Float(s, 0, 1700000000001, 1) })
	require.Equal(t, 1, second.Len())
	require.NoError(t, second.Commit(context.Background()))
	require.EqualValues(t, 1, db.Stats().HeadSamples)
	require.NoError(t, db.Close())
}
