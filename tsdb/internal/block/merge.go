package block

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
)

// Interval is a range of time, inclusive, in milliseconds.
type Interval struct{ MinT, MaxT int64 }

const (
	// minSlice is the length from which a run of samples of one cursor is
	// handed out as it is rather than copied.
	minSlice = 16
	// maxGather bounds a span that had to be put together sample by sample.
	maxGather = 1024
)

// Merge joins cursors of one series into one. Where two of them have a sample
// at the same time the one that stands later in cursors wins. Runs that no
// other cursor touches are handed out without copying.
func Merge(cursors []Cursor) Cursor {
	switch len(cursors) {
	case 0:
		return empty{}
	case 1:
		return cursors[0]
	}
	m := &merged{last: -1}
	for _, c := range cursors {
		m.heads = append(m.heads, mergeHead{cursor: c})
	}
	return m
}

type empty struct{}

func (empty) Next() bool  { return false }
func (empty) Span() *Span { return nil }
func (empty) Err() error  { return nil }

// mergeHead is where one cursor stands: rest is what is left of its span.
type mergeHead struct {
	cursor  Cursor
	rest    Span // Count 0: a new one is to be fetched
	started bool // a sample of it was passed
	done    bool
}

type merged struct {
	heads []mergeHead
	last  int // the head that the sample before came from, -1 at first
	span  Span
	own   gather
	err   error
}

func (m *merged) Span() *Span { return &m.span }
func (m *merged) Err() error  { return m.err }

func (m *merged) Next() bool {
	first, other := m.earliest()
	if m.err != nil || first < 0 {
		return false
	}
	h := &m.heads[first]
	n := h.rest.Count
	if other <= h.rest.MaxT() {
		n = h.rest.Search(other)
	}
	if n >= minSlice || n == h.rest.Count {
		m.span = h.rest.Slice(0, n)
		if m.stranger(first) {
			m.span.forgetHint()
		}
		m.pass(first, n)
		return true
	}
	return m.gather()
}

// earliest returns the head whose next sample wins and the time of the
// earliest next sample of any other head, which may be equal.
func (m *merged) earliest() (first int, other int64) {
	first, other = -1, math.MaxInt64
	best := int64(math.MaxInt64)
	for i := range m.heads {
		if !m.fill(&m.heads[i]) {
			if m.err != nil {
				return -1, 0
			}
			continue
		}
		t := m.heads[i].rest.MinT()
		if first < 0 || t <= best {
			if first >= 0 {
				other = best
			}
			first, best = i, t
		} else if t < other {
			other = t
		}
	}
	return first, other
}

func (m *merged) fill(h *mergeHead) bool {
	for h.rest.Count == 0 && !h.done {
		if !h.cursor.Next() {
			h.done = true
			m.err = h.cursor.Err()
			return false
		}
		h.rest = *h.cursor.Span()
	}
	return h.rest.Count > 0
}

// stranger tells whether the next sample of head i follows one of another
// cursor although it was written after one of its own, or before that one.
func (m *merged) stranger(i int) bool {
	return m.last != i && (m.heads[i].started || m.last > i)
}

func (m *merged) pass(i, n int) {
	h := &m.heads[i]
	h.rest = h.rest.Slice(n, h.rest.Count)
	h.started = true
	m.last = i
}

// gather copies samples of several heads one by one.
func (m *merged) gather() bool {
	m.own.reset()
	for m.own.len() < maxGather {
		first, _ := m.earliest()
		if m.err != nil {
			return false
		}
		if first < 0 {
			break
		}
		h := &m.heads[first]
		if m.own.len() > 0 && m.own.kind != h.rest.Kind {
			break
		}
		if m.err = h.rest.Load(); m.err != nil {
			return false
		}
		t := h.rest.MinT()
		m.own.add(&h.rest, m.stranger(first))
		m.dropLosers(first, t)
		m.pass(first, 1)
	}
	m.span = m.own.span()
	return true
}

// dropLosers skips the samples at t that the winner replaces.
func (m *merged) dropLosers(winner int, t int64) {
	for i := range m.heads {
		h := &m.heads[i]
		if i != winner && h.rest.Count > 0 && h.rest.MinT() == t {
			h.rest = h.rest.Slice(1, h.rest.Count)
			h.started = true
		}
	}
}

// gather is a span under construction with slices of its own.
type gather struct {
	kind   Kind
	times  []int64
	floats []float64
	hists  []*histogram.Histogram
	fhists []*histogram.FloatHistogram
	starts []int64
	start  bool // some sample has a start timestamp
}

func (g *gather) len() int { return len(g.times) }

func (g *gather) reset() {
	g.times, g.floats, g.starts = g.times[:0], g.floats[:0], g.starts[:0]
	g.hists, g.fhists, g.start = g.hists[:0], g.fhists[:0], false
}

func (g *gather) add(s *Span, forget bool) {
	g.kind = s.Kind
	g.times = append(g.times, s.Time(0))
	st := s.StartTime(0)
	g.starts = append(g.starts, st)
	g.start = g.start || st != 0
	switch s.Kind {
	case KindHistogram:
		h := s.Histograms[0]
		if forget {
			h = withoutHint(h)
		}
		g.hists = append(g.hists, h)
	case KindFloatHistogram:
		h := s.FloatHistograms[0]
		if forget {
			h = withoutFloatHint(h)
		}
		g.fhists = append(g.fhists, h)
	default:
		g.floats = append(g.floats, s.Float(0))
	}
}

func (g *gather) span() Span {
	s := Span{Kind: g.kind, Count: len(g.times), Times: g.times}
	if g.start {
		s.StartTimes = g.starts
	}
	switch g.kind {
	case KindHistogram:
		s.Histograms = g.hists
	case KindFloatHistogram:
		s.FloatHistograms = g.fhists
	default:
		s.Floats = g.floats
	}
	return s
}

// forgetHint makes the first sample's counter reset hint unknown, since the
// sample that it was relative to is not the one before it. The slices of s are
// replaced, not written.
func (s *Span) forgetHint() {
	switch s.Kind {
	case KindHistogram:
		if h := withoutHint(s.Histograms[0]); h != s.Histograms[0] {
			s.dropSource()
			s.Histograms = append([]*histogram.Histogram{h}, s.Histograms[1:]...)
		}
	case KindFloatHistogram:
		if h := withoutFloatHint(s.FloatHistograms[0]); h != s.FloatHistograms[0] {
			s.dropSource()
			s.FloatHistograms = append([]*histogram.FloatHistogram{h}, s.FloatHistograms[1:]...)
		}
	}
}

func relative(h histogram.CounterResetHint) bool {
	return h == histogram.CounterReset || h == histogram.NotCounterReset
}

func withoutHint(h *histogram.Histogram) *histogram.Histogram {
	if !relative(h.CounterResetHint) {
		return h
	}
	c := *h
	c.CounterResetHint = histogram.UnknownCounterReset
	return &c
}

func withoutFloatHint(h *histogram.FloatHistogram) *histogram.FloatHistogram {
	if !relative(h.CounterResetHint) {
		return h
	}
	c := *h
	c.CounterResetHint = histogram.UnknownCounterReset
	return &c
}
