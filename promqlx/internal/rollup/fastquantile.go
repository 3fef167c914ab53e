package rollup

import (
	"math"
	"math/bits"
	"slices"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Values that are neither NaN nor -0 have one sorted order, whatever algorithm
// finds it. Others are sorted as Prometheus does.

// plainOrder tells whether equal values have equal bits and all are numbers.
func plainOrder(fs []float64) bool {
	odd := false
	for _, f := range fs {
		odd = odd || math.Float64bits(f) == 1<<63 || f != f
	}
	return !odd
}

// floatsQuantile is the Floats form of quantile_over_time.
func floatsQuantile(in *Input, out *row.Row) {
	lo, hi, held := in.covered()
	if hi <= lo || held == 0 {
		return
	}
	plain := plainOrder(in.F[lo:hi])
	sorted := sortedWindow{f: in.F, keep: keepSorted(hi-lo, held, len(in.Lo)), buf: in.scratch()}
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		q := in.Args[0][i]
		in.checkQuantile(q)
		if v, ok := noQuantile(q); ok {
			out.SetF(i, v)
			continue
		}
		if !plain {
			out.SetF(i, quantileOf(q, in.scratch().copy(in.F[lo:hi])))
			continue
		}
		lower, upper, weight := rankOf(q, int(hi-lo))
		if weight == 0 {
			upper = lower
		}
		a, b := sorted.pick(int(lo), int(hi), lower, upper)
		out.SetF(i, between(a, b, weight))
	}
}

// keepSorted tells whether to keep a window sorted from step to step, at the
// cost of moving much of it for each value that comes or goes, rather than to
// look for a place in each afresh.
func keepSorted(covered, held, windows int) bool {
	length := held / windows
	moved := 2 * covered / windows
	return moved*(24+length/16) < 3*length
}

// sortedWindow finds values by their place in the order of a window.
type sortedWindow struct {
	f      []float64
	keep   bool
	buf    *Scratch
	sorted []float64
	lo, hi int // the window that sorted is
}

// pick returns the values at the places lower and upper, which is lower or the
// next, of the window [lo, hi).
func (w *sortedWindow) pick(lo, hi, lower, upper int) (_, _ float64) {
	if !w.keep {
		keys := w.buf.keysOf(w.f[lo:hi])
		return pick(keys, lower, upper)
	}
	w.move(lo, hi)
	return w.sorted[lower], w.sorted[upper]
}

func (w *sortedWindow) move(lo, hi int) {
	if lo >= w.hi {
		w.sorted = append(w.buf.f1[:0], w.f[lo:hi]...)
		slices.Sort(w.sorted)
	} else {
		for _, f := range w.f[w.lo:lo] {
			i := lowerBound(w.sorted, f)
			w.sorted = append(w.sorted[:i], w.sorted[i+1:]...)
		}
		for _, f := range w.f[w.hi:hi] {
			w.sorted = slices.Insert(w.sorted, lowerBound(w.sorted, f), f)
		}
	}
	w.lo, w.hi, w.buf.f1 = lo, hi, w.sorted
}

// lowerBound returns the first place in sorted values whose value is not below f.
func lowerBound(fs []float64, f float64) int {
	i, n := 0, len(fs)
	for n > 0 {
		half := n >> 1
		if fs[i+half] < f {
			i += half + 1
			n -= half + 1
		} else {
			n = half
		}
	}
	return i
}

// Numbers whose order as integers is that of the floats they stand for. They
// are compared without a branch, which nobody could foresee.

func keyOf(f float64) uint64 {
	b := math.Float64bits(f)
	return b ^ (uint64(int64(b)>>63) | 1<<63)
}

func ofKey(k uint64) float64 {
	return math.Float64frombits(k ^ (uint64(int64(^k)>>63) | 1<<63))
}

// keysOf returns the keys of the values, to be sorted.
func (s *Scratch) keysOf(fs []float64) []uint64 {
	keys := grow(&s.u0, len(fs))
	for i, f := range fs {
		keys[i] = keyOf(f)
	}
	return keys
}

// pick returns the values at the place lower, and at upper, which is lower or
// the next.
func pick(keys []uint64, lower, upper int) (_, _ float64) {
	place(keys, lower)
	a := keys[lower]
	if upper == lower {
		return ofKey(a), ofKey(a)
	}
	return ofKey(a), ofKey(slices.Min(keys[upper:]))
}

// place moves keys until that at the place k is the one that sorting would bring
// there, and none before is greater, none after smaller. It sorts where
// selection gets nowhere.
func place(keys []uint64, k int) {
	for limit := 4 * bits.Len(uint(len(keys))); len(keys) > 16 && limit > 0; limit-- {
		pivot := middleOf(keys[0], keys[len(keys)/2], keys[len(keys)-1])
		below := partition(keys, pivot)
		if k < below {
			keys = keys[:below]
			continue
		}
		if below == 0 { // the pivot is the smallest
			if below = partition(keys, pivot+1); k < below {
				return // among its equals
			}
		}
		keys, k = keys[below:], k-below
	}
	slices.Sort(keys)
}

// partition moves the keys below the pivot to the front and returns how many
// there are.
func partition(keys []uint64, pivot uint64) int {
	below := 0
	for i, v := range keys {
		keys[i] = keys[below]
		keys[below] = v
		_, less := bits.Sub64(v, pivot, 0)
		below += int(less)
	}
	return below
}

// middleOf returns the second largest of three keys.
func middleOf(a, b, c uint64) uint64 {
	return max(min(a, b), min(max(a, b), c))
}

// floatsMad is the Floats form of mad_over_time.
func floatsMad(in *Input, out *row.Row) {
	lo, hi, _ := in.covered()
	if hi <= lo {
		return
	}
	plain := plainOrder(in.F[lo:hi])
	for i, lo := range in.Lo {
		if hi := in.Hi[i]; hi > lo {
			out.SetF(i, in.mad(in.F[lo:hi], plain))
		}
	}
}

func (in *Input) mad(window []float64, plain bool) float64 {
	s := in.scratch()
	if !plain {
		return madOf(s.copy(window))
	}
	m := medianOf(s.keysOf(window))
	fs := grow(&s.f0, len(window))
	for i, f := range window {
		fs[i] = math.Abs(f - m)
	}
	if !plainOrder(fs) {
		return quantileOf(0.5, fs) // an infinite value is the median
	}
	return medianOf(s.keysOf(fs))
}

// medianOf is quantileOf(0.5, fs) for the keys of values with a plain order.
func medianOf(keys []uint64) float64 {
	lower, upper, weight := rankOf(0.5, len(keys))
	if weight == 0 {
		upper = lower
	}
	a, b := pick(keys, lower, upper)
	return between(a, b, weight)
}
