package codec

import (
	"encoding/binary"
	"math/bits"
)

// A column is a run of integers that describes itself but for its length:
//
//	mode     byte: codec, order<<2, 1<<4 if there is a divisor
//	table    byte, Huff and Class only
//	shift    byte, Huff and Class only
//	centre   varint
//	divisor  uvarint, base uvarint; if flagged: number = base + divisor * q
//	start    varint, order 1 and 2: the first q
//	slope    varint, order 2: the second less the first
//	length   uvarint, of the stream; not for Zero
//	stream
const columnDivisor = 1 << 4

// Columns appends columns. It is for one goroutine; the zero value is ready.
type Columns struct {
	planner Planner
	coder   Coder
	q       []int64
	stream  []byte
}

// Append appends a column of at least one number.
func (c *Columns) Append(dst []byte, v []int64) []byte {
	divisor, base := Divisor(v)
	q := v
	if divisor > 1 {
		c.q = Divide(c.q[:0], v, divisor, base)
		q = c.q
	}
	p, _ := c.planner.Plan(q, max(len(q), 2), 2)
	mode := byte(p.Codec) | p.Order<<2
	if divisor > 1 {
		mode |= columnDivisor
	}
	dst = append(dst, mode)
	if p.Codec >= Huff {
		dst = append(dst, p.Table, p.Shift)
	}
	dst = binary.AppendVarint(dst, p.Centre)
	if divisor > 1 {
		dst = binary.AppendUvarint(dst, uint64(divisor))
		dst = binary.AppendUvarint(dst, uint64(base))
	}
	if p.Order > 0 {
		dst = binary.AppendVarint(dst, q[0])
	}
	if p.Order > 1 {
		dst = binary.AppendVarint(dst, q[1]-q[0])
	}
	if p.Codec == Zero {
		return dst
	}
	c.stream = c.coder.Append(c.stream[:0], &p, q)
	dst = binary.AppendUvarint(dst, uint64(len(c.stream)))
	return append(dst, c.stream...)
}

// DecodeColumn fills dst, which is not empty, with the column that src begins
// with, and returns what is behind it.
func DecodeColumn(dst []int64, src []byte, s *Scratch) (rest []byte, ok bool) {
	r := NewReader(src)
	mode := r.Byte()
	p := Params{Codec: Codec(mode & 3), Order: mode >> 2 & 3}
	if p.Codec >= Huff {
		p.Table, p.Shift = r.Byte(), r.Byte()
	}
	p.Centre = r.Varint()
	divisor, base := int64(1), int64(0)
	if mode&columnDivisor != 0 {
		divisor, base = int64(r.Uvarint()), int64(r.Uvarint())
	}
	var start, slope int64
	if p.Order > 0 {
		start = r.Varint()
	}
	if p.Order > 1 {
		slope = r.Varint()
	}
	var stream []byte
	if p.Codec != Zero {
		stream = r.Take(r.Uvarint())
	}
	if r.bad || !p.Valid() || mode >= columnDivisor<<1 {
		return nil, false
	}
	if _, ok := Decode(dst, len(dst), &p, start, slope, stream, false, s); !ok {
		return nil, false
	}
	Multiply(dst, divisor, base)
	return r.b, true
}

// Divisor returns the greatest divisor and the base, 0 <= base < divisor, such
// that every number of v is base + divisor * q. For numbers beyond 2^53 only
// powers of two are looked for. It is 1 for constants.
func Divisor(v []int64) (divisor, base int64) {
	g, first, differ := uint64(0), v[0], uint64(0)
	far := false
	for _, x := range v {
		differ |= uint64(x ^ first)
		far = far || x > maxMantissa || x < -maxMantissa
	}
	if differ == 0 {
		return 1, 0
	}
	if far {
		g = 1 << min(bits.TrailingZeros64(differ), 62)
	} else {
		for _, x := range v {
			d := x - first
			if g = gcd(g, uint64(max(d, -d))); g == 1 {
				return 1, 0
			}
		}
	}
	divisor = int64(g)
	base = first % divisor
	if base < 0 {
		base += divisor
	}
	return divisor, base
}

// gcd looks at the common case first: b is a multiple of a.
func gcd(a, b uint64) uint64 {
	if a != 0 && b%a == 0 {
		return a
	}
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
	for _, x := range v {
		dst = append(dst, (x-base)/divisor)
	}
	return dst
}

// Multiply undoes Divide in place.
func Multiply[T Lane](v []T, divisor, base int64) {
	if divisor == 1 && base == 0 {
		return
	}
	d, b := T(divisor), T(base)
	for i, q := range v {
		v[i] = q*d + b
	}
}
