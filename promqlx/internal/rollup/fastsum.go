package rollup

import (
	"math"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// floatsSum is the Floats form of sum_over_time.
//
// Sums of integers are exact as long as all partial sums stay below 2^53. Then
// Kahan's compensation is 0 at every step, since sum-t is -f without rounding,
// and the sum of a window is the difference of two prefix sums. It is never -0:
// the sum begins with +0, and x + -x is +0.
func floatsSum(in *Input, out *row.Row) {
	if lo, hi, overlap := in.overlap(); overlap {
		if sums, ok := in.prefixSums(in.F[lo:hi]); ok {
			for i, a := range in.Lo {
				if b := in.Hi[i]; b > a {
					out.SetF(i, float64(sums[int(b)-lo]-sums[int(a)-lo]))
				}
			}
			return
		}
	}
	for i, lo := range in.Lo {
		if hi := in.Hi[i]; hi > lo {
			out.SetF(i, fastSum(in.F[lo:hi]))
		}
	}
}

// floatsAvg is the Floats form of avg_over_time, with the sums of floatsSum: a
// sum that starts with the first value instead of 0 is the same, as no value is
// -0. The compensation of 0 over the count adds +0.
func floatsAvg(in *Input, out *row.Row) {
	if lo, hi, overlap := in.overlap(); overlap {
		if sums, ok := in.prefixSums(in.F[lo:hi]); ok {
			for i, a := range in.Lo {
				if b := in.Hi[i]; b > a {
					out.SetF(i, float64(sums[int(b)-lo]-sums[int(a)-lo])/float64(b-a))
				}
			}
			return
		}
	}
	for i, lo := range in.Lo {
		if hi := in.Hi[i]; hi > lo {
			out.SetF(i, fastAvg(in.F[lo:hi]))
		}
	}
}

// fastSum is sumOf without a look at each sum whether it is infinite: an
// infinite sum never becomes finite again.
func fastSum(fs []float64) float64 {
	if sum, c := kahan(fs, 0); finite(sum) && finite(c) {
		return sum + c
	}
	return sumOf(fs)
}

// fastAvg is avgOf, as fastSum is sumOf.
func fastAvg(fs []float64) float64 {
	if sum, c := kahan(fs[1:], fs[0]); finite(sum) && finite(c) {
		n := float64(len(fs))
		return sum/n + c/n
	}
	return avgOf(fs)
}

// kahan adds the values to sum. The error of each addition is exact both in
// Knuth's way, which is taken here as it has no branches, and in Neumaier's: they
// are equal but for the sign of a zero, which does not show in c. Results are
// meaningless if one of them is not finite.
func kahan(fs []float64, sum float64) (_, c float64) {
	for _, f := range fs {
		t := sum + f
		d := t - sum
		c += (sum - (t - d)) + (f - d)
		sum = t
	}
	return sum, c
}

// floats is the Floats form of min_over_time and its like.
func (k extremeKind) floats(in *Input, out *row.Row) {
	lo, hi, held := in.covered()
	if held > 8*(hi-lo) {
		k.sliding(in, out, hi-lo)
		return
	}
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		at := int(lo) + k.best(in.F[lo:hi])
		k.set(in, out, i, at)
	}
}

func (k extremeKind) set(in *Input, out *row.Row, i, at int) {
	if k.time {
		out.SetF(i, float64(in.T[at])/1000)
		return
	}
	out.SetF(i, in.F[at])
}

// best returns which of the values the window's is.
func (k extremeKind) best(fs []float64) int {
	at := 0
	for at < len(fs)-1 && math.IsNaN(fs[at]) {
		at++
	}
	m := fs[at]
	rest := fs[at+1:]
	switch skipped := at + 1; {
	case k.max && k.time:
		for i, f := range rest {
			if f >= m {
				m, at = f, skipped+i
			}
		}
	case k.time:
		for i, f := range rest {
			if f <= m {
				m, at = f, skipped+i
			}
		}
	case k.max:
		for i, f := range rest {
			if f > m {
				m, at = f, skipped+i
			}
		}
	default:
		for i, f := range rest {
			if f < m {
				m, at = f, skipped+i
			}
		}
	}
	return at
}

// sliding keeps a queue of the values that are still to become a window's: each
// is beaten by none that came after it. n is how many values the windows cover.
func (k extremeKind) sliding(in *Input, out *row.Row, n int) {
	queue := grow(&in.scratch().n0, n)
	head, tail := 0, 0
	next := int32(0)
	for i, lo := range in.Lo {
		hi := in.Hi[i]
		if hi <= lo {
			continue
		}
		for j := max(next, lo); j < hi; j++ {
			f := in.F[j]
			if math.IsNaN(f) {
				continue
			}
			for tail > head && k.beats(f, in.F[queue[tail-1]]) {
				tail--
			}
			queue[tail] = j
			tail++
		}
		next = hi
		for head < tail && queue[head] < lo {
			head++
		}
		if head == tail {
			k.set(in, out, i, int(hi)-1) // nothing but NaNs
			continue
		}
		k.set(in, out, i, int(queue[head]))
	}
}
