package rollup

import (
	"sort"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// extended is an anchored or smoothed window of floats: its samples reach back
// before its start, and beyond its end if it is smoothed.
type extended struct {
	t, st             []int64
	f                 []float64
	smoothed, counter bool
	start, end        int64 // of the window as written
	lookbackStart     int64

	// Where resets were looked for before: the list, the whole series, and where
	// the window starts in it.
	list *resetList
	all  []float64
	lo   int32
}

// edge is a value at a bound of the window and its start time.
type edge struct {
	v  float64
	st int64
}

// extendedFloats is as extendedRate of Prometheus' promql/functions.go.
func (k rateKind) extendedFloats(w *Window) (float64, *histogram.FloatHistogram, bool) {
	x := extended{t: w.T, st: w.ST, f: w.F, smoothed: w.Smoothed, counter: k.counter, start: w.rangeStart(), end: w.rangeEnd()}
	x.lookbackStart = x.start - w.Env.Lookback
	v, ok := x.grown(bounds(w.T, x.start, x.end, w.Smoothed))
	if k.perSecond {
		v /= w.rangeSeconds()
	}
	return v, nil, ok
}

// extended is the Floats form of anchored and smoothed windows.
func (k rateKind) extended(in *Input, out *row.Row) {
	x := extended{smoothed: in.Smoothed, counter: k.counter, all: in.F}
	if k.counter {
		list := in.resetList()
		x.list = &list
	}
	before, seconds := in.rangeAndOffset(), in.rangeSeconds()
	after, until := int32(0), int32(0) // the first floats after start, and from end
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		ts := in.Env.Grid.T(i)
		x.start, x.end = ts-before, ts-in.Offset
		x.lookbackStart = x.start - in.Env.Lookback
		x.t, x.f, x.lo = in.T[lo:hi], in.F[lo:hi], lo
		if in.ST != nil {
			x.st = in.ST[lo:hi]
		}
		for after = max(after, lo); after < hi-1 && in.T[after] <= x.start; after++ {
		}
		first, last := max(0, after-lo-1), hi-lo-1
		if in.Smoothed {
			for until = max(until, lo); until < hi-1 && in.T[until] < x.end; until++ {
			}
			last = until - lo
		}
		if v, ok := x.grown(int(first), int(last)); ok {
			if k.perSecond {
				v /= seconds
			}
			out.SetF(i, v)
		}
	}
}

// grown is what the value grew by from start to end; first and last are as of
// bounds.
func (x *extended) grown(first, last int) (float64, bool) {
	if x.t[last] <= x.start {
		return 0, false
	}
	if t := x.t[first]; x.smoothed && t > x.end {
		st := stAt(x.st, first)
		if !x.counter || !isResetAfter(x.lookbackStart, st, t) || isResetAfter(x.end, st, t) {
			return 0, false
		}
	}
	left, right := x.left(first), x.right(last)
	v := right.v - left.v
	if x.counter {
		// The bounds know of the resets around them.
		if x.t[first] <= x.start {
			first++
		}
		if x.t[last] >= x.end {
			last--
		}
		v += x.resets(left, right, first, last+1)
	}
	return v, true
}

// bounds returns the sample at or before start, else the first there is; and
// the last one, or the first at or after end if the window is smoothed.
func bounds(t []int64, start, end int64, smoothed bool) (first, last int) {
	last = len(t) - 1
	first = max(0, sort.Search(last, func(i int) bool { return t[i] > start })-1)
	if smoothed {
		last = sort.Search(last, func(i int) bool { return t[i] >= end })
	}
	return first, last
}

// left is the value at the window's start, interpolated if it is smoothed
// (pickOrInterpolateLeft).
func (x *extended) left(first int) edge {
	p, st := point{x.t[first], x.f[first]}, stAt(x.st, first)
	known := st
	if known > x.start {
		known = 0
	}
	switch {
	case p.t == x.start:
		return edge{p.v, st}
	case p.t > x.start:
		return edge{x.beforeAll(p, st, x.start), known}
	}
	next, nextST := point{x.t[first+1], x.f[first+1]}, stAt(x.st, first+1)
	switch {
	case !x.counter:
	case isResetAfter(x.start, nextST, next.t):
		next = point{nextST, 0}
	case isReset(st, p.t, nextST, next.t):
		p = point{nextST, 0}
		known = nextST
	}
	if x.smoothed {
		return edge{interpolate(p, next, x.start, x.counter), known}
	}
	return edge{p.v, known}
}

