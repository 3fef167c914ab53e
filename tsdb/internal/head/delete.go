package head

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Delete removes the samples and exemplars inside [mint, maxt] of the matching
// series from the active generation and returns the number of samples removed.
// No Enqueue or Drain may run meanwhile, and no Moment be opened: those that are open
// do not see it.
func (h *Head) Delete(mint, maxt int64, ms []*labels.Matcher) (removed int, err error) {
	g := h.active.Load()
	m, err := h.match(ms)
	if err != nil {
		return 0, err
	}
	keepers := h.keepers(g, math.MaxUint64)
	m.each(func(_ uint32, ref Ref) {
		i := shardOf(ref.Slot())
		sh := &h.shards[i]
		sh.mu.Lock()
		defer sh.mu.Unlock()
		if r, number := g.shards[i].find(ref.Slot()); r != nil {
			for _, k := range keepers {
				k.keep(g.shards[i], uint32(i), r, number)
			}
			n, grown := g.shards[i].remove(r, number, mint, maxt)
			removed += n
			g.bytes.Add(int64(grown))
			h.bytes.Add(int64(grown))
		}
	})
	return removed, nil
}

// remove takes out the samples and exemplars inside [mint, maxt]. What readers
// see of the record does not change: blocks of the arena are made anew.
func (s *holdings) remove(r *record, number uint32, mint, maxt int64) (removed, grown int) {
	if !r.more && (r.mint > maxt || r.maxt < mint) {
		return 0, 0
	}
	if s.finder != nil {
		s.finder.forget()
	}
	inside := func(t int64) bool { return t >= mint && t <= maxt }
	lo, hi := int64(emptyMinT), int64(emptyMaxT)
	keep := func(t int64) { lo, hi = min(lo, t), max(hi, t) }
	removed, grown = r.floats.Remove(s.arena, mint, maxt)
	if r.floats.Count() > 0 {
		keep(r.floats.MinT())
		keep(r.floats.MaxT())
	}
	n, g := s.removeFromLanes(r, mint, maxt, keep)
	removed, grown = removed+n, grown+g
	late := r.late
	r.late = lateList{}
	for _, x := range late.all(s.arena) {
		if inside(x.t) {
			removed++
			continue
		}
		grown += r.late.add(s.arena, x.st, x.t, x.v)
		keep(x.t)
	}
	if r.more {
		e, n := s.extras[number].without(inside, keep)
		s.extras[number] = e
		removed += n
		r.moreRuns, r.moreLate = len(e.runs) > 0, len(e.late) > 0
	}
	r.mint, r.maxt = lo, hi
	return removed, grown
}

// without returns e without what is inside and the number of samples that were;
// keep is called with the times of the others.
func (e *extra) without(inside func(int64) bool, keep func(int64)) (out *extra, removed int) {
	out = &extra{}
	for _, x := range e.late {
		if inside(x.t) {
			removed++
			continue
		}
		out.late = append(out.late, x)
		keep(x.t)
	}
	for _, r := range e.runs {
		removed += len(r.times)
		if kept := r.without(inside); kept != nil {
			removed -= len(kept.times)
			out.runs = append(out.runs, kept)
			keep(kept.times[0])
			keep(kept.times[len(kept.times)-1])
		}
	}
	out.exemplars = slices.DeleteFunc(slices.Clone(e.exemplars), func(x exemplar.Exemplar) bool { return inside(x.Ts) })
	return out, removed
}

func (r *run) without(inside func(int64) bool) *run {
	out := &run{kind: r.kind}
	if r.starts != nil {
		out.starts = []int64{}
	}
	hole := -1 // where the sample after the last hole goes
	for i, t := range r.times {
		if inside(t) {
			hole = len(out.times)
			continue
		}
		out.times = append(out.times, t)
		switch r.kind {
		case block.KindHistogram:
			out.hists = append(out.hists, r.hists[i])
		case block.KindFloatHistogram:
			out.fhists = append(out.fhists, r.fhists[i])
		default:
			out.floats = append(out.floats, r.floats[i])
		}
		if r.starts != nil {
			out.starts = append(out.starts, r.starts[i])
		}
		if hole == len(out.times)-1 {
			out.unknownAfterHole(hole)
		}
	}
	if len(out.times) == 0 {
		return nil
	}
	return out
}

// unknownAfterHole makes the hint of the first histogram at or after index i
// unknown, since the sample before it is gone.
func (r *run) unknownAfterHole(i int) {
	if i < len(r.hists) {
		r.hists[i] = unhinted(r.hists[i])
	}
	if i < len(r.fhists) {
		r.fhists[i] = unhintedFloat(r.fhists[i])
	}
}
