package tsdb_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

func openStore(t *testing.T, opts tsdb.Options) *tsdb.DB {
	t.Helper()
	if opts.FS == nil {
		opts.FS = vfs.NewMem()
	}
	opts.MinFree = -1
	db, err := tsdb.Open("store", opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			require.ErrorIs(t, err, tsdb.ErrClosed)
		}
	})
	return db
}

func add(t *testing.T, db *tsdb.DB, lset labels.Labels, samples ...tsdbtest.Sample) {
	t.Helper()
	b := db.Batch()
	s, err := b.Series(lset)
	require.NoError(t, err)
	for _, x := range samples {
		require.NoError(t, b.Float(s, x.ST, x.T, x.V))
	}
	require.NoError(t, b.Commit(context.Background()))
}

func dump(t *testing.T, db *tsdb.DB, mint, maxt int64, ms ...*labels.Matcher) []string {
	t.Helper()
	out, err := tsdbtest.Dump(context.Background(), db, mint, maxt, ms...)
	require.NoError(t, err)
	return out
}

const t0 = int64(1700006400000) // a midnight

// Series that were active on another day only are not seen by a day's look-ups.
func TestLabelsOfOneDay(t *testing.T) {
	db := openStore(t, tsdb.Options{})
	ctx := context.Background()
	for d := range int64(3) {
		add(t, db, labels.FromStrings("__name__", "m", "pod", fmt.Sprint(d), fmt.Sprintf("day%d", d), "x"), tsdbtest.Sample{T: t0 + d*day + 1000, V: 1})
	}
	check := func(when string) {
		for d := range int64(3) {
			values, err := db.LabelValues(ctx, "pod", t0+d*day, t0+(d+1)*day-1)
			require.NoError(t, err)
			require.Equal(t, []string{fmt.Sprint(d)}, values, when)
			names, err := db.LabelNames(ctx, t0+d*day, t0+(d+1)*day-1, labels.MustNewMatcher(labels.MatchEqual, "__name__", "m"))
			require.NoError(t, err)
			require.Equal(t, []string{"__name__", fmt.Sprintf("day%d", d), "pod"}, names, when)
		}
		values, err := db.LabelValues(ctx, "pod", 0, t0+10*day)
		require.NoError(t, err)
		require.Equal(t, []string{"0", "1", "2"}, values, when)
	}
	check("head")
	require.NoError(t, db.ForceFlush(ctx))
	require.Len(t, db.Parts(), 3)
	check("parts")
}

func TestDeletedSeriesVanishAtOnce(t *testing.T) {
	ctx := context.Background()
	for _, flushed := range []bool{false, true} {
		mem := vfs.NewMem()
		db := openStore(t, tsdb.Options{FS: mem})
		a, b := labels.FromStrings("__name__", "d", "a", "1"), labels.FromStrings("__name__", "d", "a", "2")
		add(t, db, a, tsdbtest.Sample{T: t0, V: 1}, tsdbtest.Sample{T: t0 + 60000, V: 2})
		add(t, db, b, tsdbtest.Sample{T: t0, V: 3})
		if flushed {
			require.NoError(t, db.ForceFlush(ctx))
		}
		two := labels.MustNewMatcher(labels.MatchEqual, "a", "2")
		require.NoError(t, db.Delete(ctx, t0-1000, t0+day, two))
		require.NoError(t, db.Delete(ctx, t0+1, t0+day, labels.MustNewMatcher(labels.MatchEqual, "a", "1")))
		check := func() {
			t.Helper()
			values, err := db.LabelValues(ctx, "a", 0, t0+day)
			require.NoError(t, err)
			require.Equal(t, []string{"1"}, values)
			require.Len(t, dump(t, db, 0, t0+day), 1)
		}
		check()
		require.NoError(t, db.Close())
		db = openStore(t, tsdb.Options{FS: mem})
		check()
		add(t, db, b, tsdbtest.Sample{T: t0, V: 4}) // written later: not hidden
		require.Len(t, dump(t, db, 0, t0+day, two), 1)
		require.NoError(t, db.ForceMerge(ctx))
		require.Len(t, dump(t, db, 0, t0+day, two), 1)
		require.Zero(t, db.Stats().Tombstones, "a delete that is carried out is forgotten")
		require.Equal(t, uint64(2), db.Stats().PartSamples, "what was deleted is gone from the disk")
	}
}

