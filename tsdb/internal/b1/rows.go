package b1

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Rows is a page of headers that was opened: what is looked at to find a block is
// unpacked, the rest is packed anew, so that a header can be had by itself. It
// takes some 60 bytes for a block where a Header takes 200. It may be read by
// many goroutines.
type Rows struct {
	columns []rowColumn
	packed  []byte
	rows    []row
	same    Header  // what all blocks have in those fields that do not depend on others
	differ  []uint8 // the other ones of these fields
}

// row is what finding a block takes.
type row struct {
	series     uint32
	length     uint32
	count      uint16
	offset     uint64
	minT, maxT int64
}

// rowColumn is a column of Rows: number k is low plus width bits of packed.
type rowColumn struct {
	low   int64
	width uint8
	bit   uint32 // of the first number
}

func (p *Rows) at(column, k int) int64 {
	c := &p.columns[column]
	if c.width == 0 {
		return c.low
	}
	return c.low + int64(codec.Bits(p.packed, uint(c.bit)+uint(k)*uint(c.width), uint(c.width)))
}

// Indexes in fields of what a row holds, and of those that depend on others.
const (
	fieldSeries     = 0
	fieldLength     = 1
	fieldOffset     = 2
	fieldCount      = 5
	fieldMinT       = 6
	fieldStep       = 7
	fieldMaxT       = 8
	fieldFirst      = 18
	fieldLast       = 19
	fieldMin        = 20
	fieldMax        = 21
	fieldSum        = 22
	fieldExceptions = 23
	fieldResets     = 24
)

// RowsScratch is what OpenRows needs meanwhile, some 30 KiB; the zero value is
// ready. It is for one goroutine.
type RowsScratch struct{ columns columnReader }

// OpenRows opens a page as AppendPage made it, to which it does not refer. Damage
// yields an error that wraps block.ErrCorrupt, a newer version one that wraps
// block.ErrVersion. What Check refuses comes with Header.
func OpenRows(page []byte, scratch *RowsScratch) (*Rows, error) {
	body, n, err := checkPage(page)
	if err != nil {
		return nil, err
	}
	p := &Rows{columns: make([]rowColumn, len(fields)), rows: make([]row, n), packed: make([]byte, 0, len(page))}
	r := codec.NewReader(body)
	c := &scratch.columns
	c.r = &r
	for f := range fields {
		c.read(c.values[:n])
		p.pack(f, c.values[:n])
	}
	if r.Bad() || r.Len() > 0 {
		return nil, block.Corruptf("page of headers: columns do not parse")
	}
	if err := p.unpack(); err != nil {
		return nil, err
	}
	return p, nil
}

// unpack fills the rows.
func (p *Rows) unpack() error {
	h, before := new(Header), new(Header)
	for k := range p.rows {
		*h = Header{}
		for _, f := range [...]int{fieldSeries, fieldLength, fieldOffset, fieldCount, fieldMinT, fieldStep, fieldMaxT} {
			fields[f].set(h, before, p.at(f, k))
		}
		if h.Count < 1 || h.Count > MaxSamples {
			return block.Corruptf("page of headers: block %d of %d samples", k, h.Count)
		}
		p.rows[k] = row{h.Series, h.Length, uint16(h.Count), h.Offset, h.MinT, h.MaxT}
		h, before = before, h
	}
	p.compare()
	return nil
}

// compare works out which fields are the same in all blocks.
func (p *Rows) compare() {
	for f := range fields {
		switch f {
		case fieldSeries, fieldLength, fieldOffset, fieldCount, fieldMinT, fieldMaxT,
			fieldFirst, fieldLast, fieldMin, fieldMax, fieldSum, fieldExceptions, fieldResets:
			continue
		}
		if p.columns[f].width == 0 {
			fields[f].set(&p.same, &p.same, p.columns[f].low)
		} else {
			p.differ = append(p.differ, uint8(f))
		}
	}
}

