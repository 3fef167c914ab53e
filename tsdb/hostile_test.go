package tsdb_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	oldrand "math/rand"
	"path"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

const someTime = int64(1700000000000)

func openOn(t *testing.T, fs vfs.FS, opts tsdb.Options) *tsdb.DB {
	t.Helper()
	opts.FS = fs
	db, err := tsdb.Open("store", opts)
	require.NoError(t, err)
	return db
}

func put(db *tsdb.DB, id string, st, at int64, v float64) error {
	b := db.Batch()
	s, err := b.Series(labels.FromStrings("__name__", "m", "id", id))
	if err == nil {
		err = b.Float(s, st, at, v)
	}
	if err != nil {
		b.Discard()
		return err
	}
	return b.Commit(context.Background())
}

func dumpAll(t *testing.T, db *tsdb.DB) []string {
	t.Helper()
	got, err := tsdbtest.Dump(context.Background(), db, math.MinInt64, math.MaxInt64)
	require.NoError(t, err)
	return got
}

func matchID(id string) *labels.Matcher { return labels.MustNewMatcher(labels.MatchEqual, "id", id) }

// A closed store says so to whoever still calls it; views opened before go on.
func TestUseAfterClose(t *testing.T) {
	ctx := context.Background()
	before := runtime.NumGoroutine()
	db := openOn(t, vfs.NewMem(), quiet())
	require.NoError(t, put(db, "a", 0, someTime, 1))
	require.NoError(t, db.ForceFlush(ctx))
	view, err := db.Select(ctx, 0, math.MaxInt64)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.LessOrEqual(t, runtime.NumGoroutine(), before, "goroutines are left")

	_, err = db.Select(ctx, 0, math.MaxInt64)
	require.ErrorIs(t, err, tsdb.ErrClosed)
	_, err = db.LabelNames(ctx, 0, math.MaxInt64)
	require.ErrorIs(t, err, tsdb.ErrClosed)
	_, err = db.LabelValues(ctx, "id", 0, math.MaxInt64)
	require.ErrorIs(t, err, tsdb.ErrClosed)
	_, err = db.Exemplars(ctx, 0, math.MaxInt64, []*labels.Matcher{matchID("a")})
	require.ErrorIs(t, err, tsdb.ErrClosed)
	_, err = db.Cardinality(ctx, 0, math.MaxInt64, 10)
	require.ErrorIs(t, err, tsdb.ErrClosed)
	_, err = db.Snapshot(ctx)
	require.ErrorIs(t, err, tsdb.ErrClosed)
	require.ErrorIs(t, db.ForceFlush(ctx), tsdb.ErrClosed)
	require.ErrorIs(t, db.ForceMerge(ctx), tsdb.ErrClosed)
	require.ErrorIs(t, db.Tidy(ctx), tsdb.ErrClosed)
	require.ErrorIs(t, db.CleanTombstones(ctx), tsdb.ErrClosed)
	require.ErrorIs(t, db.Delete(ctx, 0, 1, matchID("a")), tsdb.ErrClosed)
	require.ErrorIs(t, put(db, "a", 0, someTime, 2), tsdb.ErrClosed)
	require.ErrorIs(t, db.Close(), tsdb.ErrClosed)
	require.Zero(t, db.Stats().Parts)
	require.Empty(t, db.Parts())
	_, _, ok := db.TimeRange()
	require.False(t, ok)

	c := view.Cursor(0, 0, math.MaxInt64)
	require.True(t, c.Next())
	require.Equal(t, 1.0, c.Span().Float(0))
	view.Close()
}

// A log that failed while there was nothing to flush comes back as well.
func TestFailedLogWithoutFrames(t *testing.T) {
	fault := vfs.NewFault(vfs.NewMem())
	opts := quiet()
	opts.Sync = tsdb.SyncEvery(time.Millisecond)
	db := openOn(t, fault, opts)
	fault.FailIf(func(op vfs.Op) error {
		if strings.Contains(op.Name, "wal") && (op.Kind == vfs.OpWrite || op.Kind == vfs.OpSync || op.Kind == vfs.OpSyncDir) {
			return errors.New("the disk is gone")
		}
		return nil
	})
	require.Eventually(t, func() bool { return errors.Is(put(db, "a", 0, someTime, 1), tsdb.ErrLogFailed) }, time.Minute, time.Millisecond)
	fault.Clear()
	require.Eventually(t, func() bool { return put(db, "a", 0, someTime, 1) == nil }, time.Minute, time.Millisecond)
	require.NoError(t, db.Close())
}

