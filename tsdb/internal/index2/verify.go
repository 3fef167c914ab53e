package index2

import (
	"fmt"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// Verify checks what Open does not, because no accessor relies on it for its
// safety: that postings, presence and columns agree, and that series are in
// label order. It takes a walk over every label of every series.
func (s *Segment) Verify() error {
	for _, l := range s.list {
		if err := l.verify(); err != nil {
			return fmt.Errorf("verify index: label %q: %w", l.name, err)
		}
	}
	m := s.Materializer()
	for id := uint32(1); id < s.n; id++ {
		lset, err := m.Labels(id)
		if err != nil {
			return err
		}
		if s.Compare(id-1, lset) >= 0 {
			return fmt.Errorf("verify index: series %d is out of order", id)
		}
	}
	return nil
}

// verify counts, for the column says which value a series has: no series is in
// the postings of two values if they are as many as those with a value.
func (l *segmentLabel) verify() error {
	var ids, ordinals [1024]uint32
	total := 0
	for o := uint32(1); o <= l.n; o++ {
		it := l.postings(o).Iterator()
		for n := it.Next(ids[:]); n > 0; n = it.Next(ids[:]) {
			l.fill(ordinals[:n], ids[:n])
			for i, got := range ordinals[:n] {
				if got != o {
					return fmt.Errorf("series %d has value %d in its column, %d in postings", ids[i], got, o)
				}
			}
			total += n
		}
	}
	present := 0
	all := bitmap.All(l.s.n)
	it := all.Iterator()
	for n := it.Next(ids[:]); n > 0; n = it.Next(ids[:]) {
		l.fill(ordinals[:n], ids[:n])
		for i, o := range ordinals[:n] {
			if (o != 0) != l.presence.Contains(ids[i]) {
				return fmt.Errorf("series %d has value %d, which its presence denies", ids[i], o)
			}
			if o != 0 {
				present++
			}
		}
	}
	if total != present {
		return fmt.Errorf("got %d series in postings, %d in columns", total, present)
	}
	return nil
}
