package codec

import (
	"math"
	"math/bits"
)

// Summary is what one pass over numbers tells about them.
type Summary struct {
	Min, Max int64
	Sum      int64 // wraps
	Falls    int   // numbers below the one before; not beyond 2^62
	differ   uint64
}

// Summarize looks at v, which is not empty.
func Summarize(v []int64) Summary {
	first := v[0]
	low, high, sum, differ, falls, before := first, first, int64(0), uint64(0), uint64(0), first
	for _, x := range v {
		low, high = min(low, x), max(high, x)
		sum += x
		differ |= uint64(x ^ first)
		falls += uint64(x-before) >> 63
		before = x
	}
	return Summary{low, high, sum, int(falls), differ}
}

// Divisor returns the greatest divisor and the base, 0 <= base < divisor, such
// that every number of v, of which s is the summary, is base + divisor * q. For
// numbers beyond 2^53 only powers of two are looked for. It is 1 for constants.
func (s *Summary) Divisor(v []int64) (divisor, base int64) {
	if s.differ == 0 {
		return 1, 0
	}
	first, g := v[0], uint64(0)
	if s.Max > maxMantissa || s.Min < -maxMantissa {
		g = 1 << min(bits.TrailingZeros64(s.differ), 62)
	} else {
		var by exact
		for _, x := range v {
			d := uint64(max(x-first, first-x))
			if by.divides(d) {
				continue
			}
			if g = gcd(g, d); g == 1 {
				return 1, 0
			}
			by = exactly(g)
		}
	}
	divisor = int64(g)
	base = first % divisor
	if base < 0 {
		base += divisor
	}
	return divisor, base
}

// exact divides multiples of a number without dividing: its odd part has an
// inverse. The zero value divides zero only.
type exact struct {
	shift   int
	inverse uint64
	most    uint64 // the greatest quotient
}

func exactly(divisor uint64) exact {
	shift := bits.TrailingZeros64(divisor)
	odd := divisor >> shift
	inverse := odd // right in three bits, and each step doubles them
	for range 5 {
		inverse *= 2 - odd*inverse
	}
	return exact{shift, inverse, math.MaxUint64 / divisor}
}

// divides tells whether x is a multiple.
func (e *exact) divides(x uint64) bool {
	return bits.RotateLeft64(x*e.inverse, -e.shift) <= e.most && (e.inverse != 0 || x == 0)
}

func gcd(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return a | b
	}
	shift := bits.TrailingZeros64(a | b)
	a >>= bits.TrailingZeros64(a)
	for b != 0 {
		b >>= bits.TrailingZeros64(b)
		if a > b {
			a, b = b, a
		}
		b -= a
	}
	return a << shift
}

// Divide appends the q of every number of v = base + divisor * q.
func Divide(dst, v []int64, divisor, base int64) []int64 {
	by := exactly(uint64(divisor))
	for _, x := range v {
		dst = append(dst, (x-base)>>(by.shift&63)*int64(by.inverse))
	}
	return dst
}
