package codec

import (
	"encoding/binary"
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
	// Short is for columns of some hundred numbers that must not take long.
	Short bool

	planner Planner
	coder   Coder
	q       []int64
	stream  []byte
}

// Append appends a column of at least one number.
func (c *Columns) Append(dst []byte, v []int64) []byte {
	sum := Summarize(v)
	divisor, base := sum.Divisor(v)
	q := v
	if divisor > 1 {
		c.q = Divide(c.q[:0], v, divisor, base)
		q = c.q
	}
	c.planner.Short = c.Short
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
