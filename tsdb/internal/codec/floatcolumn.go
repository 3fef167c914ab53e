package codec

import (
	"encoding/binary"
	"math"
)

// A column of floats describes itself but for its length:
//
//	domain      byte: domain, 1<<4 if there are exceptions
//	scale       byte, not for Doubles
//	exceptions  if flagged: count uvarint, then the list
//	columns     of integers; for NearTens a second one of ulps
const floatExceptions = 1 << 4

// FloatColumns appends columns of floats. It is for one goroutine; the zero
// value is ready.
type FloatColumns struct {
	Columns
	analyzer Analyzer
}

// AppendFloats appends a column of at least one value.
func (c *FloatColumns) AppendFloats(dst []byte, v []float64) []byte {
	x := c.analyzer.Analyze(v)
	mode := byte(x.Domain)
	if len(x.Exceptions) > 0 {
		mode |= floatExceptions
	}
	dst = append(dst, mode)
	if x.Domain != Doubles {
		dst = append(dst, x.Scale)
	}
	if len(x.Exceptions) > 0 {
		dst = binary.AppendUvarint(dst, uint64(len(x.Exceptions)))
		dst = AppendExceptions(dst, x.Exceptions)
	}
	dst = c.Append(dst, x.Ints)
	if x.Domain == NearTens {
		dst = c.Append(dst, x.Ulps)
	}
	return dst
}

// DecodeFloats fills dst, which is not empty, with the column of floats that src
// begins with, and returns what is behind it.
func DecodeFloats(dst []float64, src []byte, s *Scratch) (rest []byte, ok bool) {
	r := NewReader(src)
	mode := r.Byte()
	domain, scale := Domain(mode&3), uint8(0)
	if domain != Doubles {
		scale = r.Byte()
	}
	var exceptions []Exception
	if mode&floatExceptions != 0 {
		n := r.Uvarint()
		if r.bad || n > uint64(Limit(len(dst))) {
			return nil, false
		}
		if exceptions, r.b, ok = DecodeExceptions(nil, r.b, int(n), len(dst)); !ok {
			return nil, false
		}
	}
	if r.bad || domain > Doubles || scale > MaxScale || mode >= floatExceptions<<1 {
		return nil, false
	}
	ints := make([]int64, len(dst))
	if rest, ok = DecodeColumn(ints, r.b, s); !ok {
		return nil, false
	}
	switch domain {
	case Decimals10:
		Decimals(dst, ints, 1, 0, scale)
	case NearTens:
		ulps := make([]int64, len(dst))
		if rest, ok = DecodeColumn(ulps, rest, s); !ok {
			return nil, false
		}
		Nears(dst, ints, ulps, scale)
	default:
		for i, o := range ints {
			dst[i] = math.Float64frombits(FromOrdered(o))
		}
	}
	PatchFloats(dst, exceptions, 0)
	return rest, true
}
