package b1

import (
	"encoding/binary"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Forms of a column of a page.
const (
	formPacked = 0    // to 64: width; least number, varint; number - least
	formZero   = 0x80 // all are zero
	formDict   = 0x81 // count byte, numbers varint; then indexes
	formSparse = 0x82 // the usual number, varint; count byte; each other: index byte, varint
	formColumn = 0x83 // a column of package codec
	maxDict    = 16
)

// Columns are only handed to package codec if there is something to win: numbers
// of widths between these, and many of them.
const (
	minColumn, maxColumn = 3, 24
	columnBlocks         = 32
)

// columnCoder appends columns of a page.
type columnCoder struct {
	values  [PageBlocks]int64
	packed  [PageBlocks]uint64
	columns codec.Columns
	stream  []byte

	dict  [maxDict]int64
	times [maxDict]int // how often each stands in the column
	known int
}

// append appends v in the smallest form.
func (c *columnCoder) append(dst []byte, v []int64) []byte {
	low, high := v[0], v[0]
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	if low == 0 && high == 0 {
		return append(dst, formZero)
	}
	if low == high {
		return binary.AppendVarint(append(dst, formPacked), low)
	}
	width := uint(bits.Len64(uint64(high) - uint64(low)))
	form, size := byte(width), 1+varintLen(low)+packedLen(len(v), width)
	if c.index(v) {
		usual := c.usual()
		sparse := 2
		dict := 2 + packedLen(len(v), c.indexWidth())
		for k, x := range c.dict[:c.known] {
			dict += varintLen(x)
			if k == usual {
				sparse += varintLen(x)
			} else {
				sparse += c.times[k] * (1 + varintLen(x))
			}
		}
		if dict < size {
			form, size = formDict, dict
		}
		if sparse < size {
			form, size = formSparse, sparse
		}
	}
	if width >= minColumn && width <= maxColumn && len(v) >= columnBlocks {
		if c.stream = c.columns.Append(c.stream[:0], v); 1+len(c.stream) < size {
			return append(append(dst, formColumn), c.stream...)
		}
	}
	return c.appendForm(dst, v, form, low)
}

func (c *columnCoder) appendForm(dst []byte, v []int64, form byte, low int64) []byte {
	dst = append(dst, form)
	switch form {
	case formDict:
		dst = append(dst, byte(c.known))
		for _, x := range c.dict[:c.known] {
			dst = binary.AppendVarint(dst, x)
		}
		return codec.AppendBits(dst, c.packed[:len(v)], c.indexWidth())
	case formSparse:
		usual := c.usual()
		dst = binary.AppendVarint(dst, c.dict[usual])
		dst = append(dst, byte(len(v)-c.times[usual]))
		for i, x := range v {
			if x != c.dict[usual] {
				dst = binary.AppendVarint(append(dst, byte(i)), x)
			}
		}
		return dst
	}
	dst = binary.AppendVarint(dst, low)
	for i, x := range v {
		c.packed[i] = uint64(x) - uint64(low)
	}
	return codec.AppendBits(dst, c.packed[:len(v)], uint(form))
}

// index makes the dictionary of v and the indexes in packed; false if there are
// too many numbers for one.
func (c *columnCoder) index(v []int64) bool {
	c.known = 0
	for i, x := range v {
		k := 0
		for k < c.known && c.dict[k] != x {
			k++
		}
		if k == c.known {
			if k == maxDict {
				return false
			}
			c.dict[k], c.times[k] = x, 0
			c.known++
		}
		c.times[k]++
		c.packed[i] = uint64(k)
	}
	return true
}

// usual is the place of the most frequent number.
func (c *columnCoder) usual() (best int) {
	for k := range c.known {
		if c.times[k] > c.times[best] {
			best = k
		}
	}
	return best
}

func (c *columnCoder) indexWidth() uint { return uint(bits.Len(uint(c.known - 1))) }

func packedLen(n int, width uint) int { return (n*int(width) + 7) / 8 }

func varintLen(v int64) int { return (bits.Len64(uint64(v)<<1^uint64(v>>63)|1) + 6) / 7 }

// columnReader reads columns of a page.
type columnReader struct {
	r       *codec.Reader
	values  [PageBlocks]int64
	scratch codec.Scratch
}

// read fills v with the next column.
func (c *columnReader) read(v []int64) {
	r := c.r
	switch form := r.Byte(); {
	case form == formZero:
		clear(v)
	case form == formDict:
		c.readDict(v)
	case form == formSparse:
		usual := r.Varint()
		for i := range v {
			v[i] = usual
		}
		for range int(r.Byte()) {
			i, x := int(r.Byte()), r.Varint()
			if i >= len(v) {
				r.Fail()
				return
			}
			v[i] = x
		}
	case form == formColumn:
		rest, ok := codec.DecodeColumn(v, r.Rest(), &c.scratch)
		r.Skip(rest, ok)
	case form <= 64:
		low, width := r.Varint(), uint(form)
		packed := r.Take(uint64(packedLen(len(v), width)))
		for i := range v {
			v[i] = low + int64(codec.Bits(packed, uint(i)*width, width))
		}
	default:
		r.Fail()
	}
}

func (c *columnReader) readDict(v []int64) {
	var dict [maxDict]int64
	n := int(c.r.Byte())
	if n < 2 || n > maxDict {
		c.r.Fail()
		return
	}
	for k := range n {
		dict[k] = c.r.Varint()
	}
	width := uint(bits.Len(uint(n - 1)))
	packed := c.r.Take(uint64(packedLen(len(v), width)))
	for i := range v {
		v[i] = dict[codec.Bits(packed, uint(i)*width, width)%maxDict]
	}
}
