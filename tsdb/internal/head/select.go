package head

import (
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Selected is one series as Select found it, with its samples of the asked
// generations.
type Selected struct {
	Series *Series
	Held   []Held // oldest generation first
}

// Held is what one generation holds of a selected series.
type Held struct {
	Generation *Generation
	MinT, MaxT int64
	snapshot   snapshot
}

// Cursors returns new cursors over all samples held; at equal times the later
// cursor's is the newer.
func (h *Held) Cursors() []block.Cursor { return h.snapshot.cursors() }

// Select returns, in label order, the series that all matchers match and that
// have samples inside [mint, maxt] in one of the generations, as of now: what
// is applied later is not seen.
func (h *Head) Select(gens []*Generation, mint, maxt int64, ms []*labels.Matcher) []Selected {
	found := h.index.match(ms)
	var out []Selected
	for _, s := range found {
		if held := h.hold(s, gens, mint, maxt); len(held) > 0 {
			out = append(out, Selected{Series: s, Held: held})
		}
	}
	slices.SortFunc(out, func(a, b Selected) int { return labels.Compare(a.Series.lset, b.Series.lset) })
	return out
}

func (h *Head) hold(s *Series, gens []*Generation, mint, maxt int64) []Held {
	sh := &h.shards[s.shard]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	var held []Held
	for d := s.data; d != nil; d = d.prev {
		if d.mint <= maxt && d.maxt >= mint && slices.Contains(gens, d.gen) {
			held = append(held, Held{Generation: d.gen, MinT: d.mint, MaxT: d.maxt, snapshot: d.snapshot()})
		}
	}
	slices.Reverse(held)
	return held
}

// Match is Select without the samples: the label sets of the series that have
// some inside [mint, maxt], in no order. keep, when not nil, is asked about
// each generation's range of a series.
func (h *Head) Match(gens []*Generation, mint, maxt int64, ms []*labels.Matcher,
	keep func(g *Generation, lset labels.Labels, mint, maxt int64) bool,
) []labels.Labels {
	var out []labels.Labels
	for _, s := range h.index.match(ms) {
		if h.has(s, gens, mint, maxt, keep) {
			out = append(out, s.lset)
		}
	}
	return out
}

func (h *Head) has(s *Series, gens []*Generation, mint, maxt int64,
	keep func(g *Generation, lset labels.Labels, mint, maxt int64) bool,
) bool {
	sh := &h.shards[s.shard]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	for d := s.data; d != nil; d = d.prev {
		if d.mint <= maxt && d.maxt >= mint && slices.Contains(gens, d.gen) &&
			(keep == nil || keep(d.gen, s.lset, d.mint, d.maxt)) {
			return true
		}
	}
	return false
}

// Exemplars calls fn for each matching series that has exemplars inside
// [mint, maxt] in one of the generations.
func (h *Head) Exemplars(gens []*Generation, mint, maxt int64, ms []*labels.Matcher,
	fn func(g *Generation, lset labels.Labels, xs []exemplar.Exemplar),
) {
	for _, s := range h.index.match(ms) {
		for _, f := range h.exemplarsOf(s, gens, mint, maxt) {
			fn(f.gen, s.lset, f.xs)
		}
	}
}

type foundExemplars struct {
	gen *Generation
	xs  []exemplar.Exemplar
}

func (h *Head) exemplarsOf(s *Series, gens []*Generation, mint, maxt int64) []foundExemplars {
	sh := &h.shards[s.shard]
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	var out []foundExemplars
	for d := s.data; d != nil; d = d.prev {
		if len(d.exemplars) == 0 || !slices.Contains(gens, d.gen) {
			continue
		}
		var xs []exemplar.Exemplar
		for _, x := range d.exemplars {
			if x.Ts >= mint && x.Ts <= maxt {
				xs = append(xs, x)
			}
		}
		if len(xs) > 0 {
			out = append(out, foundExemplars{gen: d.gen, xs: xs})
		}
	}
	return out
}

// Delete removes the samples and exemplars inside [mint, maxt] of the matching
// series from the active generation and returns the number of samples removed.
// No Enqueue or Drain may run meanwhile.
func (h *Head) Delete(mint, maxt int64, ms []*labels.Matcher) int {
	gen := h.active.Load()
	removed := 0
	for _, s := range h.index.match(ms) {
		sh := &h.shards[s.shard]
		sh.mu.Lock()
		if d := s.data; d != nil && d.gen == gen {
			removed += d.remove(mint, maxt)
		}
		sh.mu.Unlock()
	}
	return removed
}
