package block

import "math"

// Clip limits a cursor to the samples inside [mint, maxt].
func Clip(c Cursor, mint, maxt int64) Cursor {
	return &clipped{cursor: c, mint: mint, maxt: maxt}
}

type clipped struct {
	cursor     Cursor
	mint, maxt int64
	span       Span
}

func (c *clipped) Span() *Span { return &c.span }
func (c *clipped) Err() error  { return c.cursor.Err() }

func (c *clipped) Next() bool {
	for c.cursor.Next() {
		s := c.cursor.Span()
		if s.MinT() > c.maxt {
			return false
		}
		c.span = s.Clip(c.mint, c.maxt)
		if c.span.Count > 0 {
			return true
		}
	}
	return false
}

// Hide leaves out the samples inside any of the intervals, in any order.
func Hide(c Cursor, intervals []Interval) Cursor {
	for _, iv := range intervals {
		c = &hidden{cursor: c, interval: iv}
	}
	return c
}

// hidden leaves out one interval: what is left of a span is a piece before it
// and a piece after it.
type hidden struct {
	cursor   Cursor
	interval Interval
	span     Span
	after    Span // pending piece behind the interval
	cut      bool // a sample was left out since the last one handed out
}

func (h *hidden) Span() *Span { return &h.span }
func (h *hidden) Err() error  { return h.cursor.Err() }

func (h *hidden) Next() bool {
	for {
		if h.after.Count > 0 {
			h.emit(h.after)
			h.after = Span{}
			return true
		}
		if !h.cursor.Next() {
			return false
		}
		s := h.cursor.Span()
		if s.MaxT() < h.interval.MinT || s.MinT() > h.interval.MaxT {
			h.emit(*s)
			return true
		}
		before := h.split(s)
		if before.Count > 0 {
			h.span = before
			return true
		}
	}
}

func (h *hidden) split(s *Span) (before Span) {
	i, j := s.Search(h.interval.MinT), s.Count
	if h.interval.MaxT < math.MaxInt64 {
		j = s.Search(h.interval.MaxT + 1)
	}
	h.cut = h.cut || j > i
	h.after = s.Slice(j, s.Count)
	return s.Slice(0, i)
}

func (h *hidden) emit(s Span) {
	h.span = s
	if h.cut {
		h.span.forgetHint()
		h.cut = false
	}
}
