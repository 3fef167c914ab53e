package head

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// put writes samples that each add a sample.
func put(h *Head, seq uint64, adds ...func(*Samples)) {
	var s Samples
	for _, add := range adds {
		add(&s)
	}
	h.Enqueue(seq, &s)
	h.Drain(&s)
}

func floatAt(ref Ref, t int64, v float64) func(*Samples) {
	return func(s *Samples) { s.AddFloat(ref.Slot(), 0, t, v) }
}

func register(t *testing.T, h *Head, lset labels.Labels) (Ref, bool) {
	t.Helper()
	ref, created, err := h.Register(lset, h.Active())
	require.NoError(t, err)
	return ref, created
}

func alive(h *Head, ref Ref, g *Generation) bool {
	_, ok := h.Live(ref, g)
	return ok
}

func labelsNow(h *Head, ref Ref) labels.Labels {
	b := labels.NewScratchBuilder(0)
	return h.Labels(ref, &b)
}

// series is one that Select found.
type series struct {
	Labels labels.Labels
	Held   []Held
}

// selected returns what Select finds, in label order.
func selected(t *testing.T, h *Head, gens []*Generation, mint, maxt int64, ms ...*labels.Matcher) []series {
	t.Helper()
	m := h.Moment()
	defer m.Close()
	found, err := m.Select(gens, mint, maxt, ms)
	require.NoError(t, err)
	requireColumns(t, found)
	var out []series
	for i := range found.Len() {
		out = append(out, series{found.Labels(i), found.Held(i)})
	}
	order := make([]uint32, len(out))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return labels.Compare(out[a].Labels, out[b].Labels) })
	slices.SortFunc(out, func(a, b series) int { return labels.Compare(a.Labels, b.Labels) })
	found.Reorder(order)
	for i := range out {
		require.Equal(t, out[i], series{found.Labels(i), found.Held(i)})
	}
	requireColumns(t, found)
	return out
}

// requireColumns holds columns to labels.
func requireColumns(t *testing.T, f *Found) {
	t.Helper()
	got := make([]map[string]string, f.Len())
	for i := range got {
		got[i] = map[string]string{}
	}
	for _, name := range f.LabelNames() {
		values := make([]uint32, f.Len())
		c := f.Column(name, values)
		for i, v := range values {
			if v != 0 {
				got[i][name] = c.Value(v)
			}
		}
	}
	for i := range got {
		require.Equal(t, f.Labels(i).Map(), got[i])
	}
}

func remove(t *testing.T, h *Head, mint, maxt int64, ms ...*labels.Matcher) {
	t.Helper()
	_, err := h.Delete(mint, maxt, ms)
	require.NoError(t, err)
}