// A sample that differs from the one at its time in the start timestamp alone
// replaces it, in memory as in parts.
func TestStartTimestampOfRepeatedSample(t *testing.T) {
	for _, flush := range []bool{false, true} {
		db := openOn(t, vfs.NewMem(), quiet())
		require.NoError(t, put(db, "a", someTime-5, someTime, 1))
		if flush {
			require.NoError(t, db.ForceFlush(context.Background()))
		}
		require.NoError(t, put(db, "a", 0, someTime, 1))
		require.Equal(t, []string{line(labels.FromStrings("__name__", "m", "id", "a"), tsdbtest.Sample{T: someTime, V: 1})}, dumpAll(t, db), "flush %v", flush)
		require.NoError(t, db.Close())
	}
}

// findFiles lists the files below dir.
func findFiles(fs vfs.FS, dir string) (out []string) {
	names, err := fs.List(dir)
	if err != nil {
		return []string{dir}
	}
	for _, n := range names {
		out = append(out, findFiles(fs, path.Join(dir, n))...)
	}
	return out
}

// spoil flips a byte of the first file below dir with that base name.
func spoil(t *testing.T, fs vfs.FS, dir, base string, at int) {
	t.Helper()
	for _, name := range findFiles(fs, dir) {
		if path.Base(name) == base {
			data, err := vfs.ReadFile(fs, name)
			require.NoError(t, err)
			if at < 0 {
				at += len(data)
			}
			data[at] ^= 0xff
			require.NoError(t, vfs.WriteFileAtomic(fs, name, data))
			return
		}
	}
	t.Fatalf("no %s in %s", base, dir)
}

// Whatever fails while a damaged part is set aside, and whatever the power loss
// then leaves: its bytes are kept.
func TestQuarantineKeepsDamagedPart(t *testing.T) {
	first := vfs.NewMem()
	db := openOn(t, first, quiet())
	require.NoError(t, put(db, "a", 0, someTime, 1))
	require.NoError(t, db.Close())
	spoil(t, first, "store/parts", "index", -1)
	for k := int64(1); ; k++ {
		mem := first.CrashClone(oldrand.New(oldrand.NewSource(1)), 1)
		fault := vfs.NewFault(mem)
		fault.FailFrom(k)
		opts := quiet()
		opts.FS = fault
		if db, err := tsdb.Open("store", opts); err == nil {
			_ = db.Close()
		}
		fired := fault.Fired() > 0
		for i, after := range []*vfs.Mem{mem.CrashClone(oldrand.New(oldrand.NewSource(k)), 1), mem.CrashClone(oldrand.New(oldrand.NewSource(k)), 0), mem.CrashClone(oldrand.New(oldrand.NewSource(k)), 0.5)} {
			db := openOn(t, after, quiet())
			require.Empty(t, dumpAll(t, db))
			require.NoError(t, db.Close())
			kept := findFiles(after, "store/quarantine")
			require.True(t, slices.ContainsFunc(kept, func(n string) bool { return path.Base(n) == "data" }), "operation %d, loss %d: %v", k, i, kept)
		}
		if !fired {
			break
		}
	}
}

// A flush whose new part cannot be looked at just then leaves nothing behind
// that a delete does not reach.
func TestFlushFailsAfterDelete(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	db := openOn(t, fault, quiet())
	require.NoError(t, put(db, "a", 0, someTime, 1))
	fail := func(kind vfs.OpKind, base string) {
		fault.FailOnceIf(func(op vfs.Op) error {
			if op.Kind == kind && path.Base(op.Name) == base {
				return errors.New("the disk is gone")
			}
			return nil
		})
	}
	fail(vfs.OpCreate, "data")
	require.Error(t, db.ForceFlush(ctx))
	require.NoError(t, db.Delete(ctx, 0, math.MaxInt64, matchID("a")))
	fail(vfs.OpReadAt, "index")
	require.Error(t, db.ForceFlush(ctx))
	require.NoError(t, db.ForceFlush(ctx))
	require.NoError(t, db.CleanTombstones(ctx))
	require.Empty(t, dumpAll(t, db))
	require.NoError(t, db.Close())
	db = openOn(t, mem, quiet())
	require.Empty(t, dumpAll(t, db))
	require.Empty(t, db.Parts())
	require.NoError(t, db.Close())
}

