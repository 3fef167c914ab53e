package b1

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// runRatio is the least number of samples per run, on average, of LayoutRuns.
const runRatio = 8

// The columns of a directory: one number of each for every mini-block. A
// directory begins with the form of each column that the block has: width byte,
// base varint. The bits
// of all columns follow, one after the other without padding.
const (
	dirLength  = iota // bytes
	dirStart          // q of the first sample
	dirSlope          // q of the second less that of the first; order 2
	dirBelow          // start - least q
	dirAbove          // greatest q - start
	dirSum            // sum of q less count times the least q; FlagIntExact
	dirSecond         // bytes of the second stream; NearTens
	dirUlps           // ulps of the first sample; NearTens
	dirMinUlps        // of the least one; NearTens
	dirMaxUlps        // of the greatest one; NearTens
	dirColumns
)

// directory is that of a block of mini-blocks.
type directory [dirColumns][maxMinis]int64

// hasColumn tells whether the directory of a block has a column.
func (h *Header) hasColumn(c int) bool {
	switch c {
	case dirSlope:
		return h.Params.Order == 2
	case dirSum:
		return h.Flags&FlagIntExact != 0
	case dirSecond, dirUlps, dirMinUlps, dirMaxUlps:
		return h.Domain == codec.NearTens
	}
	return true
}

// oneMini tells whether the header says all that a directory would: one
// mini-block whose statistics are those of the block.
func (h *Header) oneMini() bool {
	return h.minis() == 1 && h.Params.Order < 2 && h.Domain != codec.NearTens
}

// fill sets row k to the statistics of the numbers q.
func (d *directory) fill(h *Header, k int, q, ulps []int64) {
	low, high, sum := 0, 0, int64(0)
	for i, x := range q {
		sum += x
		if x < q[low] || x == q[low] && ulps != nil && h.nearLess(x, ulps[i], ulps[low]) {
			low = i
		}
		if x > q[high] || x == q[high] && ulps != nil && h.nearLess(x, ulps[high], ulps[i]) {
			high = i
		}
	}
	d[dirStart][k], d[dirBelow][k], d[dirAbove][k] = q[0], q[0]-q[low], q[high]-q[0]
	d[dirSum][k] = sum - int64(len(q))*q[low]
	if d[dirSlope][k] = 0; len(q) > 1 {
		d[dirSlope][k] = q[1] - q[0]
	}
	if ulps != nil {
		d[dirUlps][k], d[dirMinUlps][k], d[dirMaxUlps][k] = ulps[0], ulps[low], ulps[high]
	}
}

// nearLess compares two doubles near the decimal that q stands for: ulps count
// away from zero.
func (h *Header) nearLess(q, a, b int64) bool {
	if h.mantissa(q) < 0 {
		a, b = b, a
	}
	return a < b
}

// mantissa returns what q stands for.
func (h *Header) mantissa(q int64) int64 { return h.Base + h.Divisor*q }

// append appends the directory. Numbers whose difference does not fit int64
// wrap.
func (d *directory) append(dst []byte, h *Header) []byte {
	n := h.minis()
	var low [dirColumns]int64
	var width [dirColumns]uint
	for c := range d {
		if !h.hasColumn(c) {
			continue
		}
		least, most := uint64(math.MaxUint64), uint64(0)
		for _, x := range d[c][:n] {
			u := dirOrder(c, x)
			least, most = min(least, u), max(most, u)
		}
		low[c], width[c] = int64(dirOrder(c, int64(least))), uint(bits.Len64(most-least))
		dst = append(dst, byte(width[c]))
		dst = binary.AppendVarint(dst, low[c])
	}
	w := codec.BitWriter{B: dst}
	for c := range d {
		if !h.hasColumn(c) {
			continue
		}
		for _, x := range d[c][:n] {
			w.Write(uint64(x)-uint64(low[c]), width[c])
		}
	}
	w.Flush()
	return w.B
}

// dirOrder maps a number of a column to one that is compared without a sign;
// it is its own inverse.
func dirOrder(c int, x int64) uint64 {
	switch c {
	case dirStart, dirSlope, dirUlps, dirMinUlps, dirMaxUlps:
		return uint64(x) ^ 1<<63
	}
	return uint64(x) // never negative, but for differences beyond int64
}

// dirReader reads a directory in place.
type dirReader struct {
	packed []byte
	low    [dirColumns]int64
	width  [dirColumns]uint
	pos    [dirColumns]uint // bit of the first number
}

// at returns a number of mini-block k.
func (d *dirReader) at(c, k int) int64 {
	return int64(uint64(d.low[c]) + codec.Bits(d.packed, d.pos[c]+uint(k)*d.width[c], d.width[c]))
}

// set makes a number that of the only mini-block.
func (d *dirReader) set(c int, x int64) { d.low[c], d.width[c] = x, 0 }

// parse reads the directory that r begins with.
func (d *dirReader) parse(h *Header, r *codec.Reader) {
	n := uint(h.minis())
	total := uint(0)
	for c := range dirColumns {
		d.low[c], d.width[c], d.pos[c] = 0, 0, total
		if !h.hasColumn(c) {
			continue
		}
		d.width[c], d.low[c] = uint(r.Byte()), r.Varint()
		if d.width[c] > 64 {
			r.Fail()
			return
		}
		total += n * d.width[c]
	}
	d.packed = r.Take(uint64(total+7) / 8)
}
