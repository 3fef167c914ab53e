package head

import (
	"slices"

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

// Selected is one series as Select found it, with its samples of the asked
// generations.
type Selected struct {
	Labels labels.Labels
	Held   []Held // oldest generation first
}

// Held is what one generation holds of a selected series.
type Held struct {
	Generation *Generation
	MinT, MaxT int64
	snapshot   snapshot
}

// Cursors returns new cursors over the samples held inside [mint, maxt] and
// perhaps some outside; at equal times the later cursor's is the newer. They can
// be read until the generation is dropped.
func (h *Held) Cursors(mint, maxt int64) []block.Cursor { return h.snapshot.cursors(mint, maxt) }

// Select returns, in label order, the series that all matchers match and that
// have samples inside [mint, maxt] in one of the generations, as of now: what
// is applied later is not seen. The generations come oldest first and are not
// dropped meanwhile.
func (h *Head) Select(gens []*Generation, mint, maxt int64, ms []*labels.Matcher) ([]Selected, error) {
	m, err := h.match(ms)
	if err != nil {
		return nil, err
	}
	var out []Selected
	var found []uint32
	b := labels.NewScratchBuilder(16)
	var room []Held // for many series at once
	m.each(func(ordinal uint32, ref Ref) {
		if cap(room)-len(room) < len(gens) {
			room = make([]Held, 0, max(len(gens), min(64, m.set.Count()*len(gens))))
		}
		from := len(room)
		room = h.hold(room, ref, gens, mint, maxt)
		if held := room[from:len(room):len(room)]; len(held) > 0 {
			out = append(out, Selected{Labels: m.catalog.labels(ordinal, &b), Held: held})
			found = append(found, ordinal)
		}
	})
	if len(out) < manySelected || len(out) < m.catalog.index.Len()/8 {
		slices.SortFunc(out, func(a, b Selected) int { return labels.Compare(a.Labels, b.Labels) })
		return out, nil
	}
	sorted := make([]Selected, 0, len(out))
	for _, ordinal := range m.catalog.index.LabelOrder(bitmap.FromSorted(found)) {
		at, _ := slices.BinarySearch(found, ordinal)
		sorted = append(sorted, out[at])
	}
	return sorted, nil
}

// manySelected is from how many series on the index is asked for their order, if
// they are a good part of all: it looks at every value there is.
const manySelected = 1000

// hold appends what the generations hold of a series.
func (h *Head) hold(to []Held, ref Ref, gens []*Generation, mint, maxt int64) []Held {
	h.visit(ref, gens, func(g *Generation, s *holdings, r *record, number uint32) bool {
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
