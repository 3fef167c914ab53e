package tsdb_test

import (
	"context"
	"fmt"
	"math"
	oldrand "math/rand"
	"math/rand/v2"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// slowly is what Prometheus' own engine is given of a series of db: the twin of
// View.Read.
func slowly(t *testing.T, db *tsdb.DB, lset labels.Labels, mint, maxt int64, into *tsdb.Samples) {
	t.Helper()
	q, err := tsdb.NewStorage(db).Querier(mint, maxt)
	require.NoError(t, err)
	defer q.Close()
	var ms []*labels.Matcher
	lset.Range(func(l labels.Label) { ms = append(ms, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value)) })
	set := q.Select(context.Background(), false, nil, ms...)
	for set.Next() {
		if !labels.Equal(set.At().Labels(), lset) {
			continue
		}
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				at, v := it.At()
				if into.WithStale || !value.IsStaleNaN(v) {
					into.T, into.F, into.ST = append(into.T, at), append(into.F, v), append(into.ST, it.AtST())
				}
				continue
			}
			at, h := it.AtFloatHistogram(nil)
			if into.WithStale || !value.IsStaleNaN(h.Sum) {
				into.HT, into.H, into.HST = append(into.HT, at), append(into.H, h), append(into.HST, it.AtST())
			}
		}
		require.NoError(t, it.Err())
	}
	require.NoError(t, set.Err())
}

// text says all of s, bit for bit; without start timestamps unless they are wanted.
func text(s *tsdb.Samples, starts bool) []string {
	out := []string{}
	start := func(list []int64, i int) int64 {
		if !starts || list == nil {
			return 0
		}
		return list[i]
	}
	for i, at := range s.T {
		out = append(out, fmt.Sprintf("%d %x %d", at, math.Float64bits(s.F[i]), start(s.ST, i)))
	}
	for i, at := range s.HT {
		h := s.H[i]
		out = append(out, fmt.Sprintf("%d %v %d %x %d", at, h, h.CounterResetHint, math.Float64bits(h.Sum), start(s.HST, i)))
	}
	return out
}

// requireRead holds Read and Last of series i to their twin.
func requireRead(t *testing.T, db *tsdb.DB, v *tsdb.View, i int, mint, maxt int64, into *tsdb.Samples, why func() string) {
	t.Helper()
	want := &tsdb.Samples{WithStale: into.WithStale}
	slowly(t, db, v.Labels(i), mint, maxt, want)
	// Some stand there already.
	into.T, into.F = append(into.T, 1, 2), append(into.F, 3, 4)
	require.NoError(t, v.Read(i, mint, maxt, into), why())
	require.Equal(t, []int64{1, 2}, into.T[:2])
	require.Equal(t, []float64{3, 4}, into.F[:2])
	require.Len(t, into.F, len(into.T))
	got := *into
	got.T, got.F = into.T[2:], into.F[2:]
	if into.ST != nil {
		require.True(t, into.WithST)
		require.Len(t, into.ST, len(into.T))
		require.Equal(t, []int64{0, 0}, into.ST[:2])
		got.ST = into.ST[2:]
	}
	if into.HST != nil {
		require.Len(t, into.HST, len(into.HT))
	}
	require.Equal(t, text(want, into.WithST), text(&got, true), why())
	n := into.Len()
	require.NoError(t, v.Read(i, t0+1, t0, into))
	require.Equal(t, n, into.Len(), "nothing is inside an empty range")
	into.Reset()
	requireLast(t, db, v, i, mint, maxt, why)
}

