package exec

import (
	"errors"
	"math"

	"github.com/varvedb/varve/tsdb"
)

// ask is what a function asks of the values of a window.
type ask uint8

const (
	askNothing ask = iota
	askFirst
	askLast
	askSum
	askLeast
	askGreatest
	askEnds // the first and the last
	askRate // and where a counter fell
)

func askOf(fn string) (a ask, ok bool) {
	switch fn {
	case "count_over_time", "present_over_time", "absent_over_time", "ts_of_first_over_time", "ts_of_last_over_time":
		return askNothing, true
	case "first_over_time":
		return askFirst, true
	case "last_over_time":
		return askLast, true
	case "sum_over_time", "avg_over_time":
		return askSum, true
	case "min_over_time":
		return askLeast, true
	case "max_over_time":
		return askGreatest, true
	case "delta":
		return askEnds, true
	case "rate", "increase":
		return askRate, true
	}
	return askNothing, false
}

// exactBelow bounds the integers of which sums are exact.
const exactBelow = 1 << 53

// block answers for the samples of one block: by its span's statistics, or by its
// samples if they were read. Damage ends all: err tells.
type block struct {
	s      *statist
	i      int // number of the series
	cursor *tsdb.Cursor
	span   *tsdb.Span
	n      int
	t0, t1 int64 // of the first and the last sample
	err    error

	// The samples, without staleness markers, once they were needed.
	read    bool
	samples tsdb.Samples

	whole    float64 // the sum, or the least or greatest
	known    bool    // whole is known
	greatest float64 // magnitude of a value; for sums

	// What is known of the samples before the one numbered cut.
	cut     int
	before  float64 // their sum, or the least or greatest of them
	edge    int     // 0, or the number of a sample:
	atEdge  float64 // its value,
	preEdge float64 // and that of the one before
	list    []int
	pair    tsdb.Span // kept for pick
}

// add adds what the windows have of a block of series i.
func (s *statist) add(i int, c *tsdb.Cursor, span *tsdb.Span) error {
	b := &s.piece
	b.open(i, c, span)
	for s.first < len(s.acc) && s.end(s.first) < b.t0 {
		s.first++
	}
	s.work += blockCost
	if b.n > 0 && s.ask == askRate {
		s.fall(b)
	}
	for k := s.first; k < len(s.acc) && s.start(k) < b.t1 && b.err == nil && b.n > 0; k++ {
		lo, hi := 0, b.n
		if start := s.start(k); start >= b.t0 {
			lo = b.search(start + 1)
		}
		if end := s.end(k); end < b.t1 {
			hi = b.search(end + 1)
		}
		if lo < hi {
			s.count(k, lo, hi, b)
			s.take(&s.acc[k], b, lo, hi, s.w.in.Lo[k] == int32(s.seen+lo))
		}
	}
	s.seen += b.n
	return b.err
}

// count says that window k has the samples [lo, hi) of a block.
func (s *statist) count(k, lo, hi int, b *block) {
	in, t := &s.w.in, &s.acc[k]
	if in.Lo[k] < 0 {
		in.Lo[k] = int32(s.seen + lo)
		t.firstT = b.time(lo)
	}
	in.Hi[k] = int32(s.seen + hi)
	t.lastT = b.time(hi - 1)
}

// take adds the samples [lo, hi) of a block to what is known of a window; first
// says that they are its first.
func (s *statist) take(t *tally, b *block, lo, hi int, first bool) {
	switch s.ask {
	case askFirst:
		if first {
			t.first = b.at(lo)
		}
	case askLast:
		t.last = b.at(hi - 1)
	case askEnds, askRate:
		if first {
			t.first = b.at(lo)
		}
		t.last = b.at(hi - 1)
	case askSum:
		if t.inexact {
			return
		}
		sum, size, exact := b.sum(lo, hi)
		t.sum += sum
		t.size += size
		t.inexact = !exact || t.size >= exactBelow
	case askLeast, askGreatest:
		if v := b.extreme(lo, hi); first || s.beats(v, t.extreme) {
			t.extreme = v
		}
	}
}

