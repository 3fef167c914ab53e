package codec

import "math"

// MaxScale is the largest scale of a decimal: up to it, powers of ten are exact
// doubles.
const MaxScale = 22

// maxMantissa bounds mantissas: below it int64 and float64 agree.
const maxMantissa = 1 << 53

var pow10 = [MaxScale + 1]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Decimal returns m / 10^scale: one division of two exact doubles.
func Decimal(m int64, scale uint8) float64 {
	if scale == 0 {
		return float64(m)
	}
	return float64(m) / pow10[scale]
}

// Mantissa returns the m that Decimal makes x of, bit for bit.
func Mantissa(x float64, scale uint8) (m int64, ok bool) {
	f := math.RoundToEven(x * pow10[scale])
	if !(math.Abs(f) < maxMantissa) {
		return 0, false
	}
	m = int64(f)
	return m, math.Float64bits(Decimal(m, scale)) == math.Float64bits(x)
}

// Decimals fills dst with Decimal of every base + divisor * q, for the q of m, of
// which there are as many.
func Decimals[T Lane](dst []float64, m []T, divisor, base int64, scale uint8) {
	m = m[:len(dst)]
	if divisor != 1 || base != 0 {
		scaled(dst, m, T(divisor), T(base), pow10[scale])
		return
	}
	if scale == 0 {
		i := 0
		for ; i+4 <= len(m); i += 4 {
			a, d := (*[4]T)(m[i:]), (*[4]float64)(dst[i:])
			d[0], d[1], d[2], d[3] = float64(a[0]), float64(a[1]), float64(a[2]), float64(a[3])
		}
		for ; i < len(m); i++ {
			dst[i] = float64(m[i])
		}
		return
	}
	power := pow10[scale]
	for i, x := range m {
		dst[i] = float64(x) / power
	}
}

func scaled[T Lane](dst []float64, m []T, divisor, base T, power float64) {
	m = m[:len(dst)]
	if power == 1 {
		for i, q := range m {
			dst[i] = float64(q*divisor + base)
		}
		return
	}
	for i, q := range m {
		dst[i] = float64(q*divisor+base) / power
	}
}

// Nears fills dst with Decimal of every number of m, moved by so many units in
// the last place.
func Nears(dst []float64, m, ulps []int64, scale uint8) {
	m, ulps = m[:len(dst)], ulps[:len(dst)]
	power := pow10[scale]
	for i, x := range m {
		dst[i] = math.Float64frombits(math.Float64bits(float64(x)/power) + uint64(ulps[i]))
	}
}

// Ordered maps the bits of a double to an integer that is in the same order:
// negative infinity to infinity, -0 just below 0, NaNs at both ends.
func Ordered(bits uint64) int64 {
	if i := int64(bits); i < 0 {
		return i ^ math.MaxInt64
	}
	return int64(bits)
}

// FromOrdered undoes Ordered.
func FromOrdered(o int64) uint64 {
	if o < 0 {
		o ^= math.MaxInt64
	}
	return uint64(o)
}
