package b1

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math/bits"

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
// one of a header as a small number, set undoes it; before is the header of the
// block before in the page, zero for the first. A field may rely on those
// before it.
var fields = []struct {
	get func(h, before *Header) uint64
	set func(h, before *Header, v uint64)
}{
	{func(h, b *Header) uint64 { return uint64(h.Series - b.Series) }, func(h, b *Header, v uint64) { h.Series = b.Series + uint32(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Length) }, func(h, _ *Header, v uint64) { h.Length = uint32(v) }},
	{func(h, b *Header) uint64 { return h.Offset - b.Offset - uint64(b.Length) }, func(h, b *Header, v uint64) { h.Offset = b.Offset + uint64(b.Length) + v }},
	{func(h, _ *Header) uint64 { return uint64(h.CRC) }, func(h, _ *Header, v uint64) { h.CRC = uint32(v) }},
	{func(h, _ *Header) uint64 {
		return uint64(h.Kind) | uint64(h.Layout)<<8 | uint64(h.MiniLog)<<16 | uint64(h.Times)<<24
	},
		func(h, _ *Header, v uint64) {
			h.Kind, h.Layout, h.MiniLog, h.Times = block.Kind(v), Layout(v>>8), uint8(v>>16), codec.TimesForm(v>>24)
		}},
	{func(h, _ *Header) uint64 { return uint64(h.Count) }, func(h, _ *Header, v uint64) { h.Count = int(v & (1<<32 - 1)) }},
	{func(h, _ *Header) uint64 { return zigzag(h.MinT) }, func(h, _ *Header, v uint64) { h.MinT = unzigzag(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Step) }, func(h, _ *Header, v uint64) { h.Step = int64(v) }},
	{func(h, _ *Header) uint64 { return zigzag(h.MaxT - h.gridEnd()) }, func(h, _ *Header, v uint64) { h.MaxT = h.gridEnd() + unzigzag(v) }},
	{func(h, _ *Header) uint64 { return h.TimesRef }, func(h, _ *Header, v uint64) { h.TimesRef = v }},
	{func(h, _ *Header) uint64 { return uint64(h.Flags) }, func(h, _ *Header, v uint64) { h.Flags = Flags(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Domain) | uint64(h.Scale)<<8 },
		func(h, _ *Header, v uint64) { h.Domain, h.Scale = codec.Domain(v), uint8(v>>8) }},
	{func(h, _ *Header) uint64 {
		return uint64(h.Params.Codec) | uint64(h.Params.Order)<<4 | uint64(h.Params.Table)<<8 | uint64(h.Params.Shift)<<16
	},
		func(h, _ *Header, v uint64) {
			h.Params = codec.Params{Codec: codec.Codec(v & 15), Order: uint8(v >> 4 & 15), Table: uint8(v >> 8), Shift: uint8(v >> 16)}
		}},
	{func(h, _ *Header) uint64 { return zigzag(h.Params.Centre) }, func(h, _ *Header, v uint64) { h.Params.Centre = unzigzag(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Divisor) }, func(h, _ *Header, v uint64) { h.Divisor = int64(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Base) }, func(h, _ *Header, v uint64) { h.Base = int64(v) }},
	{func(h, _ *Header) uint64 { return zigzag(h.First) }, func(h, _ *Header, v uint64) { h.First = unzigzag(v) }},
	{func(h, _ *Header) uint64 { return zigzag(h.Last - h.First) }, func(h, _ *Header, v uint64) { h.Last = h.First + unzigzag(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.First - h.Min) }, func(h, _ *Header, v uint64) { h.Min = h.First - int64(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Max - h.First) }, func(h, _ *Header, v uint64) { h.Max = h.First + int64(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Sum - h.sumFloor()) }, func(h, _ *Header, v uint64) { h.Sum = h.sumFloor() + int64(v) }},
	{func(h, _ *Header) uint64 { return uint64(h.Exceptions) }, func(h, _ *Header, v uint64) { h.Exceptions = int(v & (1<<32 - 1)) }},
	{func(h, _ *Header) uint64 { return uint64(h.Resets) }, func(h, _ *Header, v uint64) { h.Resets = uint8(v) }},
	{resetGet(0), resetSet(0)}, {resetGet(1), resetSet(1)}, {resetGet(2), resetSet(2)}, {resetGet(3), resetSet(3)},
}

func resetGet(k int) func(h, _ *Header) uint64 {
	return func(h, _ *Header) uint64 { return uint64(h.ResetAt[k]) }
}

func resetSet(k int) func(h, _ *Header, v uint64) {
	return func(h, _ *Header, v uint64) { h.ResetAt[k] = uint16(v) }
}

// gridEnd is the time of the last sample if the block is a grid.
func (h *Header) gridEnd() int64 { return h.MinT + int64(h.Count-1)*h.Step }