// pack keeps a column.
func (p *Rows) pack(column int, v []int64) {
	low, high := v[0], v[0]
	for _, x := range v {
		low, high = min(low, x), max(high, x)
	}
	c := &p.columns[column]
	c.low, c.width, c.bit = low, uint8(bits.Len64(uint64(high)-uint64(low))), uint32(8*len(p.packed))
	if c.width == 0 {
		return
	}
	var above [PageBlocks]uint64
	for k, x := range v {
		above[k] = uint64(x) - uint64(low)
	}
	p.packed = codec.AppendBits(p.packed, above[:len(v)], uint(c.width))
}

// checkPage compares version and checksum of a page.
func checkPage(page []byte) (columns []byte, n int, err error) {
	if len(page) < 2+4 {
		return nil, 0, block.Corruptf("page of headers: %d bytes", len(page))
	}
	body := page[:len(page)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(page[len(body):]); got != want {
		return nil, 0, block.Corruptf("page of headers: checksum %08x, want %08x", got, want)
	}
	if body[0] > Version {
		return nil, 0, fmt.Errorf("page of headers: version %d: %w", body[0], block.ErrVersion)
	}
	if body[0] == 0 {
		return nil, 0, block.Corruptf("page of headers: version 0")
	}
	if body[1] >= PageBlocks {
		return nil, 0, block.Corruptf("page of headers: %d blocks", int(body[1])+1)
	}
	return body[2:], int(body[1]) + 1, nil
}

// Len returns the number of blocks.
func (p *Rows) Len() int { return len(p.rows) }

// Series returns that of block k.
func (p *Rows) Series(k int) uint32 { return p.rows[k].series }

// Count returns the samples of block k.
func (p *Rows) Count(k int) int { return int(p.rows[k].count) }

// Times returns the first and last time of block k.
func (p *Rows) Times(k int) (mint, maxt int64) { return p.rows[k].minT, p.rows[k].maxT }

// Place returns where the payload of block k is.
func (p *Rows) Place(k int) (offset uint64, length uint32) {
	return p.rows[k].offset, p.rows[k].length
}

// Find returns which blocks are of a series, if the series of the page ascend.
func (p *Rows) Find(series uint32) (begin, end int) {
	for end = len(p.rows); begin < end; {
		if mid := (begin + end) / 2; p.rows[mid].series < series {
			begin = mid + 1
		} else {
			end = mid
		}
	}
	for end = begin; end < len(p.rows) && p.rows[end].series == series; {
		end++
	}
	return begin, end
}

// Header sets h to that of block k. A header that Check refuses is an error.
func (p *Rows) Header(k int, h *Header) error {
	r := &p.rows[k]
	*h = p.same
	h.Series, h.Length, h.Offset, h.Count, h.MinT, h.MaxT = r.series, r.length, r.offset, int(r.count), r.minT, r.maxT
	for _, f := range p.differ {
		fields[f].set(h, h, p.at(int(f), k)) // which does not look at the one before
	}
	// As their set in fields do, in that order, as each depends on some before.
	h.First = p.at(fieldFirst, k)
	h.Last = h.First + p.at(fieldLast, k)
	low, high := min(h.First, h.Last), max(h.First, h.Last)
	h.Min, h.Max = low-p.at(fieldMin, k), high+p.at(fieldMax, k)
	h.Sum = h.sumGuess() + p.at(fieldSum, k)
	fields[fieldExceptions].set(h, h, p.at(fieldExceptions, k))
	fields[fieldResets].set(h, h, p.at(fieldResets, k))
	if err := h.Check(); err != nil {
		return fmt.Errorf("page of headers: block %d: %w", k, err)
	}
	return nil
}

// Size returns the memory that p holds, in bytes.
func (p *Rows) Size() int {
	const perRow, perColumn, fixed = 40, 16, 400
	return len(p.packed) + perRow*len(p.rows) + perColumn*len(p.columns) + fixed
}
