package exec

import (
	"errors"

	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// spanner is a series that can be walked block by block, with the blocks'
// statistics; see tsdb.View.Spans.
type spanner interface {
	spans(i int, mint, maxt int64) *tsdb.Cursor
}

func (s ownSeries) spans(i int, mint, maxt int64) *tsdb.Cursor { return s.view.Spans(i, mint, maxt) }

// What things cost, in samples that could be read meanwhile instead.
const (
	blockCost = 150 // to come to a block and ask for its statistics
	cutCost   = 300 // to cut a block where a window ends
	pieceCost = 5   // to add what a window has of a block
	// hopeless is how much more than half of the samples so far it may cost before a
	// series is given up.
	hopeless = 8192
	// mostPatience is how many series are left out, at most, before the next is tried.
	mostPatience = 63
)

// statist computes windows out of statistics of blocks, for one goroutine. Of
// blocks that a window cuts the mini-blocks at the cuts are decoded. A block
// whose statistics are not exact, or that has none, is read; a window whose sum
// cannot be put together of exact ones is read, see sums; a series with
// histograms, or of which little can be had so, is left to those who read it.
//
// What is computed is equal, as bits, to what reading yields. A damaged block
// that is not read is not found.
type statist struct {
	w    *windows
	from spanner
	ask  ask

	grid  row.Grid // ends of the windows
	acc   []tally  // by window
	first int      // of the windows that do not end before the block
	seen  int      // samples so far
	work  int      // what it cost, in samples
	read  int      // samples that were read, of all series
	known int      // that were not
	piece block
	drops []drop  // of the counter, in order of time
	prev  float64 // the last value so far
	rates *rollup.Rates
	input rollup.Input // of windows that are read
	rest  tsdb.Samples
	out   *row.Row

	pause, patience int // series to leave out, and how many next time
}

// tally is what is known of a window.
type tally struct {
	firstT, lastT int64
	first, last   float64 // values
	extreme       float64 // the least or the greatest
	sum, size     float64 // of the values, and a bound of that of their magnitudes
	inexact       bool    // the sum is not known
}

// drop is where a counter fell: the time of the sample after, and the value
// before.
type drop struct {
	t      int64
	before float64
}

// statistics returns what answers for windows without reading, or nil if there is
// no such thing.
func (w *windows) statistics(l *leaf) *statist {
	from, ok := l.series.(spanner)
	if !ok || !w.n.Stats || w.in.Anchored || w.in.Smoothed || w.fixed && w.scope.N > 1 ||
		w.q.StartTimes && takesStartTimes(w.n.Func) {
		return nil
	}
	s := &statist{w: w, from: from, grid: w.scope.Grid}
	if s.ask, ok = askOf(w.n.Func); !ok {
		return nil
	}
	s.grid.Start -= w.in.Offset
	s.piece.s = s
	s.rates = w.in.Rates(w.n.Func)
	return s
}

// row computes the row of series i; ok is false if it is to be read.
func (s *statist) row(i int, out *row.Row) (ok bool, err error) {
	if s.work = 0; s.pause > 0 {
		s.pause--
		return false, nil
	}
	read := s.read
	ok, err = s.walk(i)
	if err == nil && ok {
		s.settle()
		ok = s.worthwhile()
	}
	if err != nil || !ok {
		if s.w.q.eager {
			return false, err
		}
		s.patience = min(2*s.patience+1, mostPatience)
		s.pause = s.patience
		return false, err
	}
	s.patience = 0
	s.w.at = i
	s.w.scope.windows(&s.w.in)
	if err := s.values(i, out); err != nil {
		return false, err
	}
	s.known += max(0, s.seen-(s.read-read))
	if s.w.noted.on && out.Has.Any() {
		s.w.noted.note(s.w.leaf, i)
	}
	return true, nil
}

// walk goes through the blocks of a series.
func (s *statist) walk(i int) (ok bool, err error) {
	l := s.w.leaf
	c := s.from.spans(i, l.mint, l.maxt)
	begun := false
	for ; c.Next(); begun = true {
		span := c.Span()
		if span.Kind != tsdb.KindFloat {
			return false, nil
		}
		if !begun && !s.promises(span) {
			return false, nil
		}
		if !begun {
			s.begin()
		}
		err := s.add(i, c, span)
		if errors.Is(err, errFewer) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if s.work > s.seen/2+hopeless && !s.w.q.eager {
			return false, nil
		}
	}
	return begun, c.Err()
}

// begin forgets the series before.
func (s *statist) begin() {
	in, n := &s.w.in, s.grid.N
	in.Lo, in.Hi, in.HLo, in.HHi = resized(in.Lo, n), resized(in.Hi, n), nil, nil
	for k := range n {
		in.Lo[k], in.Hi[k] = -1, -1
	}
	s.acc = resized(s.acc, n)
	clear(s.acc)
	s.first, s.seen, s.drops = 0, 0, s.drops[:0]
}

// promises tells, from the first block of a series, whether statistics are likely
// to cost less than reading: half, at most.
func (s *statist) promises(span *tsdb.Span) bool {
	if s.w.q.eager {
		return true
	}
	if span.Loaded() || span.Count < 2 {
		return false
	}
	if s.ask == askSum {
		if _, exact := span.Stat(tsdb.StatSum, 0, span.Count); !exact && !span.MayBeStale(0, span.Count) {
			return false
		}
	}
	perMilli := float64(span.Count-1) / float64(span.MaxT()-span.MinT())
	reach, window := float64(s.w.leaf.maxt-s.w.leaf.mint), float64(s.w.n.Range)
	samples := reach * perMilli
	inBlock := float64(max(span.Count, 1024))
	blocks := min(reach, window*float64(s.grid.N)) * perMilli / inBlock
	pieces := float64(s.grid.N) * (1 + window*perMilli/inBlock)
	cuts := 2 * float64(s.grid.N)
	if s.grid.Step == s.w.n.Range {
		cuts = float64(s.grid.N + 1)
	}
	if blockCost*blocks+cutCost*cuts+pieceCost*pieces < samples/2 {
		return true
	}
	s.patience = mostPatience // its siblings are sampled as it is
	return false
}

// worthwhile tells whether statistics did cost less, and left few windows over.
func (s *statist) worthwhile() bool {
	if s.w.q.eager {
		return true
	}
	some, inexact := 0, 0
	for k := range s.acc {
		if s.w.in.Hi[k] > s.w.in.Lo[k] {
			some++
			if s.acc[k].inexact {
				inexact++
			}
		}
	}
	return 2*inexact <= some && s.work <= s.seen
}

// settle gives windows without samples their place.
func (s *statist) settle() {
	in := &s.w.in
	last := int32(0)
	for k := range in.Hi {
		if in.Hi[k] < 0 {
			in.Lo[k], in.Hi[k] = last, last
		}
		last = in.Hi[k]
	}
}

// load reads samples of a series and counts them. Who calls it calls free.
func (s *statist) load(i int, mint, maxt int64, into *tsdb.Samples) (free func(), err error) {
	into.Reset()
	if err := s.w.leaf.series.read(i, mint, maxt, into); err != nil {
		return nil, err
	}
	n := int64(len(into.T) + len(into.HT))
	s.work += int(n)
	s.read += int(n)
	if err := s.w.q.Meter.Samples(n); err != nil {
		return nil, err
	}
	return func() { _ = s.w.q.Meter.Samples(-n) }, nil // giving back cannot fail
}

// end is the end of window k, start the time that it begins after.
func (s *statist) end(k int) int64   { return s.grid.T(k) }
func (s *statist) start(k int) int64 { return s.grid.T(k) - s.w.n.Range }

// values computes what the windows come to.
func (s *statist) values(i int, out *row.Row) error {
	in := &s.w.in
	drops := s.drops
	for k := range s.acc {
		t, n := &s.acc[k], int(in.Hi[k]-in.Lo[k])
		if n == 0 {
			continue
		}
		if t.inexact {
			end := k + 1
			for end < len(s.acc) && s.acc[end].inexact {
				end++
			}
			if err := s.instead(i, k, end, out); err != nil {
				return err
			}
			for j := k; j < end; j++ {
				s.acc[j].inexact = false
				in.Lo[j], in.Hi[j] = 0, 0 // done
			}
			continue
		}
		if s.ask != askRate && s.ask != askEnds {
			out.SetF(k, s.value(t, n))
			continue
		}
		v := t.last - t.first
		for len(drops) > 0 && drops[0].t <= t.firstT {
			drops = drops[1:]
		}
		for _, d := range drops {
			if d.t > t.lastT {
				break
			}
			v += d.before
		}
		if v, ok := s.rates.Value(k, rollup.Ends{FirstT: t.firstT, LastT: t.lastT, First: t.first, N: n}, v); ok {
			out.SetF(k, v)
		}
	}
	return nil
}

// value is that of a window with n samples, of all but rates.
func (s *statist) value(t *tally, n int) float64 {
	switch s.ask {
	case askSum:
		if s.w.n.Func == "avg_over_time" {
			return t.sum / float64(n)
		}
		return t.sum
	case askLeast, askGreatest:
		return t.extreme
	case askFirst:
		return t.first
	case askLast:
		return t.last
	}
	switch s.w.n.Func {
	case "count_over_time":
		return float64(n)
	case "ts_of_first_over_time":
		return float64(t.firstT) / 1000
	case "ts_of_last_over_time":
		return float64(t.lastT) / 1000
	}
	return 1
}

// instead computes the windows [a, b) by reading them.
func (s *statist) instead(i, a, b int, out *row.Row) error {
	free, err := s.load(i, s.start(a)+1, s.end(b-1), &s.rest)
	if err != nil {
		return err
	}
	defer free()
	env := *s.w.in.Env
	env.Annos = nil
	env.Grid.Start, env.Grid.N = env.Grid.T(a), b-a
	lo, hi := s.input.Lo, s.input.Hi
	s.input = s.w.in
	s.input.Env, s.input.Lo, s.input.Hi = &env, lo, hi
	s.input.T, s.input.F, s.input.ST = s.rest.T, s.rest.F, nil
	s.input.HT, s.input.H, s.input.HST = nil, nil, nil
	s.input.Slide(false)
	if s.out == nil {
		s.out = row.New(s.grid.N)
	}
	s.out.Reset()
	if err := s.w.fn.Run(&s.input, s.out); err != nil {
		return err
	}
	s.w.in.Env.Annos.Merge(env.Annos)
	for k := range b - a {
		if s.out.Has.Get(k) {
			out.SetF(a+k, s.out.F[k])
		}
	}
	return nil
}

func resized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
