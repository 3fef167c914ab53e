package b1

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// PageBlocks is the largest number of headers in a page.
const PageBlocks = 128

// Version is the version of B1 this package writes, the newest it reads.
//
// History: 1 mini-blocks of static codes, pages of headers.
const Version = 1

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// fields are the columns of a page, in the order they are written. get reads
// one of a header as a number, small if it can be; set undoes it. before is the
// header of the block before in the page, zero for the first. A field may rely
// on those before it.
var fields = []struct {
	get func(h, before *Header) int64
	set func(h, before *Header, v int64)
}{
	{func(h, b *Header) int64 { return int64(h.Series - b.Series) }, func(h, b *Header, v int64) { h.Series = b.Series + uint32(v) }},
	{func(h, _ *Header) int64 { return int64(h.Length) }, func(h, _ *Header, v int64) { h.Length = uint32(v) }},
	{func(h, b *Header) int64 { return int64(h.Offset - b.Offset - uint64(b.Length)) },
		func(h, b *Header, v int64) { h.Offset = b.Offset + uint64(b.Length) + uint64(v) }},
	{func(h, _ *Header) int64 { return int64(h.CRC) }, func(h, _ *Header, v int64) { h.CRC = uint32(v) }},
	{func(h, _ *Header) int64 {
		return int64(h.Kind) | int64(h.Layout)<<8 | int64(h.MiniLog)<<16 | int64(h.Times)<<24
	},
		func(h, _ *Header, v int64) {
			h.Kind, h.Layout, h.MiniLog, h.Times = block.Kind(v), Layout(v>>8), uint8(v>>16), codec.TimesForm(v>>24)
		}},
	{func(h, _ *Header) int64 { return int64(h.Count) }, func(h, _ *Header, v int64) { h.Count = int(v & (1<<32 - 1)) }},
	{func(h, _ *Header) int64 { return h.MinT }, func(h, _ *Header, v int64) { h.MinT = v }},
	{func(h, _ *Header) int64 { return h.Step }, func(h, _ *Header, v int64) { h.Step = v }},
	{func(h, _ *Header) int64 { return h.MaxT - h.gridEnd() }, func(h, _ *Header, v int64) { h.MaxT = h.gridEnd() + v }},
	{func(h, _ *Header) int64 { return int64(h.TimesRef) }, func(h, _ *Header, v int64) { h.TimesRef = uint64(v) }},
	{func(h, _ *Header) int64 { return int64(h.Flags &^ derived) }, func(h, _ *Header, v int64) { h.Flags = Flags(v) &^ derived }},
	{func(h, _ *Header) int64 { return int64(h.Domain) | int64(h.Scale)<<8 },
		func(h, _ *Header, v int64) { h.Domain, h.Scale = codec.Domain(v), uint8(v>>8) }},
	{func(h, _ *Header) int64 { return int64(h.Params.Codec) | int64(h.Params.Order)<<4 },
		func(h, _ *Header, v int64) { h.Params.Codec, h.Params.Order = codec.Codec(v&15), uint8(v>>4) }},
	{func(h, _ *Header) int64 { return int64(h.Params.Table) }, func(h, _ *Header, v int64) { h.Params.Table = uint8(v) }},
	{func(h, _ *Header) int64 { return int64(h.Params.Shift) }, func(h, _ *Header, v int64) { h.Params.Shift = uint8(v) }},
	{func(h, _ *Header) int64 { return h.Params.Centre }, func(h, _ *Header, v int64) { h.Params.Centre = v }},
	{func(h, _ *Header) int64 { return h.Divisor }, func(h, _ *Header, v int64) { h.Divisor = v }},
	{func(h, _ *Header) int64 { return h.Base }, func(h, _ *Header, v int64) { h.Base = v }},
	{func(h, _ *Header) int64 { return h.First }, func(h, _ *Header, v int64) { h.First = v }},
	{func(h, _ *Header) int64 { return h.Last - h.First }, func(h, _ *Header, v int64) { h.Last = h.First + v }},
	{func(h, _ *Header) int64 { return min(h.First, h.Last) - h.Min }, func(h, _ *Header, v int64) { h.Min = min(h.First, h.Last) - v }},
	{func(h, _ *Header) int64 { return h.Max - max(h.First, h.Last) }, func(h, _ *Header, v int64) { h.Max = max(h.First, h.Last) + v }},
	{func(h, _ *Header) int64 { return h.Sum - h.sumGuess() }, func(h, _ *Header, v int64) { h.Sum = h.sumGuess() + v }},
	{func(h, _ *Header) int64 { return int64(h.Exceptions) },
		func(h, _ *Header, v int64) {
			if h.Exceptions = int(v & (1<<32 - 1)); h.Exceptions > 0 {
				h.Flags |= FlagHasExc
			}
		}},
	{func(h, _ *Header) int64 { return int64(h.Resets) },
		func(h, _ *Header, v int64) {
			if h.Resets = uint8(v); h.Resets == 0 && h.Kind == block.KindFloat {
				h.Flags |= FlagMonotonic
			}
		}},
	{resetGet(0), resetSet(0)}, {resetGet(1), resetSet(1)}, {resetGet(2), resetSet(2)}, {resetGet(3), resetSet(3)},
}

// derived are the flags that other fields tell.
const derived = FlagHasExc | FlagMonotonic

func resetGet(k int) func(h, _ *Header) int64 {
	return func(h, _ *Header) int64 { return int64(h.ResetAt[k]) }
}

func resetSet(k int) func(h, _ *Header, v int64) {
	return func(h, _ *Header, v int64) { h.ResetAt[k] = uint16(v) }
}

// gridEnd is the time of the last sample if the block is a grid.
func (h *Header) gridEnd() int64 { return h.MinT + int64(h.Count-1)*h.Step }

// sumGuess is what the sum is about.
func (h *Header) sumGuess() int64 {
	if h.Flags&FlagIntExact == 0 {
		return 0
	}
	return int64(h.Count) * (h.First + h.Last + h.Min + h.Max) >> 2
}

// AppendPage appends a page of 1 to PageBlocks headers. Payloads that follow each
// other without a gap need no bytes for their offsets.
//
//	version  byte
//	blocks   byte: one less than there are
//	columns  one for each field
//	crc      CRC-32C of everything before, 4 bytes, little endian
func AppendPage(dst []byte, headers []Header) []byte {
	if len(headers) == 0 || len(headers) > PageBlocks {
		panic("b1: a page of no header or too many")
	}
	begin := len(dst)
	dst = append(dst, Version, byte(len(headers)-1))
	var c columnCoder
	c.columns.Short = true
	values := c.values[:len(headers)]
	none := new(Header)
	for _, f := range fields {
		before := none
		for i := range headers {
			values[i] = f.get(&headers[i], before)
			before = &headers[i]
		}
		dst = c.append(dst, values)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], castagnoli))
}