func TestRetentionByAge(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{Retention: 48 * time.Hour})
	now := time.Now().UnixMilli()
	lset := labels.FromStrings("__name__", "m")
	b := db.Batch()
	s, err := b.Series(lset)
	require.NoError(t, err)
	var input *tsdb.InputError
	require.ErrorAs(t, b.Float(s, 0, now-3*day, 1), &input)
	require.Contains(t, input.Error(), "retention")
	require.ErrorAs(t, b.Float(s, 0, now+3*day, 1), &input)
	require.Contains(t, input.Error(), "future")
	require.ErrorAs(t, b.Float(s, 0, -1, 1), &input)
	require.NoError(t, b.Float(s, 0, now-day, 1))
	require.NoError(t, b.Commit(ctx))
	require.Len(t, dump(t, db, 0, now), 1)
}

func TestRetentionBySizeDropsTheOldestDays(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openStore(t, tsdb.Options{FS: mem})
	for d := range int64(5) {
		add(t, db, labels.FromStrings("__name__", "m", "d", fmt.Sprint(d)), tsdbtest.Sample{T: t0 + d*day, V: 0.1})
	}
	require.NoError(t, db.ForceFlush(ctx))
	size := db.Stats().PartBytes / 5
	require.NoError(t, db.Close())

	retired := make(chan tsdb.RetireInfo, 10)
	db = openStore(t, tsdb.Options{FS: mem, RetentionBytes: int64(size*2 + size/2), Events: &tsdb.Events{
		Retired: func(i tsdb.RetireInfo) { retired <- i },
	}})
	require.NoError(t, db.Tidy(ctx))
	require.Equal(t, "size", (<-retired).Reason)
	values, err := db.LabelValues(ctx, "d", 0, t0+9*day)
	require.NoError(t, err)
	require.Equal(t, []string{"3", "4"}, values)
	names, err := mem.List(path.Join("store", "parts", "2023-11"))
	require.NoError(t, err)
	require.Len(t, names, 2, "the folders are gone")
}

func TestSnapshotIsAStoreOfItsOwn(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	db := openStore(t, tsdb.Options{FS: mem})
	lset := labels.FromStrings("__name__", "m")
	add(t, db, lset, tsdbtest.Sample{T: t0, V: 1}, tsdbtest.Sample{T: t0 + 1, V: 2})
	require.NoError(t, db.ForceFlush(ctx))
	require.NoError(t, db.Delete(ctx, t0, t0, labels.MustNewMatcher(labels.MatchEqual, "__name__", "m")))
	b := db.Batch()
	require.NoError(t, b.Metadata("m", metadata.Metadata{Type: "gauge", Help: "h", Unit: "u"}))
	require.NoError(t, b.Commit(ctx))
	want := dump(t, db, 0, t0+day)
	name, err := db.Snapshot(ctx)
	require.NoError(t, err)

	add(t, db, lset, tsdbtest.Sample{T: t0 + 2, V: 3})
	require.NoError(t, db.ForceMerge(ctx))
	copied, err := tsdb.Open(path.Join("store", "snapshots", name), tsdb.Options{FS: mem, MinFree: -1})
	require.NoError(t, err)
	require.Equal(t, want, dump(t, copied, 0, t0+day))
	require.Equal(t, metadata.Metadata{Type: "gauge", Help: "h", Unit: "u"}, copied.Metadata("m", 0)["m"][0])
	add(t, copied, lset, tsdbtest.Sample{T: t0 + 5, V: 3})
	require.NoError(t, copied.Close())
	require.Len(t, dump(t, db, 0, t0+day), 2)
}

