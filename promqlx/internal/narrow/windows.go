package narrow

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// Op is a function over windows.
type Op int

// The functions. There is none that looks at samples before a window.
const (
	None Op = iota
	Sum
	Avg
	Min
	Max
	Count
	First
	Last
)

// maxExact is the greatest number up to which all whole ones are floats.
const maxExact = 1 << 53

// Can tells whether a function yields over these samples what it yields over floats in
// the order of time, as bits. Sums do if they are of whole numbers and so small that
// no order of additions rounds.
func (op Op) Can(of []tsdb.Narrow) bool {
	switch op {
	case None:
		return false
	case Sum, Avg:
	default:
		return true
	}
	var n, most float64
	for i := range of {
		p := &of[i]
		if p.Scale != 0 {
			return false
		}
		n += float64(p.Count)
		most = max(most, math.Abs(float64(p.Low))+float64(uint64(1)<<(8*p.Width)))
	}
	return n*most < maxExact
}

// Scratch is what Append works at with, for one goroutine. The zero value is ready.
type Scratch struct {
	// Over is told how many samples were looked at, now and then, and tells whether to
	// stop; what Append returns then is of no use. nil goes on.
	Over func(samples int) bool

	counts []int
}

// overLen is how many samples are looked at between two questions: some ten
// microseconds.
const overLen = 1 << 16

// Append appends what a function yields over the windows (t-width, t] for each step t
// of a grid, NaN where there is no sample in them. The samples are in the order of
// time, and Can says yes.
func (op Op) Append(dst []float64, g row.Grid, width int64, of []tsdb.Narrow, s *Scratch) []float64 {
	from := len(dst)
	for range g.N {
		dst = append(dst, math.NaN())
	}
	out := dst[from:]
	if op == Avg {
		if cap(s.counts) < g.N {
			s.counts = make([]int, g.N)
		}
		s.counts = s.counts[:g.N]
		clear(s.counts)
	}
	for i := range of {
		w := windowsOf(&of[i], g, width)
		op.fold(out, &w, s)
	}
	if op == Avg {
		for n, count := range s.counts {
			if count > 0 {
				out[n] /= float64(count)
			}
		}
	}
	return dst
}

// fold takes the samples of one piece into the windows that they are in.
func (op Op) fold(out []float64, w *windows, s *Scratch) {
	p, work := w.of, 0
	short := (op == Min || op == Max) && p.Width == 1 && w.short()
	for w.first < w.end {
		if short {
			if k := w.inner(); k > 0 {
				op.foldShort(out[w.first:w.first+k], w)
				w.skip(k)
				continue
			}
		}
		n := w.first
		i, j := w.next()
		if i == j {
			continue
		}
		if work += j - i; work > overLen {
			if s.Over != nil && s.Over(work) {
				return
			}
			work = 0
		}
		was := out[n]
		none := math.IsNaN(was)
		var v float64
		switch op {
		case Sum, Avg:
			v = float64(sum(p, i, j))
			if !none {
				v += was
			}
			if op == Avg {
				s.counts[n] += j - i
			}
		case Count:
			v = float64(j - i)
			if !none {
				v += was
			}
		case Min:
			if v = p.Value(least(p, i, j)); !none {
				v = min(v, was)
			}
		case Max:
			if v = p.Value(greatest(p, i, j)); !none {
				v = max(v, was)
			}
		case First:
			if v = was; none {
				v = p.Value(p.Mantissa(i))
			}
		case Last:
			v = p.Value(p.Mantissa(j - 1))
		}
		out[n] = v
	}
}

// foldShort is fold for windows of a few bytes that no other piece has samples in.
func (op Op) foldShort(out []float64, w *windows) {
	p := w.of
	n, stride := int(w.hi-w.lo), int(w.stride)
	b := p.Bytes[p.First+int(w.lo):]
	for k := range out {
		window := b[k*stride:][:n]
		// Words, of which the processor picks one without a branch, in two turns, so that
		// not each waits for the one before.
		x, y := uint32(window[0]), uint32(window[n-1])
		if op == Max {
			for window = window[1:]; len(window) > 2; window = window[2:] {
				x, y = max(x, uint32(window[0])), max(y, uint32(window[1]))
			}
			if len(window) > 1 {
				x = max(x, uint32(window[0]))
			}
			x = max(x, y)
		} else {
			for window = window[1:]; len(window) > 2; window = window[2:] {
				x, y = min(x, uint32(window[0])), min(y, uint32(window[1]))
			}
			if len(window) > 1 {
				x = min(x, uint32(window[0]))
			}
			x = min(x, y)
		}
		out[k] = p.Value(p.Low + int64(x))
	}
}

// windows are those of a grid that may have samples of one piece.
type windows struct {
	of         *tsdb.Narrow
	first, end int   // steps: the next, and that behind the last
	t          int64 // time of the next
	step       int64
	width      int64
	// Positions among the samples of the ends of the next window, as far as they reach
	// beyond, and how far they move in a step; that is 0 if it is not always the same.
	lo, hi, stride int64
}

func windowsOf(p *tsdb.Narrow, g row.Grid, width int64) (w windows) {
	w = windows{of: p, step: g.Step, width: width, end: g.N}
	if p.Start > g.Start {
		w.first = int(min((p.Start-g.Start+g.Step-1)/g.Step, int64(g.N)))
	}
	if last := p.End() + width; last <= g.End() {
		w.end = 0
		if last > g.Start {
			w.end = int((last - g.Start + g.Step - 1) / g.Step)
		}
	}
	w.t = g.T(w.first)
	if g.Step%p.Step == 0 {
		w.stride = g.Step / p.Step
		w.lo, w.hi = w.upTo(w.t-width), w.upTo(w.t)
	}
	return w
}

// upTo returns how many samples there would be up to a time if they had no begin
// and no end, counted from the first.
func (w *windows) upTo(t int64) int64 {
	d := t - w.of.Start
	q := d / w.of.Step
	if d%w.of.Step < 0 {
		q--
	}
	return q + 1
}

// short tells whether all windows have as many samples, some and few.
func (w *windows) short() bool { return w.stride > 0 && w.hi > w.lo && w.hi-w.lo < tsdb.NarrowZone }

// inner returns how many windows from the next on begin and end between two samples of
// the piece, of windows that are short.
func (w *windows) inner() int {
	last := int64(w.of.Count) - 1
	if w.lo < 1 || w.hi > last {
		return 0
	}
	return int(min((last-w.hi)/w.stride+1, int64(w.end-w.first)))
}

// skip goes beyond k windows, which are short.
func (w *windows) skip(k int) {
	w.first += k
	w.lo, w.hi = w.lo+int64(k)*w.stride, w.hi+int64(k)*w.stride
}

// next returns which samples are in the next window: [i, j).
func (w *windows) next() (i, j int) {
	w.first++
	lo, hi := w.lo, w.hi
	if w.stride > 0 {
		w.lo, w.hi = lo+w.stride, hi+w.stride
	} else {
		lo, hi = w.upTo(w.t-w.width), w.upTo(w.t)
		w.t += w.step
	}
	n := int64(w.of.Count)
	return int(min(max(lo, 0), n)), int(min(max(hi, 0), n))
}