func requireLast(t *testing.T, db *tsdb.DB, v *tsdb.View, i int, mint, maxt int64, why func() string) {
	t.Helper()
	all := &tsdb.Samples{WithStale: true}
	slowly(t, db, v.Labels(i), mint, maxt, all)
	want, got := &tsdb.Samples{}, &tsdb.Samples{}
	add := func(to *tsdb.Samples, at int64, f float64, h *histogram.FloatHistogram, st int64) {
		if h != nil {
			to.HT, to.H, to.HST = []int64{at}, []*histogram.FloatHistogram{h}, []int64{st}
		} else {
			to.T, to.F, to.ST = []int64{at}, []float64{f}, []int64{st}
		}
	}
	n, k := len(all.T)-1, len(all.HT)-1
	switch {
	case n >= 0 && (k < 0 || all.T[n] > all.HT[k]):
		add(want, all.T[n], all.F[n], nil, all.ST[n])
	case k >= 0:
		add(want, all.HT[k], 0, all.H[k], all.HST[k])
	}
	at, f, h, st, ok, err := v.Last(i, mint, maxt)
	require.NoError(t, err)
	require.Equal(t, all.Len() > 0, ok, why())
	if ok {
		add(got, at, f, h, st)
	}
	require.Equal(t, text(want, true), text(got, true), why())
}

// Whatever a store went through, Read and Last yield what the adapter does.
func TestReadEqualsCursor(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() || raceDetector {
		seeds = 6
	}
	into := [4]tsdb.Samples{{}, {WithST: true}, {WithStale: true}, {WithST: true, WithStale: true}}
	for seed := range seeds {
		d := newDriver(t, seed+1000)
		d.floats = seed%2 == 0
		for range 30 {
			d.step()
		}
		d.checkReads(&into)
		d.require(d.db.Close())
		if t.Failed() {
			return
		}
	}
}

func (d *driver) checkReads(into *[4]tsdb.Samples) {
	for round := range 3 {
		lo, hi := int64(0), d.draw.MaxT+day
		if round > 0 {
			lo = d.draw.Time()
			hi = lo + d.rng.Int64N(day)
		}
		v, err := d.db.Select(context.Background(), lo, hi)
		d.require(err)
		for i := range v.Len() {
			mint, maxt := lo, hi
			if d.rng.IntN(2) == 0 {
				mint, maxt = lo+d.rng.Int64N(hi-lo+1), hi-d.rng.Int64N(hi-lo+1)
			}
			requireRead(d.t, d.db, v, i, mint, maxt, &into[d.rng.IntN(4)], func() string {
				return fmt.Sprintf("seed %d [%d,%d] of [%d,%d] %v\n%s", d.seed, mint, maxt, lo, hi, v.Labels(i), strings.Join(d.log, "\n"))
			})
		}
		v.Close()
	}
}

// eachState calls f with stores of the same long series in different states.
func eachState(t *testing.T, f func(name string, db *tsdb.DB)) {
	ctx := context.Background()
	shapes := []func(r *rand.Rand, i int) float64{
		func(r *rand.Rand, _ int) float64 { return float64(r.IntN(100)) },
		func(r *rand.Rand, i int) float64 { return float64(i*7+r.IntN(7)) / 100 },
		func(r *rand.Rand, _ int) float64 { return r.NormFloat64() },
		func(_ *rand.Rand, _ int) float64 { return 3 },
		func(r *rand.Rand, i int) float64 {
			if i%97 == 0 {
				return math.Float64frombits(value.StaleNaN)
			}
			return float64(i)
		},
	}
	fill := func(db *tsdb.DB, r *rand.Rand, from, to int, step int64) {
		b := db.Batch()
		for k, shape := range shapes {
			s, err := b.Series(labels.FromStrings("__name__", "long", "shape", fmt.Sprint(k)))
			require.NoError(t, err)
			for i := from; i < to; i++ {
				at, st := t0+int64(i)*step, int64(0)
				if k == 2 {
					at += r.Int64N(1000)
				}
				if k == 1 && i%5 == 0 {
					st = t0 - 1
				}
				require.NoError(t, b.Float(s, st, at, shape(r, i)))
			}
		}
		require.NoError(t, b.Commit(ctx))
	}
	for _, state := range []string{"head", "part", "part and head", "three parts", "merged", "late in lanes", "late in parts", "deletes", "two days"} {
		db := openStore(t, tsdb.Options{})
		r := rand.New(rand.NewPCG(1, 2))
		flush := func() { require.NoError(t, db.ForceFlush(ctx)) }
		switch state {
		case "head":
			fill(db, r, 0, 3000, 10000)
		case "part":
			fill(db, r, 0, 3000, 10000)
			flush()
		case "part and head":
			fill(db, r, 0, 2000, 10000)
			flush()
			fill(db, r, 2000, 3000, 10000)
		case "three parts", "merged":
			for k := range 3 {
				fill(db, r, 1000*k, 1000*(k+1), 10000)
				flush()
			}
			if state == "merged" {
				require.NoError(t, db.ForceMerge(ctx))
			}
		case "late in lanes":
			fill(db, r, 1000, 2000, 10000)
			fill(db, r, 0, 1500, 10000)
			fill(db, r, 100, 1200, 10000)
		case "late in parts":
			fill(db, r, 1000, 2000, 10000)
			flush()
			fill(db, r, 0, 1500, 10000)
			flush()
			fill(db, r, 100, 1200, 10000)
		case "deletes":
			fill(db, r, 0, 1000, 10000)
			flush()
			fill(db, r, 1000, 1500, 10000)
			name := labels.MustNewMatcher(labels.MatchEqual, "__name__", "long")
			require.NoError(t, db.Delete(ctx, t0+2000000, t0+3000000, name))
			require.NoError(t, db.Delete(ctx, t0+9500000, t0+10500000, name))
			fill(db, r, 250, 260, 10000)
		case "two days":
			fill(db, r, 0, 2000, 60000)
			flush()
		}
		f(state, db)
		require.NoError(t, db.Close())
	}
}

func TestReadOfLongSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	into := tsdb.Samples{WithST: true}
	eachState(t, func(name string, db *tsdb.DB) {
		v, err := db.Select(context.Background(), 0, t0+3*day)
		require.NoError(t, err)
		defer v.Close()
		require.Equal(t, 5, v.Len())
		for i := range v.Len() {
			why := func() string { return name + " " + v.Labels(i).String() }
			requireRead(t, db, v, i, 0, math.MaxInt64, &into, why)
			for range 8 {
				mint := t0 + r.Int64N(30_000_000)
				requireRead(t, db, v, i, mint, mint+r.Int64N(10_000_000), &into, why)
			}
		}
	})
}

// Reading many series with one Samples allocates nothing.
func TestReadAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("pools forget at random under the race detector")
	}
	var into tsdb.Samples
	eachState(t, func(name string, db *tsdb.DB) {
		if name == "late in parts" || name == "late in lanes" {
			return
		}
		v, err := db.Select(context.Background(), 0, t0+3*day)
		require.NoError(t, err)
		defer v.Close()
		read := func() {
			for i := range v.Len() {
				if v.Read(i, t0+100_000, t0+20_000_000, &into) != nil || into.Len() < 200 {
					t.Error(name)
				}
				into.Reset()
			}
		}
		read()
		require.LessOrEqual(t, testing.AllocsPerRun(50, read), 0.5, name)
	})
}

// A damaged block fails the first who reads it, leaves what was read before, and is
// left out for those who come later.
func TestReadOfDamage(t *testing.T) {
	for _, strict := range []bool{false, true} {
		mem := vfs.NewMem()
		noticed := 0
		opts := tsdb.Options{FS: mem, FailOnDamage: strict, Events: &tsdb.Events{Corrupted: func(error) { noticed++ }}}
		db := openStore(t, opts)
		for k := range 3 {
			for i := range int64(9000) {
				if k == 0 || i < 10 {
					add(t, db, labels.FromStrings("__name__", "m", "k", fmt.Sprint(k)), tsdbtest.Sample{T: t0 + i*1000, V: math.Sqrt(float64(i))})
				}
			}
		}
		require.NoError(t, db.Close())
		victim := path.Join("store", "parts", "2023-11", "000000000001", "data")
		b, err := vfs.ReadFile(mem, victim)
		require.NoError(t, err)
		b[200] ^= 1
		require.NoError(t, vfs.WriteFileAtomic(mem, victim, b))
		db = openStore(t, opts)
		v, err := db.Select(context.Background(), 0, t0+day)
		require.NoError(t, err)
		defer v.Close()
		require.Equal(t, 3, v.Len())
		into := tsdb.Samples{T: []int64{7}, F: []float64{8}}
		require.ErrorIs(t, v.Read(0, 0, math.MaxInt64, &into), tsdb.ErrCorrupt)
		require.Equal(t, []int64{7}, into.T)
		require.Equal(t, []float64{8}, into.F)
		require.Equal(t, 1, noticed)
		require.Error(t, v.Damage())
		requireSpansOfDamage(t, mem, opts)
		into.Reset()
		if err := v.Read(0, 0, math.MaxInt64, &into); strict {
			require.ErrorIs(t, err, tsdb.ErrCorrupt)
		} else {
			require.NoError(t, err)
			requireRead(t, db, v, 0, 0, math.MaxInt64, &tsdb.Samples{}, func() string { return "rest" })
			require.NotZero(t, into.Len())
			require.Less(t, into.Len(), 9000)
		}
		requireRead(t, db, v, 1, 0, math.MaxInt64, &tsdb.Samples{}, func() string { return "whole" })
	}
}

