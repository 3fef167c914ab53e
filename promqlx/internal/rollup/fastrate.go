package rollup

import (
	"math"

	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// all is the Floats form of rate, increase and delta. A window needs its first
// and last value and the values before its resets, which are looked for once.
func (k rateKind) all(in *Input, out *row.Row) {
	var r resetList
	if k.counter {
		r = in.resetSums()
		in.noteOverlaps()
	}
	x := extrapolator{in: in, kind: k, before: in.rangeAndOffset(), seconds: in.rangeSeconds()}
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		v := in.F[hi-1] - in.F[lo]
		if k.counter {
			v = r.add(in.F, lo, hi, v)
		}
		ts := in.Env.Grid.T(i)
		if k.counter && in.ST != nil && in.ST[lo] != 0 || hi-lo == 1 {
			var ok bool
			if v, ok = x.started(ts, lo, hi, v); !ok {
				continue
			}
		} else {
			v = x.stretch(ts, lo, hi, v)
		}
		out.SetF(i, v)
	}
}

// extrapolator stretches what was measured between samples to the window. Where
// samples and windows are evenly spaced windows lie in few ways, and what follows
// from how they lie is kept.
type extrapolator struct {
	in      *Input
	kind    rateKind
	before  int64 // from a window's start to its step
	seconds float64
	lies    [8]lie
}

// lie is how the samples of a window lie in it, n of them if that is not zero,
// and what follows.
type lie struct {
	toStart, sampled, toEnd int64 // milliseconds
	n                       int
	s                       span
	factor                  float64 // without a clamp at zero
}

// stretch extrapolates the increase v of a window of two or more samples.
func (x *extrapolator) stretch(ts int64, lo, hi int32, v float64) float64 {
	return x.between(ts, Ends{x.in.T[lo], x.in.T[hi-1], x.in.F[lo], int(hi - lo)}, v)
}

// between is stretch of what is known of the window's ends.
func (x *extrapolator) between(ts int64, e Ends, v float64) float64 {
	toStart, sampled, toEnd := e.FirstT-(ts-x.before), e.LastT-e.FirstT, ts-x.in.Offset-e.LastT
	l := &x.lies[uint64(toStart)*0x9e3779b97f4a7c15>>61]
	if toStart != l.toStart || sampled != l.sampled || toEnd != l.toEnd || e.N != l.n {
		*l = lie{toStart: toStart, sampled: sampled, toEnd: toEnd, n: e.N}
		l.s = spanOf(e.FirstT, e.LastT, e.N-1, ts-x.before, ts-x.in.Offset)
		l.s.clampStart(false, 0, 0)
		s := l.s
		l.factor = x.scale(s.factor())
	}
	f := e.First
	if !x.kind.counter || !(v > 0 && f >= 0) || f >= v && l.s.sampled >= l.s.toStart {
		return v * l.factor // the zero point is not in reach
	}
	if toZero := float64(l.s.sampled * (f / v)); toZero < l.s.toStart {
		s := l.s
		s.toStart = toZero
		return v * x.scale(s.factor())
	}
	return v * l.factor
}

func (x *extrapolator) scale(factor float64) float64 {
	if x.kind.perSecond {
		factor /= x.seconds
	}
	return factor
}

// started is stretch for a window whose first sample knows when it started, or
// that has no other; ok is false if there is nothing to tell.
func (x *extrapolator) started(ts int64, lo, hi int32, v float64) (_ float64, ok bool) {
	in := x.in
	s := spanOf(in.T[lo], in.T[hi-1], int(hi-lo)-1, ts-x.before, ts-in.Offset)
	switch {
	case x.kind.counter && in.ST != nil && s.startsInside(in.ST[lo:hi]):
		s.startAt(in.ST[lo])
		v += in.F[lo]
	case hi-lo == 1:
		return 0, false
	default:
		s.clampStart(x.kind.counter, in.F[lo], v)
	}
	return v * x.scale(s.factor()), true
}