func read(t *testing.T, sel series) map[int64]float64 {
	t.Helper()
	var cs []block.Cursor
	for i := range sel.Held {
		cs = append(cs, sel.Held[i].Cursors(math.MinInt64, math.MaxInt64)...)
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
				remove(t, h, lo, lo+20, eq("i", "1"))
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
				var batch []func(*Samples)
				for range rng.IntN(20) {
					i := rng.IntN(4)
					s, _ := register(t, h, labels.FromStrings("__name__", "m", "i", fmt.Sprint(i)))
					at, v := rng.Int64N(100), rng.Float64()
					batch = append(batch, floatAt(s, at, v))
					genOf[h.Active()][key{i, at}] = v
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
		sel := selected(t, h, gens, 0, 1000, eq("__name__", "m"))
		require.True(t, slices.IsSortedFunc(sel, func(a, b series) int { return labels.Compare(a.Labels, b.Labels) }))
		for _, s := range sel {
			var i int
			fmt.Sscan(s.Labels.Get("i"), &i)
			for ts, v := range read(t, s) {
				got[key{i, ts}] = v
			}
		}
		require.Equal(t, model, got, "seed %d", seed)
	}
}

// told is a sample as a test compares it: bits, start and layout.
type told struct {
	bits uint64
	st   int64
	kind block.Kind
}

func readAll(t *testing.T, cs []block.Cursor) map[int64]told {
	t.Helper()
	out := map[int64]told{}
	last := int64(math.MinInt64)
	for c := block.Merge(cs); c.Next(); {
		s := c.Span()
		for i := range s.Count {
			require.Greater(t, s.Time(i), last)
			last = s.Time(i)
			x := told{st: s.StartTime(i), kind: s.Kind}
			switch s.Kind {
			case block.KindHistogram:
				x.bits = s.Histograms[i].Count
			case block.KindFloatHistogram:
				x.bits = math.Float64bits(s.FloatHistograms[i].Count)
			default:
				x.bits = math.Float64bits(s.Float(i))
			}
			out[last] = x
		}
	}
	return out
}

// Floats with and without start timestamps and histograms of both kinds in any
// order, with deletes and readers in between: of a time the last one stands, and
// what a reader got stays as it was.
func TestKindsEqualModel(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		h := New()
		g := h.Active()
		ref, _ := register(t, h, labels.FromStrings("a", "1"))
		model := map[int64]told{}
		type seen struct {
			held Held
			want map[int64]told
		}
		var before []seen
		kinds, at := 1+rng.IntN(4), int64(0)
		for seq := uint64(1); seq < 120; seq++ {
			if at += 1 + rng.Int64N(4); rng.IntN(6) == 0 {
				at = rng.Int64N(at + 1)
			}
			v := float64(rng.IntN(4)) / 4
			st := rng.Int64N(3) / 2 * at
			x := told{bits: math.Float64bits(v), st: st, kind: block.KindFloat}
			switch k := rng.IntN(kinds + 20); {
			case k == kinds+19:
				lo := rng.Int64N(at + 1)
				remove(t, h, lo, lo+30)
				maps.DeleteFunc(model, func(ts int64, _ told) bool { return ts >= lo && ts <= lo+30 })
				continue
			case k == 1 && kinds > 2:
				x.kind, x.bits = block.KindHistogram, seq
				put(h, seq, func(s *Samples) {
					s.AddHistogram(ref.Slot(), at, Histogram{ST: st, Int: &histogram.Histogram{Count: seq}})
				})
			case k == 2 && kinds > 2:
				x.kind, x.bits = block.KindFloatHistogram, math.Float64bits(v)
				put(h, seq, func(s *Samples) {
					s.AddHistogram(ref.Slot(), at, Histogram{ST: st, Float: &histogram.FloatHistogram{Count: v}})
				})
			default:
				put(h, seq, func(s *Samples) { s.AddFloat(ref.Slot(), st, at, v) })
			}
			model[at] = x
			if rng.IntN(20) == 0 {
				sel := selected(t, h, []*Generation{g}, 0, math.MaxInt64)
				before = append(before, seen{sel[0].Held[0], maps.Clone(model)})
			}
		}
		for _, b := range before {
			require.Equal(t, b.want, readAll(t, b.held.Cursors(math.MinInt64, math.MaxInt64)), "seed %d", seed)
		}
		h.Seal()
		got := map[int64]told{}
		require.NoError(t, h.Contents(g).Each(0, math.MaxInt64, func(e *Entry) error {
			got = readAll(t, []block.Cursor{e.Samples})
			return nil
		}))
		require.Equal(t, model, got, "seed %d", seed)
	}
}

// What a reader got does not change under it.
func TestSelectIsASnapshot(t *testing.T) {
	h := New()
	s, _ := register(t, h, labels.FromStrings("a", "1"))
	put(h, 1, floatAt(s, 10, 1), floatAt(s, 20, 2))
	put(h, 2, floatAt(s, 15, 3))
	g := h.Active()
	sel := selected(t, h, []*Generation{g}, 0, 100)
	want := map[int64]float64{10: 1, 15: 3, 20: 2}
	put(h, 3, floatAt(s, 16, 9), floatAt(s, 30, 9), floatAt(s, 10, 9))
	remove(t, h, 0, 100)
	h.Seal()
	require.Equal(t, want, read(t, sel[0]))
	require.Empty(t, selected(t, h, []*Generation{g, h.Active()}, 0, 100))
}

func TestRepeatedSamplesTakeNoMemory(t *testing.T) {
	h := New()
	s, _ := register(t, h, labels.FromStrings("a", "1"))
	put(h, 1, floatAt(s, 10, 1), floatAt(s, 20, math.NaN()))
	before := h.Active().Bytes()
	put(h, 2, floatAt(s, 10, 1), floatAt(s, 20, math.NaN()))
	require.Equal(t, before, h.Active().Bytes())
	put(h, 3, floatAt(s, 10, 2))
	put(h, 4, floatAt(s, 10, 1))
	require.Equal(t, 1.0, read(t, selected(t, h, []*Generation{h.Active()}, 0, 100)[0])[10])
}

// Two senders that take turns with a series cost little more than one.
func TestInterleavedSendersTakeLittleMemory(t *testing.T) {
	h := New()
	s, _ := register(t, h, labels.FromStrings("a", "1"))
	want := map[int64]float64{}
	seq := uint64(0)
	for from := int64(0); from < 20_000; from += 200 {
		for _, at := range []int64{from + 100, from} { // the later batch comes first
			seq++
			put(h, seq, func(b *Samples) {
				for i := at; i < at+100; i++ {
					v := float64(i % 11)
					b.AddFloat(s.Slot(), 0, i*10_000, v)
					want[i*10_000] = v
				}
			})
		}
	}
	require.Less(t, h.Active().Bytes(), int64(2*len(want)+pageBytes+4096))
	sel := selected(t, h, []*Generation{h.Active()}, 0, math.MaxInt64)
	require.Equal(t, want, read(t, sel[0]))
}