// requireSpansOfDamage loads the spans of the damaged block for the first time.
func requireSpansOfDamage(t *testing.T, mem *vfs.Mem, opts tsdb.Options) {
	noticed := 0
	opts.FS, opts.Events = mem.CrashClone(oldrand.New(oldrand.NewSource(1)), 1), &tsdb.Events{Corrupted: func(error) { noticed++ }}
	db := openStore(t, opts)
	v, err := db.Select(context.Background(), 0, t0+day)
	require.NoError(t, err)
	defer v.Close()
	for round := range 2 {
		failed := false
		c := v.Spans(0, 0, math.MaxInt64)
		for c.Next() {
			s := c.Span()
			_, exact := s.Stat(tsdb.StatMax, 0, s.Count)
			err := c.Load(s)
			failed = failed || err != nil
			if err != nil {
				require.ErrorIs(t, err, tsdb.ErrCorrupt)
				require.True(t, exact, "the header tells")
			}
		}
		require.NoError(t, c.Err())
		require.Equal(t, round == 0 || opts.FailOnDamage, failed)
		require.Equal(t, 1, noticed)
	}
}

// Many goroutines read one View while the store is written, flushed and merged.
func TestReadByMany(t *testing.T) {
	ctx := context.Background()
	db := openStore(t, tsdb.Options{})
	for i := range int64(300) {
		add(t, db, labels.FromStrings("__name__", "m", "i", fmt.Sprint(i%7)), tsdbtest.Sample{T: t0 + i*1000, V: float64(i)})
		if i == 150 {
			require.NoError(t, db.ForceFlush(ctx))
		}
	}
	v, err := db.Select(ctx, 0, t0+day)
	require.NoError(t, err)
	var want []string
	for i := range v.Len() {
		var s tsdb.Samples
		require.NoError(t, v.Read(i, 0, math.MaxInt64, &s))
		want = append(want, text(&s, false)...)
	}
	require.Len(t, want, 300)
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			var s tsdb.Samples
			for range 20 {
				var got []string
				for i := range v.Len() {
					if err := v.Read(i, 0, math.MaxInt64, &s); err != nil {
						t.Error(err)
					}
					got = append(got, text(&s, false)...)
					s.Reset()
				}
				if !equalTexts(want, got) {
					t.Error("another answer")
				}
			}
		})
	}
	for i := range int64(20) {
		add(t, db, labels.FromStrings("__name__", "m", "i", fmt.Sprint(i%7)), tsdbtest.Sample{T: t0 + i*1000, V: -1})
		require.NoError(t, db.ForceMerge(ctx))
	}
	readers.Wait()
	v.Close()
}

func equalTexts(a, b []string) bool { return strings.Join(a, "\n") == strings.Join(b, "\n") }

func TestStorageNamesItsStore(t *testing.T) {
	db := openStore(t, tsdb.Options{})
	require.Same(t, db, tsdb.NewStorage(db).DB())
}
