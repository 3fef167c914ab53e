package head

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Moment is a point between two frames. What it selects is what the frames before
// it brought, whole, and nothing of those after it, whenever that is.
//
// As long as it is open, writers keep for it what they change: some 200 bytes for
// each series of the active generation that is written to, once. So it is to be
// closed soon. Its methods may be called by many goroutines.
type Moment struct {
	head   *Head
	seq    uint64        // of the last frame that is seen
	active *Generation   // as of then; the others do not change
	inLine bool          // frames up to seq may not have been applied yet
	passed atomic.Uint32 // by shard: they have

	// kept is what series of the active generation were at the moment, where they
	// changed since. An entry comes while the shard is held alone.
	kept struct {
		sync.Mutex
		series map[keptKey]*Held
		shards atomic.Uint32 // that have some
	}
}

// keptKey names a record of a generation.
type keptKey struct {
	shard, number uint32
}

// line is where frames get in line, and moments between them.
type line struct {
	sync.Mutex
	seq  uint64    // of the last frame
	open []*Moment // not closed
	// count is how many these are.
	count atomic.Int32
	// waiting is how many requests are in line and not applied, or about to be.
	waiting atomic.Int32
}

// Moment opens one that comes after all frames that are in line. Generations that
// Select is given are to be those of no later time.
func (h *Head) Moment() *Moment {
	m := &Moment{head: h}
	h.line.Lock()
	defer h.line.Unlock()
	m.seq, m.active, m.inLine = h.line.seq, h.active.Load(), h.line.waiting.Load() != 0
	h.line.open = append(h.line.open, m)
	h.line.count.Add(1)
	return m
}

// Close ends it: nothing may be selected any more, what was stays readable. It is
// done once.
func (m *Moment) Close() {
	l := &m.head.line
	l.Lock()
	defer l.Unlock()
	at := slices.Index(l.open, m)
	l.open = slices.Delete(l.open, at, at+1)
	l.count.Add(-1)
}

// InLine tells whether samples stand in line: if not, all that were are applied and
// in the ranges of generations.
func (h *Head) InLine() bool { return h.line.waiting.Load() != 0 }

// keepers returns the open moments before a frame which the generation is the
// active one of.
func (h *Head) keepers(g *Generation, seq uint64) (out []*Moment) {
	if h.line.count.Load() == 0 {
		return nil
	}
	h.line.Lock()
	defer h.line.Unlock()
	for _, m := range h.line.open {
		if m.seq < seq && m.active == g {
			out = append(out, m)
		}
	}
	return out
}

// keep is called before a record changes, holding its shard alone.
func (m *Moment) keep(s *holdings, shard uint32, r *record, number uint32) {
	m.kept.Lock()
	defer m.kept.Unlock()
	key := keptKey{shard, number}
	if _, done := m.kept.series[key]; done {
		return
	}
	if m.kept.series == nil {
		m.kept.series = map[keptKey]*Held{}
	}
	m.kept.series[key] = &Held{Generation: m.active, MinT: r.mint, MaxT: r.maxt, snapshot: s.snapshot(m.active, r, number)}
	m.kept.shards.Or(1 << shard)
}

// before returns what was kept of a record, nil if it did not change. Its shard
// must be held.
func (m *Moment) before(g *Generation, shard, number uint32) *Held {
	if m.kept.shards.Load()&(1<<shard) == 0 || g != m.active {
		return nil
	}
	m.kept.Lock()
	defer m.kept.Unlock()
	return m.kept.series[keptKey{shard, number}]
}

// pass sees to it that a shard was brought what came before the moment, or that
// whoever is about to holds it.
func (m *Moment) pass(shard uint32) {
	if !m.inLine || m.passed.Load()&(1<<shard) != 0 {
		return
	}
	q := &m.head.shards[shard].queue
	q.Lock()
	behind := len(q.pieces) > 0 && q.pieces[0].lo <= m.seq
	q.Unlock()
	if behind {
		m.head.drainShard(int(shard))
	}
	m.passed.Or(1 << shard)
}

// reach returns the generations that may have samples inside [mint, maxt].
func (m *Moment) reach(gens []*Generation, mint, maxt int64) []*Generation {
	return slices.DeleteFunc(slices.Clone(gens), func(g *Generation) bool {
		if g.Overlaps(mint, maxt) {
			return false
		}
		if g != m.active || !m.inLine {
			return true
		}
		for i := range uint32(ShardCount) { // what stands in line may widen it
			m.pass(i)
			m.head.shards[i].await()
		}
		return !g.Overlaps(mint, maxt)
	})
}

// await returns when who holds the shard alone has let go of it.
func (sh *shard) await() {
	sh.mu.RLock()
	defer sh.mu.RUnlock()
}

// Overlaps tells whether the generation may have samples inside [mint, maxt].
func (g *Generation) Overlaps(mint, maxt int64) bool {
	lo, hi := g.TimeRange()
	return lo <= maxt && hi >= mint
}
