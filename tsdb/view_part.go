package tsdb

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index"
)

// partSeries is what a Select found in one part, by ordinal: which is label
// order. If no other part and not the head has more, a View is made of it as it
// is, and labels are made when they are asked for.
type partSeries struct {
	part   *partView
	ords   []uint32
	makers sync.Pool // of *index.Materializer
	err    atomic.Pointer[error]
}

// keep drops the series without samples inside the range.
func (s *partSeries) keep(mint, maxt int64) {
	s.ords = slices.DeleteFunc(s.ords, func(ord uint32) bool { return !s.part.shows(ord, mint, maxt) })
}

// list returns the series with their labels, and which of them have samples
// inside the range.
func (s *partSeries) list(mint, maxt int64) ([]viewSeries, error) {
	index, err := s.part.part.Index()
	if err != nil {
		return nil, err
	}
	out, sources := make([]viewSeries, len(s.ords)), make([]source, len(s.ords))
	maker := index.Materializer()
	for i, ord := range s.ords {
		if out[i].lset, err = maker.Labels(ord); err != nil {
			return nil, err
		}
		sources[i] = partSource{part: s.part, ord: ord}
		out[i].sources = sources[i : i+1 : i+1]
		out[i].inRange = s.part.shows(ord, mint, maxt)
	}
	return out, nil
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
	maker, ok := s.makers.Get().(*index.Materializer)
	if !ok {
		index, err := s.part.part.Index()
		if err != nil {
			s.fail(err)
			return labels.EmptyLabels()
		}
		maker = index.Materializer()
	}
	lset, err := maker.Labels(s.ords[i])
	if err != nil {
		s.fail(err)
		return labels.EmptyLabels()
	}
	s.makers.Put(maker)
	return lset
}

// column numbers the values as they come: those of the index count all that the
// label ever had in the part.
func (s *partSeries) column(name string) Column {
	c := newColumn(len(s.ords))
	index, err := s.part.part.Index()
	if err == nil {
		err = index.Guard(func() error {
			from := index.Column(name)
			from.Fill(c.ordinals, s.ords)
			seen := map[uint32]uint32{0: 0}
			for i, value := range c.ordinals {
				ord, ok := seen[value]
				if !ok {
					ord = c.add(from.Value(value))
					seen[value] = ord
				}
				c.ordinals[i] = ord
			}
			return nil
		})
	}
	if err != nil {
		s.fail(err)
		return newColumn(len(s.ords))
	}
	return c
}