// A flush that fails again and again does not fill the disk with its attempts.
func TestFailedFlushLeavesNoFolders(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	db := openOn(t, fault, quiet())
	require.NoError(t, put(db, "a", 0, someTime, 1))
	for _, kind := range []vfs.OpKind{vfs.OpSyncDir, vfs.OpOpen} {
		fault.FailIf(func(op vfs.Op) error {
			if op.Kind == kind && strings.Contains(op.Name, "parts/2023-11") && !strings.Contains(op.Name, "tmp-") {
				return errors.New("the disk is gone")
			}
			return nil
		})
		for range 5 {
			require.Error(t, db.ForceFlush(context.Background()))
		}
		fault.Clear()
		require.Empty(t, findFiles(mem, "store/parts/2023-11"), kind)
	}
	require.NoError(t, db.Close())
}

// Damage that a reader meets is told, once.
func TestReadersTellOfDamage(t *testing.T) {
	fs := vfs.NewMem()
	var told []error
	db := openOn(t, fs, tsdb.Options{})
	require.NoError(t, put(db, "a", 0, someTime, 1))
	require.NoError(t, db.Close())
	spoil(t, fs, "store/parts", "data", 20)
	db = openOn(t, fs, tsdb.Options{FailOnDamage: true, Events: &tsdb.Events{Corrupted: func(err error) { told = append(told, err) }}})
	for range 2 {
		_, err := tsdbtest.Dump(context.Background(), db, 0, math.MaxInt64)
		require.ErrorIs(t, err, tsdb.ErrCorrupt)
	}
	require.Len(t, told, 1)
	require.ErrorContains(t, told[0], "data")
	require.NoError(t, db.Close())
}

// A damaged page makes the queries that need it fail with its place, and
// neither those of other series nor the merges of other days.
func TestDamagedPage(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openOn(t, mem, quiet())
	for i := range 3 {
		for d := range int64(2) {
			for k := range int64(400) {
				require.NoError(t, put(db, fmt.Sprint(i), 0, someTime+d*day+k*7001+int64(i), math.Pi*float64(k)))
			}
		}
		require.NoError(t, db.ForceFlush(ctx))
	}
	require.NoError(t, db.Close())
	spoil(t, mem, "store/parts/2023-11/000000000001", "data", 100)
	db = openOn(t, mem, quiet())
	_, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64)
	require.ErrorIs(t, err, tsdb.ErrCorrupt)
	require.ErrorContains(t, err, "000000000001/data")
	got, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64, matchID("1"))
	require.NoError(t, err)
	require.Len(t, got, 800)
	require.ErrorIs(t, db.ForceMerge(ctx), tsdb.ErrCorrupt)
	require.Len(t, db.Parts(), 4, "the second day is merged nevertheless")
	require.NoError(t, db.Close())
}

// The limit of series holds for those that come back by an old handle too.
func TestMaxSeriesOfRevivedHandles(t *testing.T) {
	ctx := context.Background()
	opts := quiet()
	opts.MaxSeries = 10
	db := openOn(t, vfs.NewMem(), opts)
	var old []tsdb.Series
	b := db.Batch()
	for i := range 10 {
		s, err := b.Series(labels.FromStrings("old", fmt.Sprint(i)))
		require.NoError(t, err)
		require.NoError(t, b.Float(s, 0, someTime, 1))
		old = append(old, s)
	}
	require.NoError(t, b.Commit(ctx))
	for range 3 { // they become idle
		require.NoError(t, db.ForceFlush(ctx))
		require.NoError(t, db.Delete(ctx, 0, 1, matchID("none")))
	}
	require.Zero(t, db.Stats().HeadSeries)
	for i := range 10 {
		require.NoError(t, put(db, fmt.Sprint(i), 0, someTime, 1))
	}
	for i, s := range old {
		b := db.Batch()
		var overload *tsdb.OverloadError
		require.False(t, b.Live(s))
		_, err := b.Series(labels.FromStrings("old", fmt.Sprint(i)))
		require.ErrorAs(t, err, &overload)
		require.True(t, overload.TooMany)
		b.Discard()
	}
	require.Equal(t, 10, db.Stats().HeadSeries)
	require.NoError(t, db.Close())
}

