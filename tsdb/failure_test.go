package tsdb_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// outcome is what a script with failing I/O is owed afterwards: what was
// acknowledged is there, and nothing is there that was not asked for.
type outcome struct {
	must map[string]bool // acknowledged and not deleted
	may  map[string]bool // a request for it failed, or one that deletes it did
}

func line(lset labels.Labels, x tsdbtest.Sample) string { return lset.String() + " " + x.String() }

// script runs the same steps whatever fails and notes what succeeded.
func script(fs vfs.FS, opts tsdb.Options) (o outcome) {
	o = outcome{must: map[string]bool{}, may: map[string]bool{}}
	opts.FS = fs
	db, err := tsdb.Open("store", opts)
	if err != nil {
		return o
	}
	ctx := context.Background()
	t0 := int64(1700000000000)
	write := func(id string, from int64) {
		lset := labels.FromStrings("__name__", "m", "id", id)
		var lines []string
		b := db.Batch()
		s, err := b.Series(lset)
		for i := from; err == nil && i < from+5; i++ {
			x := tsdbtest.Sample{T: t0 + i*1000, V: float64(i)}
			lines = append(lines, line(lset, x))
			err = b.Float(s, 0, x.T, x.V)
		}
		if err == nil {
			err = b.Commit(ctx)
		}
		for _, l := range lines {
			if err == nil {
				o.must[l] = true
			} else {
				o.may[l] = true
			}
		}
	}
	write("a", 0)
	write("b", 0)
	_ = db.ForceFlush(ctx)
	write("a", 10)
	write("c", 0)
	_ = db.ForceFlush(ctx)
	id := labels.MustNewMatcher(labels.MatchEqual, "id", "b")
	err = db.Delete(ctx, 0, t0+day, id)
	for l := range o.must {
		if strings.Contains(l, `id="b"`) {
			delete(o.must, l)
			if err != nil {
				o.may[l] = true
			}
		}
	}
	write("b", 20)
	_ = db.ForceMerge(ctx)
	write("a", 3) // late
	_, _ = db.Snapshot(ctx)
	write("c", 30)
	_ = db.Close()
	return o
}

func quiet() tsdb.Options {
	return tsdb.Options{MinFree: -1, Sync: tsdb.SyncAlways(), FlushInterval: time.Hour, FlushBytes: 1 << 20}
}

// held opens what the script left and holds it to what is owed.
func held(t *testing.T, fs vfs.FS, o outcome, when string) {
	t.Helper()
	opts := quiet()
	opts.FS = fs
	opts.Events = &tsdb.Events{Corrupted: func(err error) { t.Errorf("%s: damage: %v", when, err) }}
	db, err := tsdb.Open("store", opts)
	require.NoError(t, err, when)
	got, err := tsdbtest.Dump(context.Background(), db, 0, 1<<60)
	require.NoError(t, err, when)
	seen := map[string]bool{}
	for _, l := range got {
		seen[l] = true
		require.True(t, o.must[l] || o.may[l], "%s: nobody wrote %s", when, l)
	}
	for l := range o.must {
		require.True(t, seen[l], "%s: lost %s", when, l)
	}
	b := db.Batch()
	s, err := b.Series(labels.FromStrings("after", "1"))
	require.NoError(t, err)
	require.NoError(t, b.Float(s, 0, 1700000000000, 1))
	require.NoError(t, b.Commit(context.Background()), when)
	require.NoError(t, db.Close(), when)
}

// Whichever single operation of the disk fails, and also when it and all after
// it fail, with half a write done or none of it: nothing acknowledged is lost.
func TestEveryFailingOperationLosesNothing(t *testing.T) {
	for _, mode := range []struct {
		name       string
		from       bool
		shortWrite bool
	}{{"one", false, false}, {"one short", false, true}, {"all from", true, false}, {"all from short", true, true}} {
		fired := 0
		for k := int64(1); ; k++ {
			if (testing.Short() || raceDetector) && k%7 != 0 {
				continue
			}
			mem := vfs.NewMem()
			fault := vfs.NewFault(mem)
			fault.ShortWrites(mode.shortWrite)
			if mode.from {
				fault.FailFrom(k)
			} else {
				fault.FailOp(k)
			}
			o := script(fault, quiet())
			if fault.Fired() == 0 {
				break
			}
			fired++
			held(t, mem, o, fmt.Sprintf("%s, operation %d", mode.name, k))
			if t.Failed() {
				return
			}
		}
		require.Greater(t, fired, 10)
		t.Logf("%s: %d operations failed", mode.name, fired)
	}
}

