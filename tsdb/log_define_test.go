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
