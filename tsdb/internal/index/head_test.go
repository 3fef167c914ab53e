package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// TestHeadIsReadWhileAdded has readers ask about series while two writers add
// them, each series by both: what a view finds is exactly the series that it
// says it has, and each has one ordinal.
func TestHeadIsReadWhileAdded(t *testing.T) {
	sets := randomSets(rand.New(rand.NewPCG(9, 9)), 6000)
	rand.New(rand.NewPCG(10, 10)).Shuffle(len(sets), func(i, k int) { sets[i], sets[k] = sets[k], sets[i] })
	h := NewHead(Caches{Values: NewCache(1 << 20), Results: NewCache(1 << 20)})
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	ordinals := [2][]uint32{}
	for w := range ordinals {
		writers.Go(func() {
			for _, lset := range sets {
				id, _, err := h.Add(lset)
				if err != nil {
					t.Error(err)
				}
				ordinals[w] = append(ordinals[w], id)
			}
		})
	}
	for seed := range uint64(3) {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, 11))
			for {
				select {
				case <-stop:
					return
				default:
				}
				if err := readHead(h, r, sets); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	require.Equal(t, ordinals[0], ordinals[1])
	require.Equal(t, len(sets), h.Len())
}

func readHead(h *Head, r *rand.Rand, sets []labels.Labels) error {
	v := h.View()
	ms := []*labels.Matcher{randomMatcher(r), randomMatcher(r)}
	got, err := v.Select(ms...)
	if err != nil {
		return err
	}
	var b labels.ScratchBuilder
	step := 1 + v.Len()/200
	for id := r.IntN(step); id < v.Len(); id += step {
		lset, err := v.Labels(uint32(id), &b)
		if err != nil {
			return err
		}
		want := ms[0].Matches(lset.Get(ms[0].Name)) && ms[1].Matches(lset.Get(ms[1].Name))
		if got.Contains(uint32(id)) != want {
			return fmt.Errorf("series %d %s: selected %v, want %v (%v)", id, lset, !want, want, ms)
		}
		if at, ok := h.Lookup(lset); !ok || int(at) != id {
			return fmt.Errorf("series %d is found at %d (%v)", id, at, ok)
		}
	}
	for _, id := range got.AppendTo(nil) {
		if int(id) >= v.Len() {
			return fmt.Errorf("series %d selected of %d", id, v.Len())
		}
	}
	v.LabelValues("a", got)
	v.LabelNames(got)
	h.Lookup(sets[r.IntN(len(sets))])
	return nil
}

// TestHeadIsWrittenInLabelOrder takes a head to a segment.
func TestHeadIsWrittenInLabelOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(12, 12))
	sets := randomSets(r, 3000)
	h, order := headOf(t, r, sets, Caches{})
	v := h.View()
	w := NewWriter(Options{})
	var b labels.ScratchBuilder
	for i, id := range h.LabelOrder(v.All()) {
		require.Equal(t, sets[i], order[id])
		lset, err := v.Labels(id, &b)
		require.NoError(t, err)
		_, err = w.Add(lset)
		require.NoError(t, err)
	}
	require.Equal(t, len(sets), w.Len())
	var want, got bytes.Buffer
	_, err := w.WriteTo(&want)
	require.NoError(t, err)
	rows := h.Rows(v.All())
	w = NewWriter(Options{Terms: rows})
	for _, id := range rows.Order() {
		_, err := w.AddRow(rows.Append(nil, id))
		require.NoError(t, err)
	}
	_, err = w.WriteTo(&got)
	require.NoError(t, err)
	require.Equal(t, want.Bytes(), got.Bytes())
	require.Equal(t, []uint32{7}, h.LabelOrder(bitmap.Range(7, 8)))
}

