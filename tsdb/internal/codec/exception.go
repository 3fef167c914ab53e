package codec

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/value"
)

// Exceptions are written one after the other:
//
//	gap   uvarint, index less that of the exception before (the first: index)
//	form  byte: 0 staleness marker, 1 NaN, 2 infinity, 3 negative infinity,
//	      4 -0, 5 eight bytes follow
const (
	exceptStale  = 0
	exceptNaN    = 1
	exceptInf    = 2
	exceptNegInf = 3
	exceptNegZ   = 4
	exceptOther  = 5
)

var exceptBits = [exceptOther]uint64{
	exceptStale:  value.StaleNaN,
	exceptNaN:    value.NormalNaN,
	exceptInf:    0x7ff0000000000000,
	exceptNegInf: 0xfff0000000000000,
	exceptNegZ:   1 << 63,
}

// IsStale tells whether bits are those of a staleness marker.
func IsStale(bits uint64) bool { return bits == value.StaleNaN }

// AppendExceptions appends list, which is ascending by index.
func AppendExceptions(dst []byte, list []Exception) []byte {
	last := 0
	for _, e := range list {
		dst = binary.AppendUvarint(dst, uint64(e.Index-last))
		last = e.Index
		form := formOf(e.Bits)
		dst = append(dst, form)
		if form == exceptOther {
			dst = binary.LittleEndian.AppendUint64(dst, e.Bits)
		}
	}
	return dst
}

func formOf(bits uint64) byte {
	for f, b := range exceptBits {
		if b == bits {
			return byte(f)
		}
	}
	return exceptOther
}

// exceptionBytes is the most that an exception takes.
func exceptionBytes(bits uint64) int {
	if formOf(bits) == exceptOther {
		return 2 + 1 + 8
	}
	return 2 + 1
}

// DecodeExceptions appends the count exceptions that src begins with to dst and
// returns what is behind them. Indexes ascend and are below n.
func DecodeExceptions(dst []Exception, src []byte, count, n int) (list []Exception, rest []byte, ok bool) {
	r := NewReader(src)
	index := -1
	for k := range count {
		gap := r.Uvarint()
		if k > 0 && gap == 0 || gap >= uint64(n) {
			return dst, nil, false
		}
		index = max(index, 0) + int(gap)
		form := r.Byte()
		var bits uint64
		switch {
		case form < exceptOther:
			bits = exceptBits[form]
		case form == exceptOther:
			if b := r.Take(8); b != nil {
				bits = binary.LittleEndian.Uint64(b)
			}
		default:
			return dst, nil, false
		}
		if r.bad || index >= n {
			return dst, nil, false
		}
		dst = append(dst, Exception{index, bits})
	}
	return dst, r.b, true
}

// PatchFloats puts the exceptions of [from, from+len(dst)) into dst.
func PatchFloats(dst []float64, list []Exception, from int) {
	for _, e := range list {
		if k := e.Index - from; k >= 0 && k < len(dst) {
			dst[k] = math.Float64frombits(e.Bits)
		}
	}
}
