package head

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

func put(h *Head, seq uint64, samples ...Sample) {
	var g Group
	g.Arrange(samples)
	h.Enqueue(seq, &g)
	h.Drain(&g)
}

func floatAt(s *Series, t int64, v float64) Sample {
	return Sample{Series: s, Kind: KindFloat, T: t, V: v}
}

func read(t *testing.T, sel Selected) map[int64]float64 {
	t.Helper()
	var cs []block.Cursor
	for i := range sel.Held {
		cs = append(cs, sel.Held[i].Cursors()...)
	}
	out := map[int64]float64{}
	last := int64(math.MinInt64)
	for c := block.Merge(cs); c.Next(); {
		s := c.Span()
		for i := range s.Count {
			require.Greater(t, s.Time(i), last)
			last = s.Time(i)
			out[s.Time(i)] = s.Float(i)
		}
	}
	return out
}

func eq(name, value string) *labels.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, name, value)
}

// Random writes in any order, seals, drops and deletes give what a map gives.
func TestHeadEqualsModel(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		h := New()
		type key struct {
			series int
			t      int64
		}
		model := map[key]float64{}
		gens := []*Generation{h.Active()}
		genOf := map[*Generation]map[key]float64{h.Active(): {}}
		for seq := uint64(1); seq < 60; seq++ {
			switch rng.IntN(12) {
			case 0:
				h.Seal()
				gens = append(gens, h.Active())
				genOf[h.Active()] = map[key]float64{}
			case 1:
				lo := rng.Int64N(100)
				h.Delete(lo, lo+20, []*labels.Matcher{eq("i", "1")})
				for k := range genOf[h.Active()] {
					if k.series == 1 && k.t >= lo && k.t <= lo+20 {
						delete(genOf[h.Active()], k)
					}
				}
			case 2:
				if len(gens) > 1 {
					h.Drop(gens[0])
					delete(genOf, gens[0])
					gens = gens[1:]
					h.Collect()
				}
			default:
				var batch []Sample
				for range rng.IntN(20) {
					i := rng.IntN(4)
					s, _ := h.Register(labels.FromStrings("__name__", "m", "i", fmt.Sprint(i)))
					x := floatAt(s, rng.Int64N(100), rng.Float64())
					batch = append(batch, x)
					genOf[h.Active()][key{i, x.T}] = x.V
				}
				put(h, seq, batch...)
			}
		}
		for _, g := range gens {
			for k, v := range genOf[g] {
				model[k] = v
			}
		}
		got := map[key]float64{}
		sel := h.Select(gens, 0, 1000, []*labels.Matcher{eq("__name__", "m")})
		require.True(t, slices.IsSortedFunc(sel, func(a, b Selected) int { return labels.Compare(a.Series.lset, b.Series.lset) }))
		for _, s := range sel {
			var i int
			fmt.Sscan(s.Series.Labels().Get("i"), &i)
			for ts, v := range read(t, s) {
				got[key{i, ts}] = v
			}
		}
		require.Equal(t, model, got, "seed %d", seed)
	}
}

// What a reader got does not change under it.
func TestSelectIsASnapshot(t *testing.T) {
	h := New()
	s, _ := h.Register(labels.FromStrings("a", "1"))
	put(h, 1, floatAt(s, 10, 1), floatAt(s, 20, 2))
	put(h, 2, floatAt(s, 15, 3))
	g := h.Active()
	sel := h.Select([]*Generation{g}, 0, 100, nil)
	want := map[int64]float64{10: 1, 15: 3, 20: 2}
	put(h, 3, floatAt(s, 16, 9), floatAt(s, 30, 9), floatAt(s, 10, 9))
	h.Delete(0, 100, nil)
	h.Seal()
	h.Drop(g)
	require.Equal(t, want, read(t, sel[0]))
	require.Empty(t, h.Select([]*Generation{g, h.Active()}, 0, 100, nil))
}

func TestRepeatedSamplesTakeNoMemory(t *testing.T) {
	h := New()
	s, _ := h.Register(labels.FromStrings("a", "1"))
	put(h, 1, floatAt(s, 10, 1), floatAt(s, 20, math.NaN()))
	before := h.Active().Bytes()
	put(h, 2, floatAt(s, 10, 1), floatAt(s, 20, math.NaN()))
	require.Equal(t, before, h.Active().Bytes())
	put(h, 3, floatAt(s, 10, 2))
	put(h, 4, floatAt(s, 10, 1))
	require.Equal(t, 1.0, read(t, h.Select([]*Generation{h.Active()}, 0, 100, nil)[0])[10])
}

func TestMatchersEqualNaiveFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	h := New()
	var all []*Series
	for i := range 200 {
		b := labels.NewBuilder(labels.EmptyLabels())
		b.Set("__name__", fmt.Sprintf("m%d", rng.IntN(3)))
		if rng.IntN(2) == 0 {
			b.Set("x", fmt.Sprintf("%d", rng.IntN(6)))
		}
		b.Set("n", fmt.Sprint(i))
		s, created := h.Register(b.Labels())
		require.True(t, created)
		all = append(all, s)
		put(h, uint64(i+1), floatAt(s, 1, 1))
	}
	kinds := []labels.MatchType{labels.MatchEqual, labels.MatchNotEqual, labels.MatchRegexp, labels.MatchNotRegexp}
	values := []string{"", "m1", "1", "1|2", "m.*", ".*", ".+", "3|", "[0-2]", "nope"}
	for range 500 {
		var ms []*labels.Matcher
		for range 1 + rng.IntN(3) {
			ms = append(ms, labels.MustNewMatcher(kinds[rng.IntN(4)], []string{"__name__", "x", "n", "y"}[rng.IntN(4)], values[rng.IntN(len(values))]))
		}
		var want []string
		for _, s := range all {
			if matches(s.lset, ms) {
				want = append(want, s.lset.String())
			}
		}
		var got []string
		for _, s := range h.Select([]*Generation{h.Active()}, 0, 10, ms) {
			got = append(got, s.Series.lset.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, "%v", ms)
	}
}

func TestDroppedSeriesComesBack(t *testing.T) {
	h := New()
	lset := labels.FromStrings("a", "1")
	s, _ := h.Register(lset)
	put(h, 1, floatAt(s, 1, 1))
	g := h.Seal()
	h.Drop(g)
	require.Zero(t, h.Collect(), "a series that was written to a moment ago stays")
	h.Seal()
	require.Equal(t, 1, h.Idle())
	require.Equal(t, 1, h.Collect())
	require.Nil(t, h.Find(lset))
	require.Same(t, s, h.Revive(s))
	require.Same(t, s, h.Find(lset))

	h.Seal()
	h.Seal()
	require.Equal(t, 1, h.Collect())
	other, created := h.Register(lset)
	require.True(t, created)
	require.Same(t, other, h.Revive(s), "an equal series took its place")
}

func TestExemplars(t *testing.T) {
	h := New()
	s, _ := h.Register(labels.FromStrings("a", "1"))
	x := exemplar.Exemplar{Labels: labels.FromStrings("t", "1"), Value: 1, Ts: 5, HasTs: true}
	sample := Sample{Series: s, Kind: KindExemplar, T: 5, Exemplar: &x}
	put(h, 1, sample, sample)
	var got []exemplar.Exemplar
	h.Exemplars([]*Generation{h.Active()}, 0, 10, nil, func(_ *Generation, _ labels.Labels, xs []exemplar.Exemplar) {
		got = append(got, xs...)
	})
	require.Equal(t, []exemplar.Exemplar{x}, got)
	require.Empty(t, h.Select([]*Generation{h.Active()}, 0, 10, nil), "an exemplar is no sample")
}

// Writers at the same samples leave what the highest sequence number wrote, and
// no series is registered twice.
func TestConcurrentWritersKeepSequence(t *testing.T) {
	h := New()
	var order sync.Mutex
	var seq uint64
	var created atomic.Int64
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			var g Group
			for range 200 {
				var batch []Sample
				for i := range 20 {
					s, made := h.Register(labels.FromStrings("i", fmt.Sprint(i)))
					if made {
						created.Add(1)
					}
					batch = append(batch, floatAt(s, rng.Int64N(5), 0))
				}
				order.Lock()
				seq++
				for i := range batch {
					batch[i].V = float64(seq)
				}
				g.Arrange(batch)
				h.Enqueue(seq, &g)
				order.Unlock()
				h.Drain(&g)
				h.Select([]*Generation{h.Active()}, 0, 10, []*labels.Matcher{eq("i", "3")})
			}
		}()
	}
	wg.Wait()
	require.Equal(t, int64(20), created.Load())
	lo, hi, ok := h.Active().SeqRange()
	require.True(t, ok)
	require.Equal(t, []uint64{1, seq}, []uint64{lo, hi})
	for _, e := range h.Active().Entries() {
		d := h.Find(e.Labels).data
		newest := map[int64]float64{}
		for _, r := range d.runs {
			for i, ts := range r.times {
				newest[ts] = max(newest[ts], r.floats[i])
			}
		}
		for _, l := range d.late {
			newest[l.t] = max(newest[l.t], l.v)
		}
		for c := e.Cursor(); c.Next(); {
			for i := range c.Span().Count {
				require.Equal(t, newest[c.Span().Time(i)], c.Span().Float(i))
			}
		}
	}
}