// sumFloor is the least the sum can be.
func (h *Header) sumFloor() int64 {
	if h.Flags&FlagIntExact == 0 {
		return 0
	}
	return int64(h.Count) * h.Min
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// Forms of a column.
const (
	formConst  = 0x80 // the value, uvarint
	formDict   = 0x81 // count byte, values uvarint; then indexes
	formPacked = 0    // to 64: width; base uvarint, then value - base
	maxDict    = 16
)

// AppendPage appends a page of 1 to PageBlocks headers. Payloads that follow
// each other without a gap need no bytes for their offsets.
//
//	version  byte
//	blocks   byte
//	columns  one for each field: form byte, what the form asks for, bits
//	crc      CRC-32C of everything before, 4 bytes, little endian
func AppendPage(dst []byte, headers []Header) []byte {
	if len(headers) == 0 || len(headers) > PageBlocks {
		panic("b1: AppendPage of no header or too many")
	}
	begin := len(dst)
	dst = append(dst, Version, byte(len(headers)))
	var values [PageBlocks]uint64
	for _, f := range fields {
		before := &Header{}
		for i := range headers {
			values[i] = f.get(&headers[i], before)
			before = &headers[i]
		}
		dst = appendColumn(dst, values[:len(headers)])
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], castagnoli))
}

func appendColumn(dst []byte, v []uint64) []byte {
	low, high := v[0], v[0]
	var dict [maxDict]uint64
	known, fits := 0, true
	var index [PageBlocks]uint64
	for i, x := range v {
		low, high = min(low, x), max(high, x)
		k := 0
		for k < known && dict[k] != x {
			k++
		}
		if k == known {
			if fits = fits && known < maxDict; !fits {
				continue
			}
			dict[known] = x
			known++
		}
		index[i] = uint64(k)
	}
	if low == high {
		return binary.AppendUvarint(append(dst, formConst), low)
	}
	width := uint(bits.Len64(high - low))
	packed := 1 + uvarintLen(low) + (len(v)*int(width)+7)/8
	if fits {
		w := uint(bits.Len(uint(known - 1)))
		size := 2 + (len(v)*int(w)+7)/8
		for _, x := range dict[:known] {
			size += uvarintLen(x)
		}
		if size < packed {
			dst = append(dst, formDict, byte(known))
			for _, x := range dict[:known] {
				dst = binary.AppendUvarint(dst, x)
			}
			return codec.AppendBits(dst, index[:len(v)], w)
		}
	}
	dst = binary.AppendUvarint(append(dst, byte(width)), low)
	for i, x := range v {
		index[i] = x - low
	}
	return codec.AppendBits(dst, index[:len(v)], width)
}

func uvarintLen(v uint64) int { return (bits.Len64(v|1) + 6) / 7 }

// AppendHeaders appends the headers of a page to dst. Damage, and headers that
// no Encoder made, yield an error that wraps block.ErrCorrupt; a newer version
// one that wraps block.ErrVersion.
func AppendHeaders(dst []Header, page []byte) ([]Header, error) {
	if len(page) < 2+4 {
		return dst, corruptf("page of headers: %d bytes", len(page))
	}
	body := page[:len(page)-4]
	if got, want := crc32.Checksum(body, castagnoli), binary.LittleEndian.Uint32(page[len(body):]); got != want {
		return dst, corruptf("page of headers: checksum %08x, want %08x", got, want)
	}
	if body[0] > Version {
		return dst, fmt.Errorf("page of headers: version %d: %w", body[0], block.ErrVersion)
	}
	n := int(body[1])
	if body[0] == 0 || n == 0 || n > PageBlocks {
		return dst, corruptf("page of headers: version %d, %d blocks", body[0], n)
	}
	at := len(dst)
	dst = append(dst, make([]Header, n)...)
	out := dst[at:]
	r := reader{b: body[2:]}
	var values [PageBlocks]uint64
	for _, f := range fields {
		r.column(values[:n])
		before := &Header{}
		for i := range out {
			f.set(&out[i], before, values[i])
			before = &out[i]
		}
	}
	if r.bad || len(r.b) > 0 {
		return dst[:at], corruptf("page of headers: columns do not parse")
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			return dst[:at], fmt.Errorf("page of headers: block %d: %w", i, err)
		}
	}
	return dst, nil
}

// column reads one column of len(v) numbers.
func (r *reader) column(v []uint64) {
	switch form := r.byte(); {
	case form == formConst:
		x := r.uvarint()
		for i := range v {
			v[i] = x
		}
	case form == formDict:
		var dict [maxDict]uint64
		n := int(r.byte())
		if n < 2 || n > maxDict {
			r.fail()
			return
		}
		for k := range n {
			dict[k] = r.uvarint()
		}
		width := uint(bits.Len(uint(n - 1)))
		packed := r.take(uint64(len(v)*int(width)+7) / 8)
		for i := range v {
			v[i] = dict[codec.Bits(packed, uint(i)*width, width)%maxDict]
		}
	case form <= 64:
		low := r.uvarint()
		width := uint(form)
		packed := r.take(uint64(len(v)*int(width)+7) / 8)
		for i := range v {
			v[i] = low + codec.Bits(packed, uint(i)*width, width)
		}
	default:
		r.fail()
	}
}
