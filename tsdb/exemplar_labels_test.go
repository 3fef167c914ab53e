package tsdb_test

import (
	"context"
	oldrand "math/rand"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// An exemplar whose labels no reader of the log would take, as a scraped target
// may send them, is refused: it would take all samples of its request with it.
func TestExemplarWithUnsoundLabels(t *testing.T) {
	mem := vfs.NewMem()
	opts := quiet()
	opts.Sync = tsdb.SyncAlways()
	opts.Events = &tsdb.Events{Corrupted: func(err error) { t.Errorf("damage: %v", err) }}
	db := openOn(t, mem, opts)
	b := db.Batch()
	s, err := b.Series(labels.FromStrings("__name__", "m", "id", "a"))
	require.NoError(t, err)
	require.NoError(t, b.Float(s, 0, someTime, 1))
	for _, names := range [][]string{{"trace_id", "trace_id"}, {"b", "a"}} {
		builder := labels.NewScratchBuilder(2)
		for _, name := range names {
			builder.Add(name, "x")
		}
		var input *tsdb.InputError
		require.ErrorAs(t, b.Exemplar(s, exemplar.Exemplar{Labels: builder.Labels(), Ts: someTime, HasTs: true}), &input)
	}
	require.NoError(t, b.Exemplar(s, exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "x"), Ts: someTime, HasTs: true}))
	require.NoError(t, b.Commit(context.Background()))
	after := mem.CrashClone(oldrand.New(oldrand.NewSource(1)), 1)
	require.NoError(t, db.Close())
	db = openOn(t, after, opts)
	require.Len(t, dumpAll(t, db), 1)
	require.NoError(t, db.Close())
}