// beats tells whether a value takes the place of an earlier one, as in
// compareOverTime of Prometheus' promql/functions.go.
func (s *statist) beats(v, best float64) bool {
	return math.IsNaN(best) || s.ask == askGreatest && v > best || s.ask == askLeast && v < best
}

// fall notes where a counter falls within a block and in front of it.
func (s *statist) fall(b *block) {
	list, exact := b.list[:0], false
	if !b.read {
		if list, exact = b.span.Resets(list, 0, b.n); !exact {
			b.load()
		}
	}
	if b.err != nil || b.n == 0 {
		return
	}
	if first := b.at(0); s.seen > 0 && first < s.prev {
		s.drops = append(s.drops, drop{b.t0, s.prev})
	}
	if b.read {
		f := b.samples.F
		for k := 1; k < len(f); k++ {
			if f[k] < f[k-1] {
				s.drops = append(s.drops, drop{b.samples.T[k], f[k-1]})
			}
		}
	} else {
		for _, k := range list {
			before, known := b.beforeFall(list)
			if !known {
				before = b.at(k - 1)
			}
			s.drops = append(s.drops, drop{b.time(k), before})
		}
	}
	b.list = list
	s.prev = b.at(b.n - 1)
}

// beforeFall returns what a counter had come to when it fell, if that was the once
// within the block and the last value is less: then it is the greatest.
func (b *block) beforeFall(falls []int) (v float64, known bool) {
	if len(falls) != 1 {
		return 0, false
	}
	most, exact := b.span.Stat(tsdb.StatMax, 0, b.n)
	return most, exact && most > b.at(b.n-1)
}

// open turns to another block.
func (b *block) open(i int, c *tsdb.Cursor, span *tsdb.Span) {
	b.i, b.cursor, b.span, b.n, b.err = i, c, span, span.Count, nil
	b.t0, b.t1 = span.MinT(), span.MaxT()
	b.read, b.known, b.cut, b.edge = false, false, 0, 0
	if !span.Loaded() && !span.MayBeStale(0, b.n) {
		b.ask()
		return
	}
	b.readAll()
}

// ask looks up what cut pieces are made of.
func (b *block) ask() {
	switch b.s.ask {
	case askSum:
		if b.whole, b.known = b.span.Stat(tsdb.StatSum, 0, b.n); !b.known {
			return // its windows are read
		}
		least, ok := b.span.Stat(tsdb.StatMin, 0, b.n)
		most, ok2 := b.span.Stat(tsdb.StatMax, 0, b.n)
		b.known = ok && ok2
		b.greatest = max(-least, most)
	case askLeast, askGreatest:
		if b.whole, b.known = b.span.Stat(b.s.extremeOp(), 0, b.n); !b.known {
			b.load()
		}
	}
}

func (s *statist) extremeOp() tsdb.StatOp {
	if s.ask == askGreatest {
		return tsdb.StatMax
	}
	return tsdb.StatMin
}

// errFewer ends a walk: of a block that was begun with nothing was left when it was
// read, since someone else met damage in it meanwhile.
var errFewer = errors.New("samples were lost meanwhile")

// load reads the samples.
func (b *block) load() {
	n := b.n
	if b.readAll(); b.err == nil && b.n != n {
		b.err = errFewer
	}
}

// readAll is load of a block that may have staleness markers: they are left out.
func (b *block) readAll() {
	if b.read || b.err != nil {
		return
	}
	free, err := b.s.load(b.i, b.span.MinT(), b.span.MaxT(), &b.samples)
	if b.err = err; err != nil {
		return
	}
	free()
	b.read, b.n = true, len(b.samples.T)
	if b.n > 0 {
		b.t0, b.t1 = b.samples.T[0], b.samples.T[b.n-1]
	}
}

func (b *block) time(k int) int64 {
	if b.read {
		return b.samples.T[k]
	}
	return b.span.Time(k)
}

