package tsdb_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// storeOfTwoDays has a part for each of two days.
func storeOfTwoDays(t *testing.T, mem vfs.FS, told *[]string) *tsdb.DB {
	t.Helper()
	opts := quiet()
	opts.Events = &tsdb.Events{Corrupted: func(err error) { *told = append(*told, err.Error()) }}
	db := openOn(t, mem, opts)
	for i := range int64(1000) {
		require.NoError(t, put(db, "a", 0, someTime+i*1000, float64(i*i*i%1009)))
	}
	require.NoError(t, put(db, "a", 0, someTime+48*3600*1000, 1))
	require.NoError(t, db.ForceFlush(context.Background()))
	require.Len(t, db.Parts(), 2)
	return db
}

func TestScrubOfSoundStore(t *testing.T) {
	var told []string
	db := storeOfTwoDays(t, vfs.NewMem(), &told)
	require.NoError(t, db.Scrub(context.Background()))
	require.Empty(t, told)
	stats := db.Stats().Scrub
	require.Equal(t, uint64(2), stats.Parts)
	require.GreaterOrEqual(t, stats.Bytes, db.Stats().PartBytes)
	require.Zero(t, stats.Damages)
	require.NoError(t, db.Close())
	require.ErrorIs(t, db.Scrub(context.Background()), tsdb.ErrClosed)
}

// A damaged place is named once; the rest goes on being served.
func TestScrubNamesDamage(t *testing.T) {
	ctx := context.Background()
	var told []string
	mem := vfs.NewMem()
	db := storeOfTwoDays(t, mem, &told)
	spoil(t, mem, "store/parts/2023-11/000000000001", "data", 100)
	require.NoError(t, db.Scrub(ctx))
	require.NoError(t, db.Scrub(ctx))
	require.Len(t, told, 1)
	require.Contains(t, told[0], "000000000001/data")
	require.Equal(t, uint64(1), db.Stats().Scrub.Damages)
	require.Len(t, db.Parts(), 2)
	require.NoError(t, db.Close())
}

// The first who meets a damaged block fails; later ones get the rest and are
// told, unless they are to fail as well. Nothing is merged without it.
func TestDamagedBlockIsLeftOut(t *testing.T) {
	ctx := context.Background()
	var told []string
	mem := vfs.NewMem()
	require.NoError(t, storeOfTwoDays(t, mem, &told).Close())
	spoil(t, mem, "store/parts/2023-11/000000000001", "data", 100)
	opts := quiet()
	opts.FailOnDamage = true
	db := openOn(t, mem, opts)
	for range 2 {
		_, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64)
		require.ErrorIs(t, err, tsdb.ErrCorrupt)
	}
	require.NoError(t, db.Close())

	db = openOn(t, mem, quiet())
	_, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64)
	require.ErrorIs(t, err, tsdb.ErrCorrupt)
	require.Len(t, dumpAll(t, db), 1)
	v, err := db.Select(ctx, 0, math.MaxInt64)
	require.NoError(t, err)
	require.ErrorContains(t, v.Damage(), "000000000001/data at offset")
	require.ErrorContains(t, v.Damage(), "samples of 1 series from 2023-11-14")
	v.Close()
	v, err = db.Select(ctx, someTime+24*3600*1000, math.MaxInt64)
	require.NoError(t, err)
	require.NoError(t, v.Damage())
	v.Close()
	q, err := tsdb.NewStorage(db).Querier(0, math.MaxInt64)
	require.NoError(t, err)
	require.Len(t, q.Select(ctx, true, nil, matchID("a")).Warnings(), 1)
	require.NoError(t, q.Close())

	require.NoError(t, put(db, "a", 0, someTime+5e5, 7))
	require.ErrorIs(t, db.ForceMerge(ctx), tsdb.ErrCorrupt)
	require.Len(t, dumpAll(t, db), 2)
	require.NoError(t, db.Close())
}

// A part without a sound index is moved away while the store serves the rest.
func TestScrubQuarantinesPart(t *testing.T) {
	ctx := context.Background()
	var told []string
	mem := vfs.NewMem()
	db := storeOfTwoDays(t, mem, &told)
	spoil(t, mem, "store/parts/2023-11/000000000001", "index", -1)
	require.NoError(t, db.Scrub(ctx))
	require.Len(t, told, 1)
	require.Contains(t, told[0], "part store/parts/2023-11/000000000001 set aside")
	require.Len(t, db.Parts(), 1)
	got, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64)
	require.NoError(t, err)
	require.Len(t, got, 1)
	names, err := mem.List("store/quarantine")
	require.NoError(t, err)
	require.Equal(t, []string{"2023-11-000000000001"}, names)
	require.NoError(t, db.Close())
	db = openOn(t, mem, quiet())
	require.Len(t, db.Parts(), 1)
	require.NoError(t, db.Close())
}

// Reading is slowed down to the rate, and ends with the caller's patience.
func TestScrubIsPaced(t *testing.T) {
	var told []string
	mem := vfs.NewMem()
	db := storeOfTwoDays(t, mem, &told)
	require.NoError(t, db.Close())
	opts := quiet()
	opts.ScrubRate = 1
	db = openOn(t, mem, opts)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, db.Scrub(ctx), context.DeadlineExceeded)
	require.Zero(t, db.Stats().Scrub.Parts)
	require.NoError(t, db.Close())
}

// A disk that does not deliver for a moment is no reason to set a part aside, not
// even one with a damaged place.
func TestScrubWhileReadingFails(t *testing.T) {
	ctx := context.Background()
	var told []string
	mem := vfs.NewMem()
	require.NoError(t, storeOfTwoDays(t, mem, &told).Close())
	spoil(t, mem, "store/parts/2023-11/000000000001", "data", 100)
	fault := vfs.NewFault(mem)
	db := openOn(t, fault, quiet())
	checked := false // with handles of its own
	fault.FailIf(func(op vfs.Op) error {
		checked = checked || op.Kind == vfs.OpClose && strings.HasSuffix(op.Name, "/data")
		if checked && op.Kind == vfs.OpReadAt {
			return vfs.ErrInjected
		}
		return nil
	})
	require.ErrorIs(t, db.Scrub(ctx), vfs.ErrInjected)
	fault.Clear()
	require.Len(t, db.Parts(), 2)
	require.NoError(t, db.Scrub(ctx))
	require.Len(t, db.Parts(), 2)
	require.NoError(t, db.Close())
}