// Senders that disagree on a family's metadata cost no memory or disk for each
// of their requests.
func TestFlappingMetadata(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	opts := quiet()
	opts.Sync = tsdb.SyncOff()
	db := openOn(t, mem, opts)
	for i := range 5000 {
		b := db.Batch()
		require.NoError(t, b.Metadata("family", metadata.Metadata{Type: "counter", Help: fmt.Sprint(i % 2)}))
		require.NoError(t, b.Commit(ctx))
	}
	require.NoError(t, db.ForceFlush(ctx))
	data, err := vfs.ReadFile(mem, "store/MANIFEST")
	require.NoError(t, err)
	require.Less(t, len(data), 2000)
	want := db.Metadata("", 0)
	require.Len(t, want["family"], 2)
	require.Equal(t, "1", want["family"][1].Help)
	require.NoError(t, db.Close())
	db = openOn(t, mem, opts)
	require.Equal(t, want, db.Metadata("", 0))
	require.NoError(t, db.Close())
}

// Exemplars of one time come once each, however many groups of matchers, parts
// and retries there are.
func TestExemplarsOfOneTime(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openOn(t, mem, quiet())
	add := func() {
		b := db.Batch()
		s, err := b.Series(labels.FromStrings("id", "a"))
		require.NoError(t, err)
		for i := range 3 {
			require.NoError(t, b.Exemplar(s, exemplar.Exemplar{Ts: someTime, HasTs: true, Value: float64(i), Labels: labels.FromStrings("n", fmt.Sprint(i))}))
		}
		require.NoError(t, b.Commit(ctx))
	}
	check := func() {
		m := []*labels.Matcher{matchID("a")}
		got, err := db.Exemplars(ctx, math.MinInt64, math.MaxInt64, m, m)
		require.NoError(t, err)
		require.Len(t, got, 1)
		require.Len(t, got[0].Exemplars, 3)
	}
	add()
	check()
	require.NoError(t, db.ForceFlush(ctx))
	add()
	check()
	require.NoError(t, db.ForceMerge(ctx))
	check()
	require.NoError(t, db.Delete(ctx, someTime, someTime, matchID("a")))
	got, err := db.Exemplars(ctx, math.MinInt64, math.MaxInt64, []*labels.Matcher{matchID("a")})
	require.NoError(t, err)
	require.Empty(t, got)
	add()
	require.NoError(t, db.Close())
	db = openOn(t, mem, quiet())
	check()
	require.NoError(t, db.Close())
}

// A histogram that says it follows no reset said so of the sample that its
// sender knew, not of one that came late.
func TestHintAfterLateHistogram(t *testing.T) {
	ctx := context.Background()
	db := openOn(t, vfs.NewMem(), quiet())
	add := func(at int64, count uint64, hint histogram.CounterResetHint) {
		b := db.Batch()
		s, err := b.Series(labels.FromStrings("id", "a"))
		require.NoError(t, err)
		require.NoError(t, b.Histogram(s, 0, at, &histogram.Histogram{
			CounterResetHint: hint, Count: count, Sum: 1,
			PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{int64(count)},
		}))
		require.NoError(t, b.Commit(ctx))
	}
	add(someTime, 5, histogram.CounterReset)
	require.NoError(t, db.ForceFlush(ctx))
	add(someTime+100, 10, histogram.NotCounterReset)
	check := func() {
		v, err := db.Select(ctx, 0, math.MaxInt64)
		require.NoError(t, err)
		defer v.Close()
		c := v.Cursor(0, 0, math.MaxInt64)
		var hints []histogram.CounterResetHint
		for c.Next() {
			for i := range c.Span().Count {
				hints = append(hints, c.Span().Histograms[i].CounterResetHint)
			}
		}
		require.NoError(t, c.Err())
		require.Equal(t, []histogram.CounterResetHint{histogram.CounterReset, histogram.NotCounterReset, histogram.UnknownCounterReset}, hints)
	}
	add(someTime+50, 100, histogram.UnknownCounterReset) // late, of another sender
	check()
	require.NoError(t, db.ForceFlush(ctx))
	check()
	require.NoError(t, db.ForceMerge(ctx))
	check()
	require.NoError(t, db.Close())
}