func TestMetadataSurvives(t *testing.T) {
	ctx := context.Background()
	mem := vfs.NewMem()
	m := func(help string) metadata.Metadata { return metadata.Metadata{Type: "counter", Help: help, Unit: "s"} }
	for i, restart := range []func(db *tsdb.DB){
		func(db *tsdb.DB) {}, // from the log alone
		func(db *tsdb.DB) { require.NoError(t, db.ForceFlush(ctx)) }, // from the manifest
	} {
		db := openStore(t, tsdb.Options{FS: mem})
		b := db.Batch()
		require.NoError(t, b.Metadata("m", m(fmt.Sprint(i))))
		require.NoError(t, b.Commit(ctx))
		restart(db)
		require.NoError(t, db.Close())
	}
	db := openStore(t, tsdb.Options{FS: mem})
	require.Equal(t, []metadata.Metadata{m("0"), m("1")}, db.Metadata("m", 0)["m"])
	require.Empty(t, db.Metadata("other", 0))
}

// A damaged part is set aside and named; the rest is served.
func TestDamagedPartIsQuarantined(t *testing.T) {
	mem := vfs.NewMem()
	db := openStore(t, tsdb.Options{FS: mem})
	for d := range int64(2) {
		add(t, db, labels.FromStrings("__name__", "m", "d", fmt.Sprint(d)), tsdbtest.Sample{T: t0 + d*day, V: 1})
	}
	require.NoError(t, db.Close())
	victim := path.Join("store", "parts", "2023-11", "000000000001", "index")
	b, err := vfs.ReadFile(mem, victim)
	require.NoError(t, err)
	b[len(b)/2] ^= 1
	require.NoError(t, vfs.WriteFileAtomic(mem, victim, b))

	var damage []error
	db = openStore(t, tsdb.Options{FS: mem, Events: &tsdb.Events{Corrupted: func(err error) { damage = append(damage, err) }}})
	require.Len(t, damage, 1)
	require.ErrorIs(t, damage[0], tsdb.ErrCorrupt)
	require.ErrorContains(t, damage[0], victim)
	require.Len(t, dump(t, db, 0, t0+9*day), 1)
	names, err := mem.List("store/quarantine")
	require.NoError(t, err)
	require.Equal(t, []string{"2023-11-000000000001"}, names)
	require.NoError(t, db.Close())
	damage = nil
	db = openStore(t, tsdb.Options{FS: mem})
	require.Len(t, dump(t, db, 0, t0+9*day), 1)
	require.Empty(t, damage, "it is reported once")
}

func TestLimits(t *testing.T) {
	db := openStore(t, tsdb.Options{MaxSeries: 2, MaxLabelBytes: 1000, MaxLabels: 5})
	b := db.Batch()
	for i := range 2 {
		_, err := b.Series(labels.FromStrings("i", fmt.Sprint(i)))
		require.NoError(t, err)
	}
	_, err := b.Series(labels.FromStrings("i", "0"))
	require.NoError(t, err, "a known series is let in at the limit")
	var overload *tsdb.OverloadError
	_, err = b.Series(labels.FromStrings("i", "2"))
	require.ErrorAs(t, err, &overload)
	require.True(t, overload.TooMany)
	require.Contains(t, err.Error(), "2 active series")

	for text, lset := range map[string]labels.Labels{
		"1000 bytes of labels": labels.FromStrings("a", strings.Repeat("x", 2000)),
		"5 labels a series":    labels.FromStrings("a", "1", "b", "1", "c", "1", "d", "1", "e", "1", "f", "1"),
		"not valid UTF-8":      labels.FromStrings("a", "\xff"),
		"at least one label":   labels.EmptyLabels(),
		"is empty":             labels.FromStrings("", "x"),
	} {
		var input *tsdb.InputError
		_, err = b.Series(lset)
		require.ErrorAs(t, err, &input)
		require.ErrorContains(t, err, text)
	}
	b.Discard()
}