func TestMatchersEqualNaiveFilter(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	h := New()
	var all []labels.Labels
	for i := range 200 {
		b := labels.NewBuilder(labels.EmptyLabels())
		b.Set("__name__", fmt.Sprintf("m%d", rng.IntN(3)))
		if rng.IntN(2) == 0 {
			b.Set("x", fmt.Sprintf("%d", rng.IntN(6)))
		}
		b.Set("n", fmt.Sprint(i))
		s, created := register(t, h, b.Labels())
		require.True(t, created)
		all = append(all, labelsNow(h, s))
		require.Equal(t, b.Labels(), all[i])
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
		for _, lset := range all {
			if matches(lset, ms) {
				want = append(want, lset.String())
			}
		}
		var got []string
		for _, s := range selected(t, h, []*Generation{h.Active()}, 0, 10, ms...) {
			got = append(got, s.Labels.String())
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, "%v", ms)
	}
}

// A series that got nothing for two generations goes; who kept its number is
// told, though another series has its slot by then.
func TestDroppedSeries(t *testing.T) {
	h := New()
	lset := labels.FromStrings("a", "1")
	s, _ := register(t, h, lset)
	put(h, 1, floatAt(s, 1, 1))
	g := h.Seal()
	require.Zero(t, h.Collect(), "a series that was written to a moment ago stays")
	h.Seal()
	require.Zero(t, h.Collect(), "its samples are still there")
	h.Drop(g)
	require.Equal(t, 1, h.Idle())
	require.Equal(t, 1, h.Collect())
	require.Zero(t, h.SeriesCount())
	_, found := h.Find(lset, h.Active())
	require.False(t, found)
	require.False(t, alive(h, s, h.Active()))

	other, created := register(t, h, labels.FromStrings("b", "2"))
	require.True(t, created)
	require.Equal(t, s.Slot(), other.Slot())
	require.False(t, alive(h, s, h.Active()))
	require.True(t, alive(h, other, h.Active()))
	put(h, 2, floatAt(other, 1, 2))
	sel := selected(t, h, []*Generation{h.Active()}, 0, 10)
	require.Len(t, sel, 1)
	require.Equal(t, "2", sel[0].Labels.Get("b"))

	again, created := register(t, h, lset)
	require.True(t, created)
	require.NotEqual(t, s, again)
	require.Equal(t, lset, labelsNow(h, again))
	require.False(t, alive(h, s, h.Active()))
	require.False(t, alive(h, 0, h.Active()))
	require.False(t, alive(h, makeRef(1000, 1), h.Active()))
}

// What a batch saw alive stays as long as the batch lasts, however many
// generations pass.
func TestBatchesKeepSeries(t *testing.T) {
	h := New()
	s, _ := register(t, h, labels.FromStrings("a", "1"))
	pass := func() {
		for range 3 {
			h.Drop(h.Seal())
		}
	}
	began := h.Enter()
	require.True(t, alive(h, s, began))
	pass()
	require.Zero(t, h.Collect())
	put(h, 1, floatAt(s, 1, 1))
	began.Leave()
	require.Zero(t, h.Collect(), "it has a sample")
	pass()
	require.Equal(t, 1, h.Collect())
}

// An index that is made anew finds the series that there are.
func TestCompact(t *testing.T) {
	h := New()
	n := 3 * minDropped
	lset := func(i int) labels.Labels { return labels.FromStrings("i", fmt.Sprint(i), "m", "x") }
	refs := make([]Ref, n)
	for i := range refs {
		refs[i], _ = register(t, h, lset(i))
	}
	first := h.Active()
	for range 2 {
		h.Drop(h.Seal())
	}
	for i := 0; i < n; i += 3 {
		require.True(t, alive(h, refs[i], h.Active()))
	}
	put(h, 1, floatAt(refs[3], 1, 1))
	require.Zero(t, first.Samples())
	old := h.registry.catalog.Load()
	require.Equal(t, n-n/3, h.Collect())
	require.NoError(t, h.Compact())
	require.NotSame(t, old, h.registry.catalog.Load())
	require.Equal(t, n/3, h.registry.catalog.Load().index.Len())
	for i, ref := range refs {
		got, found := h.Find(lset(i), h.Active())
		require.Equal(t, i%3 == 0, found)
		if found {
			require.Equal(t, ref, got)
			require.Equal(t, lset(i), labelsNow(h, ref))
		}
	}
	sel := selected(t, h, []*Generation{h.Active()}, 0, 10)
	require.Len(t, sel, 1)
	require.Equal(t, lset(3), sel[0].Labels)
	require.NoError(t, h.Compact())
}

