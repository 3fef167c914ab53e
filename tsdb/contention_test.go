package tsdb_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	oldrand "math/rand"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// Writers that contend for the same samples, deletes, flushes, merges and
// collected series: what is answered before a crash is answered after it, and
// the newest acknowledged sample of each writer is there.
func TestContendingWriters(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	opts := quiet()
	opts.FlushBytes, opts.MemoryBudget = 64<<10, 1<<30
	opts.Events = &tsdb.Events{
		Corrupted:     func(err error) { t.Errorf("damage: %v", err) },
		BackgroundErr: func(job string, err error) { t.Errorf("%s: %v", job, err) },
	}
	db := openOn(t, mem, opts)
	handles := make([]tsdb.Series, 2000) // most of them idle: they are dropped
	b := db.Batch()
	for i := range handles {
		s, err := b.Series(labels.FromStrings("id", fmt.Sprint(i)))
		require.NoError(t, err)
		handles[i] = s
	}
	b.Discard()
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for i := 0; !stop.Load(); i++ {
				b := db.Batch()
				at := rng.IntN(1 + rng.IntN(len(handles)))
				s, err := live(b, handles[at], at)
				if err != nil {
					t.Error(err)
				}
				for k := range int64(3) {
					if err := b.Float(s, 0, someTime+k%2, float64(w*1000000+i)); err != nil {
						t.Error(err)
					}
				}
				if err := b.Commit(ctx); err != nil {
					t.Error(err)
				}
				got, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64, matchID(fmt.Sprint(at)))
				if err != nil || len(got) != 2 {
					t.Errorf("after a write: %v %v", got, err)
				}
			}
		})
	}
	deadline := time.Now().Add(time.Second / 2)
	for time.Now().Before(deadline) {
		require.NoError(t, db.ForceFlush(ctx))
		require.NoError(t, db.Delete(ctx, 0, someTime-1, matchID("1")))
		require.NoError(t, db.ForceMerge(ctx))
	}
	stop.Store(true)
	wg.Wait()
	want := dumpAll(t, db)
	after := mem.CrashClone(oldrand.New(oldrand.NewSource(1)), 0)
	require.NoError(t, db.Close())
	db = openOn(t, after, opts)
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, db.Close())
}

// live returns the series that has the id now.
func live(b *tsdb.Batch, s tsdb.Series, id int) (tsdb.Series, error) {
	if b.Live(s) {
		return s, nil
	}
	return b.Series(labels.FromStrings("id", fmt.Sprint(id)))
}

// Close comes between writers: each is told whether its sample was taken, and
// those that were are there.
func TestCloseAmongWriters(t *testing.T) {
	mem := vfs.NewMem()
	for round := range 20 {
		db := openOn(t, mem, quiet())
		var wg sync.WaitGroup
		done := make([]int, 4)
		for w := range done {
			wg.Go(func() {
				for {
					if err := put(db, fmt.Sprint(w), 0, someTime+int64(done[w]), float64(round)); err != nil {
						if !errors.Is(err, tsdb.ErrClosed) {
							t.Error(err)
						}
						return
					}
					done[w]++
				}
			})
		}
		wg.Go(func() {
			for {
				v, err := db.Select(context.Background(), 0, math.MaxInt64)
				if err != nil {
					return
				}
				db.Stats()
				v.Close()
			}
		})
		time.Sleep(2 * time.Millisecond)
		require.NoError(t, db.Close())
		wg.Wait()
		db = openOn(t, mem, quiet())
		for w, n := range done {
			got, err := tsdbtest.Dump(context.Background(), db, someTime, someTime+int64(n)-1, matchID(fmt.Sprint(w)))
			require.NoError(t, err)
			require.Len(t, got, n)
		}
		require.NoError(t, db.Delete(context.Background(), 0, math.MaxInt64, labels.MustNewMatcher(labels.MatchRegexp, "id", ".+")))
		require.NoError(t, db.Close())
	}
}