func TestMemoryBudgetRefusesAndRecovers(t *testing.T) {
	mem := vfs.NewMem()
	fault := vfs.NewFault(mem)
	db := openStore(t, tsdb.Options{FS: fault, FlushBytes: 1 << 10, MemoryBudget: 4 << 10})
	fault.FailIf(func(op vfs.Op) error {
		if strings.Contains(op.Name, "parts") {
			return errors.New("no parts today")
		}
		return nil
	})
	write := func(i int64) error {
		b := db.Batch()
		s, err := b.Series(labels.FromStrings("a", "1"))
		require.NoError(t, err)
		for k := range int64(10) {
			require.NoError(t, b.Float(s, 0, t0+i*10+k, math.Sqrt(float64(i*10+k))))
		}
		return b.Commit(context.Background())
	}
	var err error
	var i int64
	for ; err == nil && i < 1000; i++ {
		err = write(i)
	}
	var overload *tsdb.OverloadError
	require.ErrorAs(t, err, &overload)
	require.False(t, overload.TooMany)
	require.Contains(t, err.Error(), "memory budget")
	fault.Clear()
	require.Eventually(t, func() bool { return write(i) == nil }, 30*time.Second, 10*time.Millisecond)
	require.Len(t, dump(t, db, 0, t0+day), int(i)*10)
}

// Samples that a View keeps in memory count although they are flushed.
func TestViewsAreChargedToTheBudget(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{FlushBytes: 1 << 30, MemoryBudget: 1500})
	lset := labels.FromStrings("a", "1")
	write := func(from int64) error {
		b := db.Batch()
		s, err := b.Series(lset)
		require.NoError(t, err)
		for i := range int64(200) {
			require.NoError(t, b.Float(s, 0, t0+from+i, math.Sqrt(float64(i))))
		}
		return b.Commit(ctx)
	}
	require.NoError(t, write(0))
	v, err := db.Select(ctx, 0, t0+day)
	require.NoError(t, err)
	require.NoError(t, db.ForceFlush(ctx))
	require.ErrorContains(t, write(1000), "memory budget")
	v.Close()
	require.NoError(t, write(1000))
}

func TestFolderOfAnotherProcessIsRefused(t *testing.T) {
	mem := vfs.NewMem()
	openStore(t, tsdb.Options{FS: mem})
	_, err := tsdb.Open("store", tsdb.Options{FS: mem})
	require.ErrorIs(t, err, vfs.ErrLocked)
}

func TestPartsWithoutManifestAreRefused(t *testing.T) {
	mem := vfs.NewMem()
	db := openStore(t, tsdb.Options{FS: mem})
	add(t, db, labels.FromStrings("a", "1"), tsdbtest.Sample{T: t0, V: 1})
	require.NoError(t, db.Close())
	require.NoError(t, mem.Remove("store/MANIFEST"))
	_, err := tsdb.Open("store", tsdb.Options{FS: mem})
	require.ErrorContains(t, err, "no MANIFEST")
	names, err := mem.List("store/parts/2023-11")
	require.NoError(t, err)
	require.Len(t, names, 1, "nothing was removed")
}

// A View shows what was there when it was made, whatever happens meanwhile.
func TestViewOutlivesFlushMergeAndDelete(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{})
	lset := labels.FromStrings("__name__", "m")
	add(t, db, lset, tsdbtest.Sample{T: t0, V: 1})
	require.NoError(t, db.ForceFlush(ctx))
	add(t, db, lset, tsdbtest.Sample{T: t0 + 1, V: 2})
	v, err := db.Select(ctx, 0, t0+day)
	require.NoError(t, err)
	add(t, db, lset, tsdbtest.Sample{T: t0, V: 9})
	require.NoError(t, db.ForceMerge(ctx))
	require.NoError(t, db.Delete(ctx, 0, t0+day, labels.MustNewMatcher(labels.MatchEqual, "__name__", "m")))
	require.NoError(t, db.CleanTombstones(ctx))
	var got []float64
	for c := v.Cursor(0, 0, t0+day); c.Next(); {
		for i := range c.Span().Count {
			got = append(got, c.Span().Float(i))
		}
	}
	require.Equal(t, []float64{1, 2}, got)
	v.Close()
	v.Close() // harmless
	require.Empty(t, dump(t, db, 0, t0+day))
}

