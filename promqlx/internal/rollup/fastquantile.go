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
		fs := w.buf.copy(w.f[lo:hi])
		place(fs, lower)
		if upper == lower {
			return fs[lower], fs[lower]
		}
		return fs[lower], slices.Min(fs[upper:])
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

// place moves values until that at the place k is the one that sorting would
// bring there, and none before is greater, none after smaller. (Hoare's
// selection; it sorts where that gets nowhere.)
func place(fs []float64, k int) {
	lo, hi := 0, len(fs)-1
	for limit := 2 * bits.Len(uint(len(fs))); hi-lo > 12; limit-- {
		if limit == 0 {
			break
		}
		pivot := middleOf(fs[lo], fs[(lo+hi)>>1], fs[hi])
		i, j := lo, hi
		for i <= j {
			for fs[i] < pivot {
				i++
			}
			for fs[j] > pivot {
				j--
			}
			if i <= j {
				fs[i], fs[j] = fs[j], fs[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return
		}
	}
	slices.Sort(fs[lo : hi+1])
}

// middleOf returns the second largest of three values.
func middleOf(a, b, c float64) float64 {
	if a > b {
		a, b = b, a
	}
	if c < a {
		return a
	}
	if c < b {
		return c
	}
	return b
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
	fs := in.scratch().copy(window)
	if !plain {
		return madOf(fs)
	}
	m := medianOf(fs)
	for i, f := range fs {
		fs[i] = math.Abs(f - m)
	}
	if !plainOrder(fs) {
		return quantileOf(0.5, fs) // an infinite value is the median
	}
	return medianOf(fs)
}

// medianOf is quantileOf(0.5, fs) for values with a plain order.
func medianOf(fs []float64) float64 {
	lower, upper, weight := rankOf(0.5, len(fs))
	place(fs, lower)
	if weight == 0 {
		return fs[lower]
	}
	return between(fs[lower], slices.Min(fs[upper:]), weight)
}
