package api

import (
	"math"
	"math/bits"
)

// Schubfach finds the shortest decimal of a double, and of several the nearest,
// with three multiplications: Raffaello Giulietti, "The Schubfach way to render
// doubles", 2020. Only what is written without an exponent is done here, which
// takes the few powers below; everything else is strconv's.

const (
	// minPower and maxPower bound the powers of ten that doubles from 1e-6 to 1e21
	// take.
	minPower, maxPower = -5, 22

	mantissaBits = 52
	exponentBias = 1023 + mantissaBits
)

// powers are 10^minPower to 10^maxPower, each scaled by a power of two to 128 bits
// and rounded up, the upper half first.
var powers = [maxPower - minPower + 1][2]uint64{
	{0xa7c5ac471b478423, 0x0fcf80dc33721d54},
	{0xd1b71758e219652b, 0xd3c36113404ea4a9},
	{0x83126e978d4fdf3b, 0x645a1cac083126ea},
	{0xa3d70a3d70a3d70a, 0x3d70a3d70a3d70a4},
	{0xcccccccccccccccc, 0xcccccccccccccccd},
	{0x8000000000000000, 0},
	{0xa000000000000000, 0},
	{0xc800000000000000, 0},
	{0xfa00000000000000, 0},
	{0x9c40000000000000, 0},
	{0xc350000000000000, 0},
	{0xf424000000000000, 0},
	{0x9896800000000000, 0},
	{0xbebc200000000000, 0},
	{0xee6b280000000000, 0},
	{0x9502f90000000000, 0},
	{0xba43b74000000000, 0},
	{0xe8d4a51000000000, 0},
	{0x9184e72a00000000, 0},
	{0xb5e620f480000000, 0},
	{0xe35fa931a0000000, 0},
	{0x8e1bc9bf04000000, 0},
	{0xb1a2bc2ec5000000, 0},
	{0xde0b6b3a76400000, 0},
	{0x8ac7230489e80000, 0},
	{0xad78ebc5ac620000, 0},
	{0xd8d726b7177a8000, 0},
	{0x878678326eac9000, 0},
}

// shortest returns digits and an exponent so that digits*10^exponent is the
// shortest decimal that is read as f, which is from 1e-6 to 1e21. There may be
// zeros at the end of digits.
func shortest(f float64) (digits uint64, exponent int) {
	b := math.Float64bits(f)
	fraction := b & (1<<mantissaBits - 1)
	c := fraction | 1<<mantissaBits
	q := int(b>>mantissaBits) - exponentBias // f is c * 2^q
	// The neighbour below a power of two is nearer than the one above.
	k, left := (q*1262611)>>22, 4*c-2
	if fraction == 0 {
		k, left = (q*1262611-524031)>>22, 4*c-1
	}
	power := &powers[-k-minPower]
	shift := q + (-k*1741647)>>19 + 1
	low := scale(power, left<<shift)
	mid := scale(power, 4*c<<shift)
	high := scale(power, (4*c+2)<<shift)
	if c&1 != 0 { // the borders are read as the neighbours
		low++
		high--
	}
	s := mid / 4
	// One digit less, or as many as it takes to tell the neighbours apart.
	ten := s / 10
	below, above := low <= 40*ten, 40*ten+40 <= high
	if below != above {
		if above {
			ten++
		}
		return ten, k + 1
	}
	below, above = low <= 4*s, 4*s+4 <= high
	if below != above {
		if above {
			s++
		}
		return s, k
	}
	if half := 4*s + 2; mid > half || mid == half && s&1 != 0 {
		s++
	}
	return s, k
}

// scale is power*c without the lower 128 bits, rounded to odd: the lowest bit says
// as well whether something was cut off.
func scale(power *[2]uint64, c uint64) uint64 {
	carry, _ := bits.Mul64(power[1], c)
	hi, lo := bits.Mul64(power[0], c)
	lo, over := bits.Add64(lo, carry, 0)
	hi += over
	if lo > 1 {
		hi |= 1
	}
	return hi
}

// appendShort appends f, from 1e-6 to 1e21, as appendShortest does.
func appendShort(dst []byte, f float64) []byte {
	if f < 0 {
		dst = append(dst, '-')
	}
	digits, exponent := shortest(math.Abs(f))
	if exponent >= 0 {
		dst = appendUint(dst, digits)
		for range exponent {
			dst = append(dst, '0')
		}
		return dst
	}
	var text [20]byte
	at := writeUint(&text, digits)
	end := len(text)
	point := end + exponent // where the fraction begins
	for text[end-1] == '0' && end > point {
		end--
	}
	switch {
	case end <= point: // of a whole number, nothing is left of the fraction
		return append(dst, text[at:end]...)
	case point > at:
		dst = append(dst, text[at:point]...)
		dst = append(dst, '.')
		return append(dst, text[point:end]...)
	}
	dst = append(dst, "0.0000000"[:2+at-point]...)
	return append(dst, text[at:end]...)
}

// writeUint writes v at the end of text and returns where it begins. v has at
// most 18 digits.
func writeUint(text *[20]byte, v uint64) int {
	if v < 1e8 {
		return writeUint32(text[:], uint32(v))
	}
	hi := v / 1e8
	lo := uint32(v - hi*1e8)
	a, b := lo/1e4, lo%1e4
	writePairs((*[4]byte)(text[12:16]), a)
	writePairs((*[4]byte)(text[16:20]), b)
	if hi < 1e8 {
		return writeUint32(text[:12], uint32(hi))
	}
	top := hi / 1e8
	lo = uint32(hi - top*1e8)
	a, b = lo/1e4, lo%1e4
	writePairs((*[4]byte)(text[4:8]), a)
	writePairs((*[4]byte)(text[8:12]), b)
	return writeUint32(text[:4], uint32(top))
}

// writePairs writes a number below 10,000 with all its zeros.
func writePairs(text *[4]byte, v uint32) {
	a, b := 2*(v/100), 2*(v%100)
	text[0], text[1], text[2], text[3] = pairs[a], pairs[a+1], pairs[b], pairs[b+1]
}

// writeUint32 writes v at the end of text and returns where it begins.
func writeUint32(text []byte, v uint32) int {
	at := len(text)
	for v >= 100 {
		q := v / 100
		r := 2 * (v - 100*q)
		at -= 2
		text[at], text[at+1] = pairs[r], pairs[r+1]
		v = q
	}
	if v >= 10 {
		at -= 2
		text[at], text[at+1] = pairs[2*v], pairs[2*v+1]
		return at
	}
	at--
	text[at] = '0' + byte(v)
	return at
}