// A kill in the middle of reading the log, after some of a segment was flushed,
// costs nothing: what defines a series may stand before the flushed frame.
func TestKilledWhileReadingTheLog(t *testing.T) {
	mem := vfs.NewMem()
	opts := tsdb.Options{FS: mem, MinFree: -1, Sync: tsdb.SyncAlways()}
	db := openStore(t, opts)
	for i := range int64(200) {
		add(t, db, labels.FromStrings("__name__", "m", "i", fmt.Sprint(i%5)), tsdbtest.Sample{T: t0 + i, V: float64(i)})
	}
	want := dump(t, db, 0, t0+day)
	for range 3 { // each reads the log with a flush every few frames, and is killed
		mem = mem.CrashClone(rand.New(rand.NewSource(1)), 1)
		opts.FS, opts.FlushBytes, opts.MemoryBudget = mem, 1000, 1<<30
		opts.Events = &tsdb.Events{Corrupted: func(err error) { t.Error(err) }, BackgroundErr: func(job string, err error) { t.Error(job, err) }}
		db = openStore(t, opts)
		require.NotEmpty(t, db.Parts())
		require.Equal(t, want, dump(t, db, 0, t0+day))
	}
}

// The sample before a range's first decides on its hint, also where it lies in a
// part that the range does not touch.
func TestHintsLookBackAcrossParts(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{})
	lset := labels.FromStrings("__name__", "h")
	for i, count := range []uint64{5, 9, 6} { // the last one follows a reset
		b := db.Batch()
		s, err := b.Series(lset)
		require.NoError(t, err)
		require.NoError(t, b.Histogram(s, 0, t0-2000+int64(i)*1000, &histogram.Histogram{Count: count, ZeroCount: count}))
		require.NoError(t, b.Commit(ctx))
		require.NoError(t, db.ForceFlush(ctx))
	}
	v, err := db.Select(ctx, t0, t0+day)
	require.NoError(t, err)
	defer v.Close()
	require.Equal(t, 1, v.Len())
	c := v.Cursor(0, t0, t0+day)
	require.True(t, c.Next())
	require.Equal(t, 1, c.Span().Count)
	require.Equal(t, histogram.UnknownCounterReset, c.Span().Histograms[0].CounterResetHint)
	require.False(t, c.Next())
	later, err := db.Select(ctx, t0+1, t0+day)
	require.NoError(t, err)
	defer later.Close()
	require.Zero(t, later.Len(), "a series with samples before the range alone is not found")
}

// Writers, readers, flushes, merges and deletes at once: every acknowledged
// sample is there in the end.
func TestManyGoroutines(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{FlushBytes: 20000, MemoryBudget: 1 << 30, Sync: tsdb.SyncEvery(time.Millisecond)})
	var writers, others sync.WaitGroup
	stop := make(chan struct{})
	for _, job := range []func() error{
		func() error { return db.ForceFlush(ctx) },
		func() error { return db.ForceMerge(ctx) },
		func() error {
			return db.Delete(ctx, 0, t0+day, labels.MustNewMatcher(labels.MatchEqual, "w", "deleted"))
		},
		func() error { _, err := tsdbtest.Dump(ctx, db, 0, t0+day); return err },
		func() error { _, err := db.LabelValues(ctx, "w", 0, t0+day); return err },
	} {
		others.Add(1)
		go func() {
			defer others.Done()
			for {
				select {
				case <-stop:
					return
				case <-time.After(time.Millisecond):
					if err := job(); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
	}
	const each, writerCount = 300, 4
	for w := range writerCount {
		writers.Add(1)
		go func() {
			defer writers.Done()
			for i := range int64(each) {
				b := db.Batch()
				for _, name := range []string{fmt.Sprint(w), "deleted"} {
					s, err := b.Series(labels.FromStrings("__name__", "m", "w", name))
					if err != nil {
						t.Error(err)
						return
					}
					if err := b.Float(s, 0, t0+i*1000, float64(i)); err != nil {
						t.Error(err)
						return
					}
				}
				if err := b.Commit(ctx); err != nil {
					t.Error(err)
					return
				}
			}
		}()
	}
	writers.Wait()
	close(stop)
	others.Wait()
	require.Len(t, dump(t, db, 0, t0+day, labels.MustNewMatcher(labels.MatchNotEqual, "w", "deleted")), each*writerCount)
}
