package head

import (
	"fmt"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
)

// matched is what matchers select in a catalog.
type matched struct {
	catalog *catalog
	view    *index.View
	set     *bitmap.Set
}

func (h *Head) match(ms []*labels.Matcher) (m matched, err error) {
	m.catalog = h.registry.catalog.Load()
	m.view = m.catalog.index.View()
	m.set, err = m.view.Select(ms...)
	return m, err
}

// each calls fn with the matching series that were not dropped.
func (m *matched) each(fn func(ordinal uint32, ref Ref)) {
	var ordinals [1024]uint32
	it := m.set.Iterator()
	for n := it.Next(ordinals[:]); n > 0; n = it.Next(ordinals[:]) {
		for _, o := range ordinals[:n] {
			if ref := m.catalog.at(o); ref != 0 {
				fn(o, ref)
			}
		}
	}
}

// Found are series as Select found them, with their samples. It may be read by many
// goroutines.
type Found struct {
	catalog  *catalog
	view     *index.View
	ordinals []uint32
	held     []Held
	ends     []uint32  // by series, in held
	order    []uint32  // which of these is in what place, nil: as they were found
	makers   sync.Pool // of *index.Maker
}

// Held is what one generation holds of a series.
type Held struct {
	Generation *Generation
	MinT, MaxT int64
	snapshot   snapshot
}

// Cursors returns new cursors over the samples held inside [mint, maxt] and
// perhaps some outside; at equal times the later cursor's is the newer. They can
// be read until the generation is dropped.
func (h *Held) Cursors(mint, maxt int64) []block.Cursor { return h.snapshot.cursors(mint, maxt) }

// Select returns the series that all matchers match and that have samples inside
// [mint, maxt] in one of the generations. They are in no order before Reorder. The
// generations come oldest first and are not dropped meanwhile. No labels are looked
// at.
func (m *Moment) Select(gens []*Generation, mint, maxt int64, ms []*labels.Matcher) (*Found, error) {
	gens = m.reach(gens, mint, maxt)
	if len(gens) == 0 {
		return &Found{}, nil
	}
	all, err := m.head.match(ms)
	if err != nil {
		return nil, err
	}
	f := &Found{catalog: all.catalog, view: all.view}
	seen, total := 0, all.set.Count()
	all.each(func(ordinal uint32, ref Ref) {
		seen++
		n := len(f.held)
		if n+len(gens) > cap(f.held) {
			f.reserve(seen, total)
		}
		if f.held = m.hold(f.held, ref, gens, mint, maxt); len(f.held) > n {
			f.ordinals, f.ends = append(f.ordinals, ordinal), append(f.ends, uint32(len(f.held)))
		}
	})
	return f, nil
}

// reserve makes room for what all series may be found to have, as those seen so far
// let expect: what is held is large.
func (f *Found) reserve(seen, total int) {
	const few = 64
	room := min(few, total)
	if seen > few {
		room = int(float64(len(f.held))/float64(seen)*float64(total-seen)*1.05) + few
	}
	f.held = slices.Grow(f.held, room)
	f.ordinals, f.ends = slices.Grow(f.ordinals, room), slices.Grow(f.ends, room)
}

// Len returns the number of series.
func (f *Found) Len() int {
	if f.order == nil {
		return len(f.ordinals)
	}
	return len(f.order)
}

// HeldLen returns how much is held of all series.
func (f *Found) HeldLen() int { return len(f.held) }

// Held returns what is held of series i, the oldest generation first.
func (f *Found) Held(i int) []Held {
	begin, end := f.Range(i)
	return f.held[begin:end:end]
}

// at returns where series i was found.
func (f *Found) at(i int) int {
	if f.order == nil {
		return i
	}
	return int(f.order[i])
}

// Range returns which of all that is held is of series i.
func (f *Found) Range(i int) (begin, end int) {
	k := f.at(i)
	if k > 0 {
		begin = int(f.ends[k-1])
	}
	return begin, int(f.ends[k])
}

// Labels returns the label set of series i, which owns its strings; it may be others'
// too.
func (f *Found) Labels(i int) labels.Labels {
	m, ok := f.makers.Get().(*index.Maker)
	if !ok {
		m = f.view.Maker(f.ordinals, f.order)
	}
	lset, err := m.Labels(i)
	if err != nil {
		panic(fmt.Sprintf("head: %v", err))
	}
	f.makers.Put(m)
	return lset
}

// LabelNames returns the names of all labels of the series, sorted; there may be
// others among them.
func (f *Found) LabelNames() []string {
	if f.Len() == 0 {
		return nil
	}
	return f.view.LabelNamesOf(f.ordinals)
}

