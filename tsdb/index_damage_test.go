package tsdb_test

import (
	"context"
	"fmt"
	oldrand "math/rand"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// A page of a mapped index is looked at when it is used first. If that is for a
// delete of the manifest, while the store opens, its part is set aside, as any
// that cannot be read is.
func TestOpenWithDamagedIndexAndDeletes(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	db := openOn(t, fault, quiet())
	b := db.Batch()
	for i := range 6000 {
		s, err := b.Series(labels.FromStrings("__name__", "m", "host", fmt.Sprintf("host-%d-%x", i, i*i), "job", fmt.Sprint("j", i%50)))
		require.NoError(t, err)
		require.NoError(t, b.Float(s, 0, someTime, float64(i)))
	}
	require.NoError(t, b.Commit(ctx))
	require.NoError(t, db.ForceFlush(ctx))
	require.NoError(t, put(db, "other", 0, someTime+48*3600*1000, 1))
	require.NoError(t, db.ForceFlush(ctx))
	rng := oldrand.New(oldrand.NewSource(1))
	fault.FailIf(func(op vfs.Op) error {
		if op.Kind == vfs.OpWrite && strings.Contains(op.Name, "MANIFEST") {
			return vfs.ErrInjected
		}
		return nil
	})
	require.Error(t, db.Delete(ctx, 0, someTime+1, labels.MustNewMatcher(labels.MatchRegexp, "host", "host-2.*")))
	fault.Clear()
	crashed := mem.CrashClone(rng, 1) // the log alone has the delete
	require.NoError(t, db.Delete(ctx, 0, someTime+1, labels.MustNewMatcher(labels.MatchRegexp, "host", "host-1.*")))
	require.NoError(t, db.Close())

	const dir = "store/parts/2023-11/000000000001"
	f, err := mem.Open(dir + "/index")
	require.NoError(t, err)
	size, err := f.Size()
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.Greater(t, size, int64(64<<10))
	for at := int64(0); at < size; at += size / 40 {
		clone := mem.CrashClone(rng, 1)
		if at%2 == 1 {
			clone = crashed.CrashClone(rng, 1)
		}
		spoil(t, clone, dir, "index", int(at))
		var told []error
		opts := quiet()
		opts.FS, opts.Events = clone, &tsdb.Events{Corrupted: func(err error) { told = append(told, err) }}
		db, err := tsdb.Open("store", opts)
		require.NoError(t, err, "byte %d", at)
		require.Equal(t, len(db.Parts()) < 2, len(told) > 0, "byte %d", at)
		require.NoError(t, db.Close())
	}
}
