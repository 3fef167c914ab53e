package head

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/tail"
)

// finder looks for samples of a generation that come again, as when a sender
// retries a request: those of a series ascend, so that one pass over what it has
// finds them all. Its owner's lock guards it.
type finder struct {
	number uint32 // of the record that cursor reads, as it was with count floats
	count  int    // 0: of none
	last   int64  // the time that was asked for last
	cursor tail.Cursor
	more   bool // cursor has a span
}

// foundAhead is how many samples are decoded at once: where a tail may begin to be
// read lies as far back.
const foundAhead = 256

// forget makes f look anew: records have changed.
func (f *finder) forget() { f.count = 0 }

// findFloat tells whether r, which has floats, has one at time t and, if so, its
// value and start.
func (s *holdings) findFloat(r *record, number uint32, t int64) (v float64, st int64, ok bool) {
	f := s.finder
	if f == nil {
		f = &finder{}
		s.finder = f
	}
	if f.number != number || f.count != r.floats.Count() || t < f.last {
		var snap tail.Snapshot
		r.floats.Snapshot(s.arena, &snap)
		f.cursor.Reset(&snap, t, math.MaxInt64, foundAhead)
		f.number, f.count, f.more = number, r.floats.Count(), f.cursor.Next()
	}
	f.last = t
	for f.more && f.cursor.Span().MaxT() < t {
		f.more = f.cursor.Next()
	}
	if !f.more {
		return 0, 0, false
	}
	b := f.cursor.Span()
	k := b.Search(t)
	if b.Time(k) != t {
		return 0, 0, false
	}
	return b.Float(k), b.StartTime(k), true
}