// Column writes the numbers of the values that the series have of a label to dst,
// which is as long, 0 for none, and returns what the numbers stand for.
func (f *Found) Column(name string, dst []uint32) index.Column {
	c := f.view.Column(name)
	if f.order == nil {
		c.Fill(dst, f.ordinals)
		return c
	}
	found := make([]uint32, len(f.ordinals))
	c.Fill(found, f.ordinals)
	for i, k := range f.order {
		dst[i] = found[k]
	}
	return c
}

// Reorder puts the series that was found as number found[i] in place i, and drops
// those that are not among found, which belongs to f from then on. Nobody may read f
// meanwhile, and it is done once.
func (f *Found) Reorder(found []uint32) { f.order, f.makers = found, sync.Pool{} }

// hold appends what the generations hold of a series.
func (m *Moment) hold(to []Held, ref Ref, gens []*Generation, mint, maxt int64) []Held {
	shard := uint32(shardOf(ref.Slot()))
	m.pass(shard)
	m.head.visit(ref, gens, func(g *Generation, s *holdings, r *record, number uint32) bool {
		if old := m.before(g, shard, number); old != nil {
			if old.MinT <= maxt && old.MaxT >= mint {
				to = append(to, *old)
			}
			return true
		}
		if r.mint <= maxt && r.maxt >= mint {
			to = append(to, Held{Generation: g, MinT: r.mint, MaxT: r.maxt, snapshot: s.snapshot(g, r, number)})
		}
		return true
	})
	return to
}

// visit calls fn with the records that generations have of a series, holding its
// shard, until fn returns false.
func (h *Head) visit(ref Ref, gens []*Generation, fn func(g *Generation, s *holdings, r *record, number uint32) bool) {
	i := shardOf(ref.Slot())
	sh := &h.shards[i]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	for _, g := range gens {
		s := g.shards[i]
		r, number := s.find(ref.Slot())
		if r == nil {
			continue
		}
		// Another series may have got the slot since ref was looked up.
		if !h.registry.slot(ref.Slot()).names(ref) || !fn(g, s, r, number) {
			return
		}
	}
}

// Matched are series of the head that have samples.
type Matched struct {
	view *index.View
	set  *bitmap.Set
}

// Match is Select without the samples. keep, when not nil, is asked about each
// generation's range of a series.
func (h *Head) Match(gens []*Generation, mint, maxt int64, ms []*labels.Matcher,
	keep func(g *Generation, lset labels.Labels, mint, maxt int64) bool,
) (Matched, error) {
	m, err := h.match(ms)
	if err != nil {
		return Matched{}, err
	}
	var found bitmap.Builder
	b := labels.NewScratchBuilder(16)
	m.each(func(ordinal uint32, ref Ref) {
		has := false
		h.visit(ref, gens, func(g *Generation, _ *holdings, r *record, _ uint32) bool {
			has = r.mint <= maxt && r.maxt >= mint && (keep == nil || keep(g, m.catalog.labels(ordinal, &b), r.mint, r.maxt))
			return !has
		})
		if has {
			found.Add(ordinal)
		}
	})
	return Matched{view: m.view, set: found.Set()}, nil
}

// LabelNames returns the names of all labels of the series, sorted.
func (m *Matched) LabelNames() []string {
	if m.set.Count() == 0 {
		return nil
	}
	return m.view.LabelNames(m.set)
}

// LabelValues returns the values of a label of the series, sorted.
func (m *Matched) LabelValues(name string) []string {
	if m.set.Count() == 0 {
		return nil
	}
	return m.view.LabelValues(name, m.set)
}

// Exemplars calls fn for each matching series that has exemplars inside
// [mint, maxt] in one of the generations.
func (h *Head) Exemplars(gens []*Generation, mint, maxt int64, ms []*labels.Matcher,
	fn func(g *Generation, lset labels.Labels, xs []exemplar.Exemplar),
) error {
	m, err := h.match(ms)
	if err != nil {
		return err
	}
	type found struct {
		gen *Generation
		xs  []exemplar.Exemplar
	}
	b := labels.NewScratchBuilder(16)
	m.each(func(ordinal uint32, ref Ref) {
		var all []found
		h.visit(ref, gens, func(g *Generation, s *holdings, r *record, number uint32) bool {
			var xs []exemplar.Exemplar
			for _, x := range s.exemplars(r, number) {
				if x.Ts >= mint && x.Ts <= maxt {
					xs = append(xs, x)
				}
			}
			if len(xs) > 0 {
				all = append(all, found{g, xs})
			}
			return true
		})
		for _, f := range all {
			fn(f.gen, m.catalog.labels(ordinal, &b), f.xs)
		}
	})
	return nil
}
