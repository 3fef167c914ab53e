package tsdb

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/part"
)

// partSeries is what a Select found in one part, by ordinal: which is label order.
type partSeries struct {
	part   *partView
	ords   []uint32
	makers sync.Pool // of *index.Maker
	err    atomic.Pointer[error]
}

// keep drops the series without samples inside the range.
func (s *partSeries) keep(mint, maxt int64) {
	s.ords = s.part.showing(s.ords, mint, maxt)
}

func (s *partSeries) count() int { return len(s.ords) }

func (s *partSeries) shows(k int, mint, maxt int64) bool { return s.part.shows(s.ords[k], mint, maxt) }

func (s *partSeries) bounds(int) (mint, maxt int64) { return s.part.info.MinT, s.part.info.MaxT }

func (s *partSeries) cursors(k int, mint, maxt int64, lazy bool) []block.Cursor {
	return []block.Cursor{block.Hide(s.cursor(k, mint, maxt, lazy), s.part.hidden[s.ords[k]])}
}

// cursor is that before deletes.
func (s *partSeries) cursor(k int, mint, maxt int64, lazy bool) block.Cursor {
	p, ord := s.part.part, s.ords[k]
	switch {
	case s.part.strict && lazy:
		return p.Spans(ord, mint, maxt)
	case s.part.strict:
		return p.Cursor(ord, mint, maxt)
	case lazy:
		return p.SpansOfRest(ord, mint, maxt)
	}
	return p.CursorOfRest(ord, mint, maxt)
}

func (s *partSeries) appendFloats(k int, mint, maxt int64, into *block.Floats) (ok bool, err error) {
	from := len(into.T)
	ok, err = s.part.part.AppendFloats(s.ords[k], mint, maxt, !s.part.strict, into)
	if s.part.hidden != nil && ok && err == nil {
		into.HideIn(from, s.part.hidden[s.ords[k]])
	}
	return ok, err
}

func (s *partSeries) lastFloat(k int, mint, maxt int64) (last block.Sample, found, plain bool, err error) {
	if s.part.hidden != nil && len(s.part.hidden[s.ords[k]]) > 0 {
		return last, false, false, nil
	}
	return s.part.part.LastFloat(s.ords[k], mint, maxt, !s.part.strict)
}

func (s *partSeries) damage(k int, mint, maxt int64) []part.Damage {
	return s.part.part.Damage(s.ords[k], mint, maxt)
}

// failure returns the first damage that was met.
func (s *partSeries) failure() error {
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

func (s *partSeries) fail(err error) { s.err.CompareAndSwap(nil, &err) }

func (s *partSeries) labels(i int) labels.Labels {
	maker, ok := s.makers.Get().(*index.Maker)
	if !ok {
		index, err := s.part.part.Index()
		if err != nil {
			s.fail(err)
			return labels.EmptyLabels()
		}
		maker = index.Maker(s.ords, nil)
	}
	lset, err := maker.Labels(i)
	if err != nil {
		s.fail(err)
		return labels.EmptyLabels()
	}
	s.makers.Put(maker)
	return lset
}

func (s *partSeries) labelNames() (out []string, err error) {
	index, err := s.part.part.Index()
	if err != nil {
		return nil, err
	}
	err = index.Guard(func() error {
		out = index.LabelNamesOf(s.ords)
		return nil
	})
	return out, err
}

func (s *partSeries) column(name string, dst []uint32, use func(value func(uint32) string)) error {
	index, err := s.part.part.Index()
	if err != nil {
		return err
	}
	if err = index.FillColumn(name, dst, s.ords, use); err != nil {
		s.fail(err)
	}
	return err
}