// beforeAll is the value at the bound, before which there is no sample; p is the
// first one.
func (x *extended) beforeAll(p point, st, bound int64) float64 {
	switch {
	case !x.counter || !isResetAfter(x.lookbackStart, st, p.t):
		return p.v
	case isResetAfter(bound, st, p.t) || !x.smoothed:
		return 0
	}
	return interpolate(point{st, 0}, p, bound, x.counter)
}

// right is the value at the window's end (pickOrInterpolateRight).
func (x *extended) right(last int) edge {
	p, st := point{x.t[last], x.f[last]}, stAt(x.st, last)
	known := st
	if known > x.end {
		known = 0
	}
	switch {
	case p.t <= x.end:
		return edge{p.v, known}
	case last == 0:
		return edge{x.beforeAll(p, st, x.end), known}
	}
	prev, prevST := point{x.t[last-1], x.f[last-1]}, stAt(x.st, last-1)
	switch {
	case !x.counter:
	case isResetAfter(x.end, st, p.t):
		p = point{st, 0}
		known = prevST
	case isReset(prevST, prev.t, st, p.t):
		prev = point{st, 0}
	}
	if x.smoothed {
		return edge{interpolate(prev, p, x.end, x.counter), known}
	}
	return edge{prev.v, known}
}

// resets is what counter resets took away between the bounds; the samples
// between are those from lo up to hi (correctForCounterResets).
func (x *extended) resets(left, right edge, lo, hi int) float64 {
	lost, prev, prevT, prevST := 0.0, left.v, x.start, left.st
	if lo < hi {
		if x.f[lo] < prev || isReset(prevST, prevT, stAt(x.st, lo), x.t[lo]) {
			lost += prev
		}
		lost = x.between(lo, hi, lost)
		prev, prevT, prevST = x.f[hi-1], x.t[hi-1], stAt(x.st, hi-1)
	}
	if right.v < prev || isReset(prevST, prevT, right.st, x.end) {
		lost += prev
	}
	return lost
}

// between adds the values before the resets from sample lo up to hi to lost.
func (x *extended) between(lo, hi int, lost float64) float64 {
	if x.list != nil {
		return x.list.add(x.all, x.lo+int32(lo), x.lo+int32(hi), lost)
	}
	for i := lo + 1; i < hi; i++ {
		if x.f[i] < x.f[i-1] || isReset(stAt(x.st, i-1), x.t[i-1], stAt(x.st, i), x.t[i]) {
			lost += x.f[i-1]
		}
	}
	return lost
}

type point struct {
	t int64
	v float64
}

// interpolate is the value at the time t on the line between two points, the
// first of which is taken as zero if there is a counter reset between.
func interpolate(a, b point, t int64, counter bool) float64 {
	y := a.v
	if counter && b.v < y {
		y = 0
	}
	return y + float64(float64((b.v-y)*float64(t-a.t))/float64(b.t-a.t))
}

// Extend returns the samples of an anchored or smoothed range vector as they are
// shown: those within (start, end), and one at either bound, that of smoothed
// ones interpolated. The samples given reach back before start, and beyond end
// if it is smoothed, by the look-back. (extendFloats of Prometheus'
// promql/engine.go.)
func Extend(t []int64, f []float64, start, end int64, smoothed bool) ([]int64, []float64) {
	if len(t) == 0 {
		return nil, nil
	}
	first, last := bounds(t, start, end, smoothed)
	if t[last] <= start {
		return nil, nil
	}
	x := extended{t: t, f: f, smoothed: smoothed, start: start, end: end}
	left, right := x.left(first), x.right(last)
	if t[first] <= start {
		first++
	}
	if t[last] >= end {
		last--
	}
	hi := max(last+1, first)
	outT := append(make([]int64, 0, hi-first+2), start)
	outF := append(make([]float64, 0, hi-first+2), left.v)
	outT = append(append(outT, t[first:hi]...), end)
	outF = append(append(outF, f[first:hi]...), right.v)
	return outT, outF
}