// search returns the first sample at or after t.
func (b *block) search(t int64) int {
	if !b.read {
		return b.span.Search(t)
	}
	lo, hi := 0, b.n
	for lo < hi {
		if mid := (lo + hi) / 2; b.samples.T[mid] < t {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// at returns the value of sample k.
func (b *block) at(k int) float64 {
	if b.read {
		return b.samples.F[k]
	}
	var op tsdb.StatOp
	switch {
	case b.edge > 0 && k == b.edge:
		return b.atEdge
	case b.edge > 0 && k == b.edge-1:
		return b.preEdge
	case k == 0:
		op = tsdb.StatFirst
	case k == b.n-1:
		op = tsdb.StatLast
	}
	if op != 0 {
		if v, exact := b.span.Stat(op, 0, b.n); exact {
			return v
		}
	}
	return b.pick(k)
}

// pick decodes the value of sample k, and that of the next one, which begins the
// next window where this one ends one.
func (b *block) pick(k int) float64 {
	b.s.work += cutCost
	next := min(k+1, b.n-1)
	b.pair = b.span.Slice(k, next+1)
	pair := &b.pair
	if err := b.cursor.Load(pair); err != nil {
		b.err = err
		return 0
	}
	if next > k {
		b.edge, b.preEdge, b.atEdge = next, pair.Float(0), pair.Float(1)
	}
	return pair.Float(0)
}

// sum returns the sum of the samples [i, j) and a bound of that of their
// magnitudes, if they are integers and that is below 2^53: then sums are the same
// in any order, and nothing is left over to compensate for.
func (b *block) sum(i, j int) (sum, size float64, exact bool) {
	if b.read {
		return sumOf(b.samples.F[i:j])
	}
	if !b.known {
		return 0, 0, false
	}
	before := b.sumBefore(i) // first: the window before ended there
	sum = b.sumBefore(j) - before
	return sum, float64(j-i) * b.greatest, b.err == nil && !b.read
}

// sumBefore returns the sum of the first k samples.
func (b *block) sumBefore(k int) (sum float64) {
	exact := true
	switch k {
	case 0:
		return 0
	case b.n:
		return b.whole
	case b.cut:
		return b.before
	case 1:
		sum = b.at(0)
	case b.n - 1:
		sum = b.whole - b.at(k)
	default:
		b.s.work += cutCost
		sum, exact = b.span.Stat(tsdb.StatSum, 0, k)
	}
	if !exact {
		b.load()
		return 0
	}
	b.cut, b.before = k, sum
	return sum
}

func sumOf(fs []float64) (sum, size float64, exact bool) {
	for _, f := range fs {
		if v := int64(f); math.Float64bits(float64(v)) != math.Float64bits(f) || v <= -exactBelow || v >= exactBelow {
			return 0, 0, false
		}
		sum += f
		if size += math.Abs(f); size >= exactBelow {
			return 0, 0, false
		}
	}
	return sum, size, true
}

// extreme returns the least or the greatest of the samples [i, j).
func (b *block) extreme(i, j int) float64 {
	if !b.read {
		if v, exact := b.extremeBetween(i, j); exact {
			return v
		}
		b.load()
	}
	if b.err != nil {
		return 0
	}
	best := b.samples.F[i]
	for _, f := range b.samples.F[i+1 : j] {
		if b.s.beats(f, best) {
			best = f
		}
	}
	return best
}

// extremeBetween is extreme by statistics. What the samples before a cut do not
// have of the whole, those behind have.
func (b *block) extremeBetween(i, j int) (v float64, exact bool) {
	switch {
	case i == 0 && j == b.n:
		return b.whole, true
	case i == 0 && j == b.cut:
		return b.before, true
	case j == b.n && i == b.cut && b.before != b.whole:
		return b.whole, true
	case j == i+1:
		return b.at(i), true
	case i == 1 && j == b.n && b.at(0) != b.whole:
		return b.whole, true
	}
	b.s.work += cutCost
	v, exact = b.span.Stat(b.s.extremeOp(), i, j)
	if i == 0 && exact {
		b.cut, b.before = j, v
	}
	return v, exact
}
