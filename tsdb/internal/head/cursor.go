package head

import (
	"cmp"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/mem"
	"github.com/varvedb/varve/tsdb/internal/tail"
)

// snapshot is the samples of a record as they were at one moment. It is valid
// as long as the generation is not dropped.
type snapshot struct {
	generation *Generation
	arena      *mem.Arena
	floats     tail.Snapshot
	hasFloats  bool
	runs       []run           // after the floats
	lanes      []tail.Snapshot // newer than those; each than the one before
	lateFloats lateList        // newer than the lanes
	late       []sample        // after them
}

// snapshot copies no samples. The shard must be held.
func (s *holdings) snapshot(g *Generation, r *record, number uint32) snapshot {
	out := snapshot{generation: g, arena: s.arena, lanes: s.laneSnapshots(r), lateFloats: r.late}
	if r.floats.Count() > 0 {
		out.hasFloats = true
		r.floats.Snapshot(s.arena, &out.floats)
	}
	if r.more {
		e := s.extras[number]
		out.late = e.late[:len(e.late):len(e.late)]
		for _, x := range e.runs {
			out.runs = append(out.runs, *x)
		}
	}
	return out
}

// exemplars returns the exemplars of a record. The shard must be held.
func (s *holdings) exemplars(r *record, number uint32) []exemplar.Exemplar {
	if !r.more {
		return nil
	}
	x := s.extras[number].exemplars
	return x[:len(x):len(x)]
}

// cursors returns new cursors, the later one being newer at equal times. Floats
// outside [mint, maxt] may be left out.
func (s *snapshot) cursors(mint, maxt int64) []block.Cursor {
	out := make([]block.Cursor, 0, 2)
	if s.hasFloats {
		out = append(out, s.inOrder(s.generation.floatCursor(&s.floats, mint, maxt)))
	} else if len(s.runs) > 0 {
		out = append(out, &runCursor{runs: s.runs})
	}
	return s.addLate(out, mint, maxt)
}

// floatCursor returns a cursor over floats in order.
func (g *Generation) floatCursor(s *tail.Snapshot, mint, maxt int64) *floatCursor {
	c := &floatCursor{generation: g, cursor: g.cursor()}
	c.cursor.Reset(s, mint, maxt, maxSpan)
	return c
}

// floatCursor is a cursor over the floats in order. What it decodes into goes to
// the next one when it comes to its end: no span of it is valid then.
type floatCursor struct {
	cursor     *tail.Cursor // nil at the end
	generation *Generation
}

func (c *floatCursor) Err() error        { return nil }
func (c *floatCursor) Span() *block.Span { return c.cursor.Span() }

func (c *floatCursor) Next() bool {
	if c.cursor == nil {
		return false
	}
	c.generation.mustBeHeld()
	if c.cursor.Next() {
		return true
	}
	c.cursor.Reset(&tail.Snapshot{}, 0, 0, 1)
	c.generation.cursors.Put(c.cursor)
	c.cursor = nil
	return false
}

// drain returns a cursor over all samples, which uses c for the floats.
func (s *snapshot) drain(c *tail.Cursor) block.Cursor {
	if s.hasFloats {
		c.Reset(&s.floats, math.MinInt64, math.MaxInt64, maxSpan)
		if len(s.runs) == 0 && len(s.lanes) == 0 && len(s.late) == 0 && s.lateFloats.empty() {
			return c
		}
	}
	out := make([]block.Cursor, 0, 2)
	if s.hasFloats {
		out = append(out, s.inOrder(c))
	} else if len(s.runs) > 0 {
		out = append(out, &runCursor{runs: s.runs})
	}
	return block.Merge(s.addLate(out, math.MinInt64, math.MaxInt64))
}

// maxSpan is how many samples a span of floats has at most.
const maxSpan = block.MaxSamples

func (s *snapshot) inOrder(floats block.Cursor) block.Cursor {
	if len(s.runs) == 0 {
		return floats
	}
	return &chain{first: floats, then: &runCursor{runs: s.runs}}
}