// Times at the edges of days and start timestamps of any size come back from
// memory, parts, merges and restarts as they were written.
func TestExtremes(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openOn(t, mem, quiet())
	model := tsdbtest.NewModel()
	lset := labels.FromStrings("__name__", "m", "id", "a")
	starts := []int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt64 + 1}
	check := func() {
		t.Helper()
		for _, r := range [][2]int64{{math.MinInt64, math.MaxInt64}, {0, day - 1}, {day, day}, {math.MaxInt64, math.MaxInt64}, {math.MinInt64, -1}, {day - 1, math.MaxInt64}} {
			got, err := tsdbtest.Dump(ctx, db, r[0], r[1])
			require.NoError(t, err)
			require.Equal(t, model.Dump(r[0], r[1]), got, "%v", r)
			names, err := db.LabelNames(ctx, r[0], r[1])
			require.NoError(t, err)
			require.Equal(t, model.LabelNames(r[0], r[1]), names, "%v", r)
		}
	}
	n := 0
	for range 3 {
		for d := range int64(4) {
			for _, at := range []int64{d * day, d*day + 1, (d+1)*day - 1} {
				x := tsdbtest.Sample{T: at, ST: starts[n%len(starts)], V: math.Float64frombits(uint64(n) * 0x9e3779b97f4a7c15)}
				n++
				require.NoError(t, put(db, "a", x.ST, x.T, x.V))
				model.Append(lset, x)
			}
		}
		check()
		require.NoError(t, db.ForceFlush(ctx))
		check()
	}
	require.NoError(t, db.Delete(ctx, math.MinInt64, 0, matchID("a")))
	model.Delete(math.MinInt64, 0, matchID("a"))
	check()
	require.NoError(t, db.Delete(ctx, 3*day+1, math.MaxInt64, matchID("a")))
	model.Delete(3*day+1, math.MaxInt64, matchID("a"))
	check()
	require.NoError(t, db.ForceMerge(ctx))
	check()
	require.NoError(t, db.Close())
	db = openOn(t, mem, quiet())
	check()
	require.NoError(t, db.Delete(ctx, math.MinInt64, math.MaxInt64, matchID("a")))
	require.Empty(t, dumpAll(t, db))
	require.NoError(t, db.Close())
}

// A delete that only the manifest kept through a power loss is one for the log's
// samples too, whether they were flushed since or not.
func TestLogLosesDelete(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	opts := quiet()
	opts.Sync = tsdb.SyncOff()
	db := openOn(t, mem, opts)
	require.NoError(t, put(db, "a", 0, someTime, 1))
	require.NoError(t, db.ForceFlush(ctx))
	require.NoError(t, put(db, "a", 0, someTime, 2))
	require.NoError(t, put(db, "b", 0, someTime, 3))
	segments := findFiles(mem, "store/wal")
	require.Len(t, segments, 1)
	log, err := vfs.ReadFile(mem, segments[0])
	require.NoError(t, err)
	require.NoError(t, db.Delete(ctx, someTime, someTime, matchID("a")))
	after := mem.CrashClone(oldrand.New(oldrand.NewSource(1)), 1)
	require.NoError(t, vfs.WriteFileAtomic(after, segments[0], log))
	require.NoError(t, db.Close())

	db = openOn(t, after, opts)
	want := []string{line(labels.FromStrings("__name__", "m", "id", "b"), tsdbtest.Sample{T: someTime, V: 3})}
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, db.ForceFlush(ctx))
	require.Equal(t, want, dumpAll(t, db))
	require.NoError(t, put(db, "a", 0, someTime, 4))
	require.NoError(t, db.Close())
	db = openOn(t, after, opts)
	require.Len(t, dumpAll(t, db), 2)
	require.NoError(t, db.Close())
}
