package head

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Enqueue puts samples in line under their sequence number. Calls must come in
// ascending order of seq, one at a time; it only takes a moment. The samples are
// visible after Drain.
func (h *Head) Enqueue(seq uint64, s *Samples) { h.EnqueueFrames(seq, seq, s) }

// EnqueueFrames is Enqueue for the samples of several frames, in their order,
// that have the numbers from lo to hi.
func (h *Head) EnqueueFrames(lo, hi uint64, s *Samples) {
	h.line.Lock()
	defer h.line.Unlock()
	h.line.seq = hi
	h.line.waiting.Add(1)
	for i := range h.shards {
		if len(s.shards[i]) == 0 {
			continue
		}
		q := &h.shards[i].queue
		q.Lock()
		q.pieces = append(q.pieces, piece{lo: lo, hi: hi, samples: s})
		q.Unlock()
	}
}

// Drain applies s, which was put in line, and whatever stands before it. When it
// returns all of it is visible and s may be reused.
func (h *Head) Drain(s *Samples) {
	defer h.line.waiting.Add(-1)
	for i := range h.shards {
		if len(s.shards[i]) > 0 {
			h.drainShard(i)
		}
	}
}

func (h *Head) drainShard(i int) {
	sh := &h.shards[i]
	sh.mu.Lock()
	defer sh.mu.Unlock()
	sh.queue.Lock()
	pieces := sh.queue.pieces
	sh.queue.pieces = sh.spare[:0]
	sh.queue.Unlock()
	g := h.active.Load()
	for _, p := range pieces {
		h.apply(g, i, p)
	}
	clear(pieces)
	sh.spare = pieces
}

// apply adds a piece to a generation; its shard is locked.
func (h *Head) apply(g *Generation, i int, p piece) {
	s := g.shards[i]
	list := p.samples.shards[i]
	keepers := h.keepers(g, p.lo)
	size := 0
	mint, maxt := int64(emptyMinT), int64(emptyMaxT)
	var r *record
	var number uint32
	for k := range list {
		x := &list[k]
		if r == nil || r.slot != x.Slot {
			var grown int
			if r, number, grown = s.open(x.Slot); grown > 0 {
				h.registry.slot(x.Slot).touch(g.id)
				size += grown
			}
			for _, m := range keepers {
				m.keep(s, uint32(i), r, number)
			}
		}
		if x.Kind == KindExemplar {
			e, grown := s.extra(r, number)
			size += grown + e.appendExemplar(p.samples.exemplars[x.Bits])
			continue
		}
		mint, maxt = min(mint, x.T), max(maxt, x.T)
		switch {
		case x.Kind == KindFloat && x.T > r.maxt && !r.moreRuns:
			r.mint = min(r.mint, x.T)
			r.maxt = x.T
			size += r.floats.Append(s.arena, 0, x.T, math.Float64frombits(x.Bits))
		default:
			size += s.add(r, number, p.samples, x)
		}
	}
	g.bytes.Add(int64(size))
	h.bytes.Add(int64(size))
	g.samples.Add(int64(len(list)))
	storeMin(&g.seqMin, p.lo)
	storeMax(&g.seqMax, p.hi)
	storeMin(&g.mint, mint)
	storeMax(&g.maxt, maxt)
}

// add adds what is not a plain float in order and returns the bytes it took.
func (s *holdings) add(r *record, number uint32, from *Samples, x *Sample) int {
	sample := from.sample(x)
	if r.mint <= r.maxt && x.T <= r.maxt {
		if s.repeats(r, number, &sample) {
			return 0
		}
		r.mint = min(r.mint, x.T)
		return s.addLate(r, number, &sample)
	}
	r.mint = min(r.mint, x.T)
	r.maxt = x.T
	if sample.kind == block.KindFloat && !r.moreRuns {
		return r.floats.Append(s.arena, sample.st, sample.t, sample.v)
	}
	e, grown := s.extra(r, number)
	r.moreRuns = true
	return grown + e.appendRun(&sample)
}

func (s *holdings) addLate(r *record, number uint32, x *sample) int {
	if x.kind == block.KindFloat && r.late.empty() && !r.moreRuns && !r.moreLate {
		if grown, ok := s.addToLane(r, x); ok {
			return grown
		}
	}
	if x.kind == block.KindFloat && !r.moreLate {
		return r.late.add(s.arena, x.st, x.t, x.v)
	}
	e, grown := s.extra(r, number)
	r.moreLate = true
	e.late = append(e.late, *x)
	return grown + lateBytes + histBytes(x.h, x.fh)
}

// repeats tells whether a float is already there, as when a sender retries a
// request. Once a series has late samples nobody looks.
func (s *holdings) repeats(r *record, number uint32, x *sample) bool {
	if x.kind != block.KindFloat || r.lanes != 0 || !r.late.empty() || r.moreLate {
		return false
	}
	if r.moreRuns {
		if is, there := s.extras[number].repeats(x); there {
			return is
		}
	}
	if r.floats.Count() == 0 || x.t > r.floats.MaxT() {
		return false
	}
	if t, v := r.floats.Last(); t == x.t { // mostly it is the last one
		return math.Float64bits(v) == math.Float64bits(x.v) && r.floats.LastStart() == x.st
	}
	v, st, there := s.findFloat(r, number, x.t)
	return there && math.Float64bits(v) == math.Float64bits(x.v) && st == x.st
}