// An operation that fails while a store is opened makes opening fail or costs
// nothing; it never makes a sound part look damaged.
func TestFailingOpenLosesNothing(t *testing.T) {
	first := vfs.NewMem()
	o := script(first, quiet())
	require.NotEmpty(t, o.must)
	failed := 0
	for k := int64(1); ; k++ {
		mem := first.CrashClone(rand.New(rand.NewSource(1)), 1) // a copy
		fault := vfs.NewFault(mem)
		fault.FailOp(k)
		opts := quiet()
		opts.FS = fault
		when := fmt.Sprintf("operation %d", k)
		opts.Events = &tsdb.Events{Corrupted: func(err error) { t.Errorf("%s: damage: %v", when, err) }}
		db, err := tsdb.Open("store", opts)
		if err == nil {
			err = db.Close()
		}
		if fault.Fired() == 0 {
			break
		}
		if err != nil {
			failed++
		}
		held(t, mem, o, when)
		if t.Failed() {
			return
		}
	}
	require.Positive(t, failed)
}

// A full disk refuses writes and flushes, loses nothing and goes on when there
// is space again.
func TestFullDisk(t *testing.T) {
	mem := vfs.NewMem()
	opts := quiet()
	opts.FS = mem
	db, err := tsdb.Open("store", opts)
	require.NoError(t, err)
	ctx := context.Background()
	s := labels.FromStrings("__name__", "m")
	model := tsdbtest.NewModel()
	write := func(i int) error {
		b := db.Batch()
		h, err := b.Series(s)
		require.NoError(t, err)
		x := tsdbtest.Sample{T: 1700000000000 + int64(i)*1000, V: 0.1 * float64(i)}
		require.NoError(t, b.Float(h, 0, x.T, x.V))
		if err := b.Commit(ctx); err != nil {
			return err
		}
		model.Append(s, x)
		return nil
	}
	mem.SetCapacity(mem.Used() + 2000)
	var full error
	n := 0
	for ; full == nil && n < 1000; n++ {
		full = write(n)
	}
	require.ErrorIs(t, full, vfs.ErrNoSpace)
	require.ErrorIs(t, db.ForceFlush(ctx), vfs.ErrNoSpace)
	got, err := tsdbtest.Dump(ctx, db, 0, 1<<60)
	require.NoError(t, err)
	require.Equal(t, model.Dump(0, 1<<60), got)

	mem.SetCapacity(-1)
	require.NoError(t, write(n))
	require.NoError(t, db.ForceFlush(ctx))
	require.NoError(t, db.Close())
	db, err = tsdb.Open("store", opts)
	require.NoError(t, err)
	got, err = tsdbtest.Dump(ctx, db, 0, 1<<60)
	require.NoError(t, err)
	require.Equal(t, model.Dump(0, 1<<60), got)
	require.NoError(t, db.Close())
}

// After a failed fsync nothing is known of what was written: writers are told,
// the head is flushed and the log begins anew.
func TestFailedSyncIsNotRetried(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	opts := quiet()
	opts.FS = fault
	db, err := tsdb.Open("store", opts)
	require.NoError(t, err)
	write := func(v float64) error {
		b := db.Batch()
		s, err := b.Series(labels.FromStrings("a", "1"))
		require.NoError(t, err)
		require.NoError(t, b.Float(s, 0, 1700000000000+int64(v), v))
		return b.Commit(context.Background())
	}
	require.NoError(t, write(1))
	fault.FailOnceIf(func(op vfs.Op) error {
		if op.Kind == vfs.OpSync && strings.HasSuffix(op.Name, ".wal") {
			return errors.New("the disk is gone")
		}
		return nil
	})
	require.ErrorContains(t, write(2), "the disk is gone")
	require.Eventually(t, func() bool { return write(3) == nil }, 30*time.Second, 10*time.Millisecond)
	require.NoError(t, db.Close())
}