func TestExemplars(t *testing.T) {
	h := New()
	s, _ := register(t, h, labels.FromStrings("a", "1"))
	x := exemplar.Exemplar{Labels: labels.FromStrings("t", "1"), Value: 1, Ts: 5, HasTs: true}
	add := func(to *Samples) { to.AddExemplar(s.Slot(), x) }
	put(h, 1, add, add)
	var got []exemplar.Exemplar
	err := h.Exemplars([]*Generation{h.Active()}, 0, 10, nil, func(_ *Generation, _ labels.Labels, xs []exemplar.Exemplar) {
		got = append(got, xs...)
	})
	require.NoError(t, err)
	require.Equal(t, []exemplar.Exemplar{x}, got)
	require.Empty(t, selected(t, h, []*Generation{h.Active()}, 0, 10), "an exemplar is no sample")
}

// Writers at the same samples leave what the highest sequence number wrote, and
// no series is registered twice.
func TestConcurrentWritersKeepSequence(t *testing.T) {
	h := New()
	var order sync.Mutex
	var seq uint64
	var created atomic.Int64
	type key struct {
		series int
		t      int64
	}
	wrote := map[key]float64{} // what came last
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			var batch Samples
			for range 200 {
				var slots []uint32
				for i := range 20 {
					s, made, err := h.Register(labels.FromStrings("i", fmt.Sprint(i)), h.Active())
					if err != nil {
						t.Error(err)
					}
					if made {
						created.Add(1)
					}
					slots = append(slots, s.Slot())
				}
				order.Lock()
				seq++
				batch.Reset()
				for i, slot := range slots {
					at := rng.Int64N(5)
					batch.AddFloat(slot, 0, at, float64(seq))
					wrote[key{i, at}] = float64(seq)
				}
				h.Enqueue(seq, &batch)
				order.Unlock()
				h.Drain(&batch)
				m := h.Moment()
				if _, err := m.Select([]*Generation{h.Active()}, 0, 10, []*labels.Matcher{eq("i", "3")}); err != nil {
					t.Error(err)
				}
				m.Close()
			}
		}()
	}
	wg.Wait()
	require.Equal(t, int64(20), created.Load())
	g := h.Seal()
	lo, hi, ok := g.SeqRange()
	require.True(t, ok)
	require.Equal(t, []uint64{1, seq}, []uint64{lo, hi})
	got := map[key]float64{}
	contents := h.Contents(g)
	b := labels.NewScratchBuilder(1)
	err := contents.Each(0, 10, func(e *Entry) error {
		i, err := strconv.Atoi(contents.catalog.labels(e.ordinal, &b).Get("i"))
		for e.Samples.Next() {
			for k := range e.Samples.Span().Count {
				got[key{i, e.Samples.Span().Time(k)}] = e.Samples.Span().Float(k)
			}
		}
		return err
	})
	require.NoError(t, err)
	require.Equal(t, wrote, got)
}

func matches(lset labels.Labels, ms []*labels.Matcher) bool {
	for _, m := range ms {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

// A series that ended long before the others goes with its last generation, unless
// an older one is still read or a later one has it.
func TestEndedSeriesGoWithTheirSamples(t *testing.T) {
	a, b := labels.FromStrings("a", "1"), labels.FromStrings("b", "1")
	begin := func() (*Head, Ref, Ref) {
		h := New()
		x, _ := register(t, h, a)
		y, _ := register(t, h, b)
		return h, x, y
	}
	h, x, y := begin()
	put(h, 1, floatAt(x, 0, 1), floatAt(y, staleAfter+1, 1))
	h.Drop(h.Seal())
	require.Equal(t, 1, h.Idle())
	require.Equal(t, 1, h.Collect())
	_, found := h.Find(a, h.Active())
	require.False(t, found)
	require.True(t, alive(h, y, h.Active()))

	h, x, y = begin()
	put(h, 1, floatAt(x, 0, 1))
	read := h.Seal()
	put(h, 2, floatAt(x, 1, 1), floatAt(y, staleAfter+2, 1))
	h.Drop(h.Seal())
	require.Zero(t, h.Collect(), "its slot is looked at in the older generation")
	h.Drop(read)

	h, x, y = begin()
	put(h, 1, floatAt(x, 0, 1), floatAt(y, staleAfter+1, 1))
	ended := h.Seal()
	put(h, 2, floatAt(x, 2*staleAfter, 1))
	h.Drop(ended)
	require.Zero(t, h.Collect(), "it goes on")
}