func (s *snapshot) addLate(to []block.Cursor, mint, maxt int64) []block.Cursor {
	for i := range s.lanes {
		to = append(to, s.generation.floatCursor(&s.lanes[i], mint, maxt))
	}
	if s.lateFloats.empty() && len(s.late) == 0 {
		return to
	}
	return append(to, &lateCursor{from: s})
}

// chain is one cursor and then another, which is later.
type chain struct {
	first, then block.Cursor
	second      bool
}

func (c *chain) now() block.Cursor {
	if c.second {
		return c.then
	}
	return c.first
}

func (c *chain) Span() *block.Span { return c.now().Span() }
func (c *chain) Err() error        { return c.now().Err() }

func (c *chain) Next() bool {
	if !c.second {
		if c.first.Next() {
			return true
		}
		if c.first.Err() != nil {
			return false
		}
		c.second = true
	}
	return c.then.Next()
}

// runCursor hands out runs as spans without copying them.
type runCursor struct {
	runs []run
	pos  int
	span block.Span
}

func (c *runCursor) Span() *block.Span { return &c.span }
func (c *runCursor) Err() error        { return nil }

func (c *runCursor) Next() bool {
	if c.pos == len(c.runs) {
		return false
	}
	r := &c.runs[c.pos]
	c.pos++
	c.span = block.Span{
		Kind: r.kind, Count: len(r.times), Times: r.times, Floats: r.floats,
		Histograms: r.hists, FloatHistograms: r.fhists, StartTimes: r.starts,
	}
	return true
}

// lateCursor sorts late samples at its first use and keeps the newest of those
// at one time. Their counter reset hints are forgotten: the samples they were
// relative to are not known any more.
type lateCursor struct {
	from *snapshot
	late []sample
	pos  int
	span block.Span
}

func (c *lateCursor) Span() *block.Span { return &c.span }
func (c *lateCursor) Err() error        { return nil }

func (c *lateCursor) Next() bool {
	if c.late == nil {
		c.from.generation.mustBeHeld()
		c.late = newest(append(c.from.lateFloats.all(c.from.arena), c.from.late...))
	}
	if c.pos == len(c.late) {
		return false
	}
	from := c.pos
	kind := c.late[from].kind
	for c.pos < len(c.late) && c.late[c.pos].kind == kind {
		c.pos++
	}
	c.span = lateSpan(kind, c.late[from:c.pos])
	return true
}

// newest sorts samples and keeps one a time, the last to arrive.
func newest(out []sample) []sample {
	slices.SortStableFunc(out, func(a, b sample) int { return cmp.Compare(a.t, b.t) })
	n := 0
	for i := range out {
		if i+1 < len(out) && out[i+1].t == out[i].t {
			continue
		}
		out[n] = out[i]
		n++
	}
	return out[:n]
}

func lateSpan(kind block.Kind, late []sample) block.Span {
	s := block.Span{Kind: kind, Count: len(late), Times: make([]int64, len(late))}
	for i, l := range late {
		s.Times[i] = l.t
		if l.st != 0 && s.StartTimes == nil {
			s.StartTimes = make([]int64, len(late))
		}
		if l.st != 0 {
			s.StartTimes[i] = l.st
		}
		switch kind {
		case block.KindHistogram:
			s.Histograms = append(s.Histograms, unhinted(l.h))
		case block.KindFloatHistogram:
			s.FloatHistograms = append(s.FloatHistograms, unhintedFloat(l.fh))
		default:
			s.Floats = append(s.Floats, l.v)
		}
	}
	return s
}

func unhinted(h *histogram.Histogram) *histogram.Histogram {
	if h.CounterResetHint == histogram.GaugeType {
		return h
	}
	c := *h
	c.CounterResetHint = histogram.UnknownCounterReset
	return &c
}

func unhintedFloat(h *histogram.FloatHistogram) *histogram.FloatHistogram {
	if h.CounterResetHint == histogram.GaugeType {
		return h
	}
	c := *h
	c.CounterResetHint = histogram.UnknownCounterReset
	return &c
}
