package v1

import (
	"encoding/binary"
	"math/bits"
)

// Postings are stored in the smallest of three forms, the first byte says
// which:
//
//	1 deltas  uvarints: distance from the previous posting, less one
//	2 runs    pairs of uvarints: distance from the end of the previous run, then
//	          its length less one
//	3 bitmap  one bit per series, lowest first
const (
	formDeltas = 1
	formRuns   = 2
	formBitmap = 3
)

// decodePostings appends the list stored in b to dst; ok is false unless b
// holds exactly that: ascending ordinals below n.
func decodePostings(dst []uint32, b []byte, n uint32) (out []uint32, ok bool) {
	if len(b) == 0 {
		return dst, false
	}
	switch form := b[0]; form {
	case formDeltas, formRuns:
		return decodeVarints(dst, b[1:], n, form == formRuns)
	case formBitmap:
		return decodeBitmap(dst, b[1:], n)
	}
	return dst, false
}

func decodeVarints(dst []uint32, b []byte, n uint32, runs bool) ([]uint32, bool) {
	next := uint64(0)
	for len(b) > 0 {
		gap, k := binary.Uvarint(b)
		if k <= 0 || gap >= uint64(n)-min(next, uint64(n)) {
			return dst, false
		}
		b = b[k:]
		next += gap
		length := uint64(1)
		if runs {
			more, k := binary.Uvarint(b)
			if k <= 0 || more >= uint64(n)-next {
				return dst, false
			}
			b = b[k:]
			length += more
		}
		for end := next + length; next < end; next++ {
			dst = append(dst, uint32(next))
		}
	}
	return dst, true
}

func decodeBitmap(dst []uint32, b []byte, n uint32) ([]uint32, bool) {
	if uint64(len(b)) != (uint64(n)+7)/8 {
		return dst, false
	}
	for i, c := range b {
		for ; c != 0; c &= c - 1 {
			o := uint64(i*8 + bits.TrailingZeros8(c))
			if o >= uint64(n) {
				return dst, false
			}
			dst = append(dst, uint32(o))
		}
	}
	return dst, true
}
