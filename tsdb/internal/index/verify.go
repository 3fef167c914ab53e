package index

import (
	"fmt"
	"runtime/debug"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// Verify checks all of the segment: every page, what a look-up relies on (I1 to
// I5), and what none does, that postings, presence and columns agree and that
// series are in label order. It takes a walk over every label of every series.
func (s *Segment) Verify() (err error) {
	defer s.caught(debug.SetPanicOnFault(true), &err)
	s.EachDamage(func(damage error) {
		if err == nil {
			err = damage
		}
	})
	if err != nil {
		return fmt.Errorf("verify index: %w", err)
	}
	for _, l := range s.list {
		if err := l.checkAll(); err != nil {
			return s.wrong("label %q: %w", l.name, err)
		}
	}
	if err := s.checkColumns(); err != nil {
		return s.wrong("%w", err)
	}
	for _, d := range s.days {
		if _, err := bitmap.Open(s.postings.b, d.off, d.count, s.n); err != nil {
			return s.wrong("activity of day %d: %w", d.day, err)
		}
	}
	for _, l := range s.list {
		if err := l.verify(); err != nil {
			return s.wrong("label %q: %w", l.name, err)
		}
	}
	m := s.Materializer()
	for id := uint32(1); id < s.n; id++ {
		lset, err := m.Labels(id)
		if err != nil {
			return err
		}
		if s.Compare(id-1, lset) >= 0 {
			return s.wrong("series %d is out of order", id)
		}
	}
	return nil
}

func (s *Segment) wrong(format string, args ...any) error {
	return fmt.Errorf("verify index: %w", s.located(corrupt(0, format, args...)))
}

// EachDamage calls report with every page that is not as it was written. It
// reads all of the segment, inside a Guard.
func (s *Segment) EachDamage(report func(error)) {
	if s.pages == nil {
		return // Open has read all
	}
	for i := range uint64(len(s.pages.sums) / 4) {
		if err := s.pages.check(i); err != nil {
			report(err)
		}
	}
}

// checkAll checks I1 and I2 of a label.
func (l *segmentLabel) checkAll() error {
	total, err := l.check()
	if err != nil {
		return err
	}
	if total != l.count {
		return fmt.Errorf("%d series in all, %d of its values", l.count, total)
	}
	if l.count < l.s.n {
		_, err = bitmap.Open(l.s.postings.b, l.off, int(l.count), l.s.n)
	}
	return err
}

// checkColumns checks I3: every row has ordinals that exist.
func (s *Segment) checkColumns() error {
	var ids, ordinals [1024]uint32
	for g := range s.rowGroups() {
		begin, first := s.rowGroup(g)
		end, last := s.rowGroup(g + 1)
		for i := first; i < last; i++ {
			p := s.column(i)
			values := s.list[p.label].n
			for at := begin; at < end; {
				n := min(int(end-at), len(ids))
				for k := range n {
					ids[k] = at + uint32(k)
				}
				p.fill(ordinals[:n], ids[:n], begin)
				for _, o := range ordinals[:n] {
					if o > values || o == 0 && !p.nullable {
						return fmt.Errorf("column %d has value %d of %d", i, o, values)
					}
				}
				at += uint32(n)
			}
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
	present, found := l.present(), 0
	all := bitmap.All(l.s.n)
	it := all.Iterator()
	for n := it.Next(ids[:]); n > 0; n = it.Next(ids[:]) {
		l.fill(ordinals[:n], ids[:n])
		for i, o := range ordinals[:n] {
			if (o != 0) != present.Contains(ids[i]) {
				return fmt.Errorf("series %d has value %d, which its presence denies", ids[i], o)
			}
			if o != 0 {
				found++
			}
		}
	}
	if total != found {
		return fmt.Errorf("got %d series in postings, %d in columns", total, found)
	}
	return nil
}