// TestHeadIsRebuilt: a head of some of the series answers as one that they were
// added to.
func TestHeadIsRebuilt(t *testing.T) {
	for seed := range uint64(6) {
		r := rand.New(rand.NewPCG(seed, 13))
		sets := randomSets(r, []int{0, 3, 4000}[seed%3])
		h, order := headOf(t, r, sets, testCaches(r))
		var keep bitmap.Builder
		var kept []labels.Labels
		for id, lset := range order {
			if r.IntN(4) == 0 {
				keep.Add(uint32(id))
				kept = append(kept, lset)
			}
		}
		got, err := NewHeadFrom(h, keep.Set())
		require.NoError(t, err)
		require.Equal(t, len(kept), got.Len())
		want := NewHead(Caches{})
		for _, lset := range kept {
			_, _, err := want.Add(lset)
			require.NoError(t, err)
		}
		var b labels.ScratchBuilder
		for id, lset := range kept {
			back, err := got.Labels(uint32(id), &b)
			require.NoError(t, err)
			require.Equal(t, lset, back)
			at, ok := got.Lookup(lset)
			require.True(t, ok)
			require.EqualValues(t, id, at)
		}
		require.Equal(t, want.View().Cardinality(), got.View().Cardinality())
		for range 100 {
			requireSelect(t, got.View(), kept, nil, []*labels.Matcher{randomMatcher(r), randomMatcher(r)})
		}
		for id, lset := range order { // it goes on as any other
			at, added, err := got.Add(lset)
			require.NoError(t, err)
			require.Equal(t, !slices.ContainsFunc(kept, func(k labels.Labels) bool { return labels.Equal(k, lset) }), added)
			if id > 300 {
				break
			}
			_ = at
		}
	}
	_, err := NewHeadFrom(NewHead(Caches{}), bitmap.Range(0, 1))
	require.ErrorContains(t, err, "out of range")
}

// TestHeadIsLean holds the size of a head with many labels per series, one of
// them unique.
func TestHeadIsLean(t *testing.T) {
	const n = 50_000
	h := manyLabels(t, n)
	size := h.Size()
	t.Logf("%+v: %d bytes per series", size, size.Total()/n)
	require.Less(t, size.Total()/n, 200)
}

// manyLabels returns a head of series with 15 labels, one of them unique and of
// 36 bytes.
func manyLabels(t testing.TB, n int) *Head {
	h := NewHead(Caches{})
	for i := range n {
		if _, _, err := h.Add(manyLabelsOf(i)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// manyLabelsOf returns label set i: the values of its labels have nothing to do
// with each other, which is the worst case for postings and columns.
func manyLabelsOf(i int) labels.Labels {
	r := rand.New(rand.NewPCG(uint64(i), 15))
	b := labels.NewScratchBuilder(15)
	b.Add("__name__", fmt.Sprintf("metric_%d", r.IntN(100)))
	for k := range 13 {
		b.Add(fmt.Sprintf("label_%02d", k), fmt.Sprintf("value_%d", r.IntN(10<<(k/2))))
	}
	b.Add("uid", fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", r.Uint32(), r.IntN(1<<16), r.IntN(1<<16), r.IntN(1<<16), r.Uint64N(1<<48)))
	return b.Labels()
}

func BenchmarkHeadAdd(b *testing.B) {
	const n = 200_000
	sets := make([]labels.Labels, n)
	for i := range sets {
		sets[i] = manyLabelsOf(i)
	}
	begin := cpuTime()
	for b.Loop() {
		h := NewHead(Caches{})
		for _, lset := range sets {
			if _, _, err := h.Add(lset); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(h.Size().Total())/n, "bytes/series")
	}
	b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/float64(b.N*n), "cpu-ns/series")
}

// BenchmarkHeadRebuild keeps nine of ten series.
func BenchmarkHeadRebuild(b *testing.B) {
	const n = 200_000
	h := manyLabels(b, n)
	keep := bitmap.AndNot(h.View().All(), bitmap.Range(n/2, n/2+n/10))
	begin := cpuTime()
	for b.Loop() {
		if _, err := NewHeadFrom(h, keep); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64((cpuTime()-begin).Nanoseconds())/float64(b.N*keep.Count()), "cpu-ns/series")
}

func BenchmarkHeadLabels(b *testing.B) {
	h := manyLabels(b, 100_000)
	b.ReportAllocs()
	id, bytes := uint32(0), 0
	for b.Loop() {
		h.EachLabel(id, func(name, value string) { bytes += len(name) + len(value) })
		id = (id + 7919) % 100_000
	}
}

func BenchmarkHeadLookup(b *testing.B) {
	h := manyLabels(b, 100_000)
	lset := manyLabelsOf(77_777)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := h.Lookup(lset); !ok {
			b.Fatal("series is missing")
		}
	}
}
