package head

import (
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/tail"
)

// AppendFloats appends to into what Cursors yields inside [mint, maxt], each as a
// run; ok is false, and nothing appended, where histograms are held too.
func (h *Held) AppendFloats(mint, maxt int64, into *block.Floats) (ok bool) {
	s := &h.snapshot
	if len(s.runs) > 0 || len(s.late) > 0 {
		return false
	}
	if s.hasFloats {
		s.appendTail(&s.floats, mint, maxt, into)
	}
	for i := range s.lanes {
		s.appendTail(&s.lanes[i], mint, maxt, into)
	}
	if !s.lateFloats.empty() {
		into.Begin()
		for c := block.Clip(&lateCursor{from: s}, mint, maxt); c.Next(); {
			into.AppendSpan(c.Span())
		}
	}
	return true
}

func (s *snapshot) appendTail(floats *tail.Snapshot, mint, maxt int64, into *block.Floats) {
	if floats.MinT() > maxt || floats.MaxT() < mint {
		return
	}
	s.generation.mustBeHeld()
	into.Begin()
	c := s.generation.cursor()
	c.Reset(floats, mint, maxt, maxSpan)
	for c.Next() {
		into.AppendSpan(c.Span())
	}
	c.Reset(&tail.Snapshot{}, 0, 0, 1)
	s.generation.cursors.Put(c)
}

// LastFloat returns the last sample that AppendFloats would append, found being
// false if there is none. ok is false where there are histograms or late samples
// in a list.
func (h *Held) LastFloat(mint, maxt int64) (last block.Sample, found, ok bool) {
	s := &h.snapshot
	if len(s.runs) > 0 || len(s.late) > 0 || !s.lateFloats.empty() {
		return last, false, false
	}
	if s.hasFloats {
		last, found = s.lastOf(&s.floats, mint, maxt)
	}
	for i := range s.lanes {
		if x, there := s.lastOf(&s.lanes[i], mint, maxt); there && (!found || x.T >= last.T) {
			last, found = x, true
		}
	}
	return last, found, true
}

func (s *snapshot) lastOf(floats *tail.Snapshot, mint, maxt int64) (last block.Sample, found bool) {
	if floats.MinT() > maxt || floats.MaxT() < mint {
		return last, false
	}
	if floats.MaxT() <= maxt {
		if last, ok := floats.Last(); ok {
			return last, true
		}
	}
	s.generation.mustBeHeld()
	c := s.generation.cursor()
	last, found = c.Last(floats, maxt)
	c.Reset(&tail.Snapshot{}, 0, 0, 1)
	s.generation.cursors.Put(c)
	return last, found && last.T >= mint
}