// noteOverlaps notes each window that has start times that overlap; the
// annotation counts them.
func (in *Input) noteOverlaps() {
	if in.ST == nil {
		return
	}
	next, latest := int32(1), int32(0)
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		for ; next < hi; next++ {
			if overlaps(in.ST[next-1], in.T[next-1], in.ST[next]) {
				latest = next
			}
		}
		if latest > lo && latest < hi {
			in.note(annotations.NewStartTimeOverlapWarning(in.Name(), in.firstPos()))
		}
	}
}

// resetList is where a counter was reset: the numbers of the samples after. If
// the windows share few samples it is empty, and add looks for itself.
type resetList struct {
	at []int32
	// lost is the sum of the values before resets up to each sample, from first
	// on, if all values are whole and small enough that every sum of them is exact:
	// then it does not matter in which order they are added.
	lost  []float64
	first int32
	in    *Input
	self  bool
}

// resetSums is the resetList of unextended windows: sums if they are exact.
func (in *Input) resetSums() resetList {
	lo, hi, overlap := in.overlap()
	if overlap && in.ST == nil {
		if lost, ok := lostBefore(in.F[lo:hi], grow(&in.scratch().lost, hi-lo)); ok {
			return resetList{lost: lost, first: int32(lo)}
		}
	}
	return in.resetList()
}

func (in *Input) resetList() resetList {
	lo, hi, overlap := in.overlap()
	if !overlap {
		return resetList{in: in, self: true}
	}
	f := in.F[lo:hi]
	at := grow(&in.scratch().n0, hi-lo)
	n := 0
	prev, starts := math.Inf(-1), in.ST != nil
	for i, v := range f {
		if v < prev || starts && i > 0 && in.resetBefore(lo+i) {
			at[n] = int32(lo + i)
			n++
		}
		prev = v
	}
	return resetList{at: at[:n]}
}

// exactSum is half of what whole numbers may be for their sums to be exact.
const exactSum = 1 << 52

// lostBefore sums the values before resets, for each sample; ok is false if the
// sums may not be exact.
func lostBefore(f, lost []float64) (_ []float64, ok bool) {
	sum, prev, odd := 0.0, math.Inf(-1), uint64(0)
	for i, v := range f {
		var reset, fraction uint64
		if v < prev {
			reset = 1
		}
		if float64(int64(v)) != v {
			fraction = 1
		}
		odd |= fraction
		sum += math.Float64frombits(math.Float64bits(prev) & -reset)
		lost[i] = sum
		prev = v
		if odd != 0 {
			return nil, false
		}
	}
	return lost[:len(f)], math.Abs(sum) < exactSum
}

// plainResets adds to v the values before the resets in f.
func plainResets(f []float64, v float64) float64 {
	prev := f[0]
	for _, cur := range f {
		if cur < prev {
			v += prev
		}
		prev = cur
	}
	return v
}

// resetBefore tells whether there was a reset between float i-1 and i.
func (in *Input) resetBefore(i int) bool {
	return in.F[i] < in.F[i-1] || in.ST != nil && isReset(in.ST[i-1], in.T[i-1], in.ST[i], in.T[i])
}

// add adds to v the values before the resets inside of a window, which may not
// start before the window of the call before.
func (r *resetList) add(f []float64, lo, hi int32, v float64) float64 {
	if r.self {
		return r.find(f[lo:hi], int(lo), v)
	}
	if r.lost != nil {
		if math.Abs(v) >= exactSum || v == 0 && math.Signbit(v) { // -0 + 0 is 0
			return plainResets(f[lo:hi], v)
		}
		return v + (r.lost[hi-1-r.first] - r.lost[lo-r.first])
	}
	for len(r.at) > 0 && r.at[0] <= lo {
		r.at = r.at[1:]
	}
	for _, i := range r.at {
		if i >= hi {
			break
		}
		v += f[i-1]
	}
	return v
}

func (r *resetList) find(f []float64, lo int, v float64) float64 {
	if r.in.ST == nil {
		return plainResets(f, v)
	}
	for i := 1; i < len(f); i++ {
		if r.in.resetBefore(lo + i) {
			v += f[i-1]
		}
	}
	return v
}
