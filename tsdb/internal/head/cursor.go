package head

import (
	"cmp"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/tsdb/internal/block"
)

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
	late   []lateSample
	sorted bool
	pos    int
	span   block.Span
}

func (c *lateCursor) Span() *block.Span { return &c.span }
func (c *lateCursor) Err() error        { return nil }

func (c *lateCursor) Next() bool {
	if !c.sorted {
		c.late = newest(c.late)
		c.sorted = true
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

// newest returns a sorted copy with one sample a time, the last to arrive.
func newest(late []lateSample) []lateSample {
	out := slices.Clone(late)
	slices.SortStableFunc(out, func(a, b lateSample) int { return cmp.Compare(a.t, b.t) })
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

func lateSpan(kind block.Kind, late []lateSample) block.Span {
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