// Writers that bring the same dropped series back at the same time each find
// their sample when they are answered.
func TestRevivedByMany(t *testing.T) {
	ctx := context.Background()
	opts := quiet()
	opts.Sync = tsdb.SyncOff()
	db := openOn(t, vfs.NewMem(), opts)
	handles := make([]tsdb.Series, 1000)
	b := db.Batch()
	for i := range handles {
		s, err := b.Series(labels.FromStrings("id", fmt.Sprint(i)))
		require.NoError(t, err)
		require.NoError(t, b.Float(s, 0, someTime, 1))
		handles[i] = s
	}
	require.NoError(t, b.Commit(ctx))
	for range 3 {
		require.NoError(t, db.ForceFlush(ctx))
		require.NoError(t, db.Delete(ctx, 0, 1, matchID("none")))
	}
	require.Zero(t, db.Stats().HeadSeries)
	var wg sync.WaitGroup
	for w := range int64(4) {
		wg.Go(func() {
			for i, s := range handles {
				at := someTime + 1 + w
				b := db.Batch()
				s, err := live(b, s, i)
				if err == nil {
					err = b.Float(s, 0, at, 1)
				}
				if err == nil {
					err = b.Commit(ctx)
				}
				got, dumpErr := tsdbtest.Dump(ctx, db, at, at, matchID(fmt.Sprint(i)))
				if err != nil || dumpErr != nil || len(got) != 1 {
					t.Errorf("series %d of writer %d: %v %v %v", i, w, got, err, dumpErr)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, len(handles), db.Stats().HeadSeries)
	require.NoError(t, db.Close())
}

// A series that a batch saw alive stays until the batch ends, whatever is
// flushed meanwhile; later the store says that it is gone, also when another
// series has its place.
func TestBatchKeepsSeriesAlive(t *testing.T) {
	ctx := context.Background()
	opts := quiet()
	opts.Sync = tsdb.SyncOff()
	db := openOn(t, vfs.NewMem(), opts)
	pass := func() {
		for range 4 {
			require.NoError(t, db.Delete(ctx, 0, 1, matchID("none"))) // so that there is something to flush
			require.NoError(t, db.ForceFlush(ctx))
		}
	}
	b := db.Batch()
	s, err := b.Series(labels.FromStrings("id", "a"))
	require.NoError(t, err)
	pass()
	require.True(t, b.Live(s))
	require.NoError(t, b.Float(s, 0, someTime, 1))
	pass()
	require.NoError(t, b.Commit(ctx))
	require.Len(t, dumpAll(t, db), 1)
	pass()
	require.Zero(t, db.Stats().HeadSeries)
	require.NoError(t, put(db, "b", 0, someTime, 2))
	b = db.Batch()
	require.False(t, b.Live(s))
	require.ErrorIs(t, b.Float(s, 0, someTime+1, 1), tsdb.ErrStale)
	require.ErrorIs(t, b.Float(0, 0, someTime+1, 1), tsdb.ErrStale)
	require.Zero(t, b.Len())
	b.Discard()
	require.Len(t, dumpAll(t, db), 2)
	require.NoError(t, db.Close())
}

// Series come and go, their places are taken by others, and what the log has of
// either is read back as theirs.
func TestChurn(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openOn(t, mem, quiet())
	for round := range 12 {
		b := db.Batch()
		for i := range 200 {
			s, err := b.Series(labels.FromStrings("id", fmt.Sprintf("%d-%d", round, i)))
			require.NoError(t, err)
			require.NoError(t, b.Float(s, 0, someTime+int64(round), float64(round*1000+i)))
		}
		require.NoError(t, b.Commit(ctx))
		if round%4 == 3 { // the power goes, with the log of two rounds unflushed
			want := dumpAll(t, db)
			require.Len(t, want, 200*(round+1))
			after := mem.CrashClone(oldrand.New(oldrand.NewSource(1)), 0)
			require.NoError(t, db.Close())
			mem = after
			db = openOn(t, mem, quiet())
			require.Equal(t, want, dumpAll(t, db))
			continue
		}
		require.NoError(t, db.ForceFlush(ctx))
		require.LessOrEqual(t, db.Stats().HeadSeries, 800)
	}
	require.NoError(t, db.Close())
}

// A Cursor that outlives its View is a mistake of the caller's.
func TestCursorAfterClose(t *testing.T) {
	db := openOn(t, vfs.NewMem(), quiet())
	require.NoError(t, put(db, "a", 0, someTime, 1))
	v, err := db.Select(context.Background(), 0, math.MaxInt64)
	require.NoError(t, err)
	c := v.Cursor(0, 0, math.MaxInt64)
	require.NoError(t, db.ForceFlush(context.Background()))
	v.Close()
	require.Panics(t, func() { c.Next() })
	require.NoError(t, db.Close())
}

// An appender that was ended already does not end the batch of someone else.
func TestAppenderEndsOnce(t *testing.T) {
	db := openOn(t, vfs.NewMem(), quiet())
	app := tsdb.NewStorage(db).Appender(context.Background())
	_, err := app.Append(0, labels.FromStrings("id", "a"), someTime, 1)
	require.NoError(t, err)
	require.NoError(t, app.Commit())
	require.Error(t, app.Rollback())
	require.Error(t, app.Commit())
	_, err = app.Append(0, labels.FromStrings("id", "a"), someTime+1, 1)
	require.Error(t, err)
	require.Len(t, dumpAll(t, db), 1)
	require.NoError(t, db.Close())
}

// A request that is refused for want of memory registers no series.
func TestRefusedRequestsRegisterNothing(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	opts := quiet()
	opts.FlushBytes, opts.MemoryBudget = 1000, 1000
	db := openOn(t, fault, opts)
	fault.FailIf(func(op vfs.Op) error {
		if strings.Contains(op.Name, "parts") {
			return vfs.ErrInjected
		}
		return nil
	})
	var overload *tsdb.OverloadError
	for i := 0; !errors.As(put(db, fmt.Sprint(i), 0, someTime, 1), &overload); i++ {
		require.Less(t, i, 1000)
	}
	before := db.Stats().HeadSeries
	for i := range 100 {
		require.ErrorAs(t, put(db, fmt.Sprint("more", i), 0, someTime, 1), &overload)
	}
	require.Equal(t, before, db.Stats().HeadSeries)
	fault.Clear()
	require.NoError(t, db.Close())
}

// A snapshot made among writers opens as a store that has everything
// acknowledged before it began; one that a crash broke off leaves nothing.
func TestSnapshotAmongWriters(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openOn(t, mem, quiet())
	var acked [3]atomic.Int64
	var stop atomic.Bool
	var wg sync.WaitGroup
	for w := range acked {
		wg.Go(func() {
			for i := int64(0); !stop.Load(); i++ {
				if err := put(db, fmt.Sprint(w), 0, someTime+i, float64(i)); err != nil {
					t.Error(err)
				}
				acked[w].Store(i + 1)
			}
		})
	}
	type taken struct {
		name string
		had  [3]int64
	}
	var all []taken
	for range 5 {
		var s taken
		time.Sleep(5 * time.Millisecond)
		for w := range acked {
			s.had[w] = acked[w].Load()
		}
		var err error
		s.name, err = db.Snapshot(ctx)
		require.NoError(t, err)
		all = append(all, s)
	}
	stop.Store(true)
	wg.Wait()
	require.NoError(t, db.Close())
	for _, s := range all {
		opts := quiet()
		opts.FS = mem
		opts.Events = &tsdb.Events{Corrupted: func(err error) { t.Error(err) }}
		db, err := tsdb.Open("store/snapshots/"+s.name, opts)
		require.NoError(t, err)
		for w, n := range s.had {
			got, err := tsdbtest.Dump(ctx, db, someTime, someTime+n-1, matchID(fmt.Sprint(w)))
			require.NoError(t, err)
			require.Len(t, got, int(n))
		}
		require.NoError(t, db.Close())
	}
	require.NoError(t, mem.MkdirAll("store/snapshots/tmp-broken-off"))
	db = openOn(t, mem, quiet())
	require.NoError(t, db.Close())
	names, err := mem.List("store/snapshots")
	require.NoError(t, err)
	require.Len(t, names, 5)
}
