package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// turnstile holds up whoever makes the next unfinished part, when armed.
type turnstile struct {
	vfs.FS
	armed   atomic.Bool
	reached chan struct{}
	pass    chan struct{}
}

func newTurnstile(fs vfs.FS) *turnstile {
	return &turnstile{FS: fs, reached: make(chan struct{}), pass: make(chan struct{})}
}

func (s *turnstile) Create(name string) (vfs.File, error) {
	if strings.Contains(name, "/tmp-") && s.armed.CompareAndSwap(true, false) {
		s.reached <- struct{}{}
		<-s.pass
	}
	return s.FS.Create(name)
}

// mergeHeldUp begins a merge of two parts and returns when it writes.
func mergeHeldUp(t *testing.T, gate *turnstile, db *tsdb.DB) (done chan error) {
	t.Helper()
	for _, id := range []string{"a", "b"} {
		require.NoError(t, put(db, id, 0, someTime, 1))
		require.NoError(t, put(db, id, 0, someTime+1000, 2))
		require.NoError(t, db.ForceFlush(context.Background()))
	}
	require.Len(t, db.Parts(), 2)
	gate.armed.Store(true)
	done = make(chan error, 1)
	go func() { done <- db.ForceMerge(context.Background()) }()
	<-gate.reached
	return done
}

// Writes, flushes, deletes and snapshots go on during a merge; what was deleted
// meanwhile is not in its result, nor after a restart.
func TestMergeHoldsUpNobody(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	gate := newTurnstile(mem)
	db := openOn(t, gate, quiet())
	done := mergeHeldUp(t, gate, db)
	require.NoError(t, db.Delete(ctx, 0, someTime, matchID("a")))
	require.NoError(t, put(db, "a", 0, someTime, 3))
	require.NoError(t, db.ForceFlush(ctx))
	_, err := db.Snapshot(ctx)
	require.NoError(t, err)
	want := dumpAll(t, db)
	require.Len(t, want, 4)
	require.Len(t, db.Parts(), 3)
	close(gate.pass)
	require.NoError(t, <-done)
	require.Len(t, db.Parts(), 2)
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, db.Close())
	db = openOn(t, mem, quiet())
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, db.ForceMerge(ctx))
	require.Equal(t, want, dumpAll(t, db))
	require.Len(t, db.Parts(), 1)
	require.NoError(t, db.Close())
}

// A store that closes breaks a merge off and leaves nothing of it.
func TestCloseDuringMerge(t *testing.T) {
	mem := vfs.NewMem()
	gate := newTurnstile(mem)
	db := openOn(t, gate, quiet())
	done := mergeHeldUp(t, gate, db)
	want := dumpAll(t, db)
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	require.Eventually(t, func() bool { return put(db, "a", 0, someTime, 1) != nil }, time.Minute, time.Millisecond)
	close(gate.pass)
	if err := <-done; err != nil { // nil if it was quicker
		require.ErrorIs(t, err, tsdb.ErrClosed)
	}
	require.NoError(t, <-closed)
	names, err := mem.List("store/parts/2023-11")
	require.NoError(t, err)
	db = openOn(t, mem, quiet())
	require.Len(t, names, len(db.Parts()))
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, db.Close())
}

// Parts past the retention go at once; a merge that was reading them yields.
func TestRetentionDuringMerge(t *testing.T) {
	ctx := context.Background()
	opts := quiet()
	opts.RetentionBytes = 1
	gate := newTurnstile(vfs.NewMem())
	db := openOn(t, gate, opts)
	done := mergeHeldUp(t, gate, db)
	require.NoError(t, put(db, "new", 0, someTime+24*3600*1000, 1))
	require.NoError(t, db.ForceFlush(ctx))
	tidied := make(chan error, 1)
	go func() { tidied <- db.Tidy(ctx) }()
	require.Eventually(t, func() bool { return len(db.Parts()) == 1 }, time.Minute, time.Millisecond)
	close(gate.pass)
	require.NoError(t, <-done)
	require.NoError(t, <-tidied)
	require.Len(t, db.Parts(), 1)
	require.Len(t, dumpAll(t, db), 1)
	require.Greater(t, db.Parts()[0].MinT, someTime)
	require.Less(t, db.Parts()[0].MinT, int64(math.MaxInt64))
	require.NoError(t, db.Close())
}

// Days of a month are joined; a query of one day still sees the series of that
// day alone, and late samples and deletes count as before.
func TestDaysAreJoined(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openOn(t, mem, quiet())
	for d := range int64(4) {
		for _, id := range []string{"always", fmt.Sprint("only", d)} {
			for k := range int64(50) {
				require.NoError(t, put(db, id, 0, someTime+d*day+k*1000, float64(d*k%7)))
			}
		}
		require.NoError(t, db.ForceFlush(ctx))
	}
	require.Len(t, db.Parts(), 4)
	check := func() {
		t.Helper()
		for d := range int64(4) {
			ids, err := db.LabelValues(ctx, "id", someTime+d*day, someTime+d*day+60_000)
			require.NoError(t, err)
			require.Equal(t, []string{"always", fmt.Sprint("only", d)}, ids)
		}
	}
	check()
	want := dumpAll(t, db)
	require.NoError(t, db.ForceMerge(ctx))
	require.Len(t, db.Parts(), 1)
	require.Equal(t, want, dumpAll(t, db))
	check()

	require.NoError(t, put(db, "always", 0, someTime+day, 77))
	require.NoError(t, db.Delete(ctx, someTime+2*day, someTime+2*day+1000, matchID("only2")))
	want = dumpAll(t, db)
	require.NoError(t, db.ForceMerge(ctx))
	require.Len(t, db.Parts(), 1)
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, db.Close())
	db = openOn(t, mem, quiet())
	require.Equal(t, want, dumpAll(t, db))
	check()
	require.NoError(t, db.Close())
}

// Parts stay short where retention drops them whole.
func TestRetentionKeepsDaysApart(t *testing.T) {
	ctx := context.Background()
	opts := quiet()
	opts.RetentionBytes = 1 << 30
	db := openOn(t, vfs.NewMem(), opts)
	for d := range int64(4) {
		require.NoError(t, put(db, "a", 0, someTime+d*day, 1))
	}
	require.NoError(t, db.ForceMerge(ctx))
	require.Len(t, db.Parts(), 4)
	require.NoError(t, db.Close())
}
