package b1

import (
	"encoding/binary"
	"fmt"
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

// AppendPage appends a page of 1 to PageBlocks headers, each with the checksum
// of its own payload. Payloads that follow each other without a gap need no bytes
// for their offsets.
//
//	version  byte
//	blocks   byte: one less than there are; 1<<7 if they share a checksum
//	columns  one for each field
//	crc      CRC-32C of everything before, 4 bytes, little endian
func AppendPage(dst []byte, headers []Header) []byte { return appendPage(dst, headers, 0) }

// SharedBytes is the most bytes of payloads that share a checksum.
const SharedBytes = 1 << 14

const pageShared = 1 << 7

// AppendSharedPage is AppendPage with one checksum for the payloads of all
// blocks: four bytes less for each, for as many more to be read before one of
// them is believed. It takes AppendPage if payloads do not follow each other or
// take more than SharedBytes. See Header.Place.
func AppendSharedPage(dst []byte, headers []Header) []byte {
	run := uint64(0)
	for i := range headers {
		if h := &headers[i]; h.Offset == headers[0].Offset+run {
			run += uint64(h.Length)
			continue
		}
		return AppendPage(dst, headers)
	}
	if len(headers) < 2 || run > SharedBytes {
		return AppendPage(dst, headers)
	}
	return appendPage(dst, headers, pageShared)
}

func appendPage(dst []byte, headers []Header, shared byte) []byte {
	if len(headers) == 0 || len(headers) > PageBlocks {
		panic("b1: a page of no header or too many")
	}
	begin := len(dst)
	dst = append(dst, Version, byte(len(headers)-1)|shared)
	var c columnCoder
	c.columns.Short = true
	values := c.values[:len(headers)]
	for i := range headers {
		if headers[i].Run > 0 {
			panic("b1: the checksum of a payload is that of more than it: call Alone")
		}
	}
	none := new(Header)
	for k, f := range fields {
		before := none
		for i := range headers {
			values[i] = f.get(&headers[i], before)
			before = &headers[i]
		}
		if k == fieldCRC && shared != 0 {
			crc := int64(runChecksum(headers))
			for i := range values {
				values[i] = crc
			}
		}
		dst = c.append(dst, values)
	}
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], castagnoli))
}

const fieldCRC = 3

// runChecksum is the checksum of all payloads, made of the checksum of each.
func runChecksum(headers []Header) (crc uint32) {
	for i := range headers {
		for range headers[i].Length {
			crc = castagnoli[byte(crc)] ^ crc>>8
		}
		crc ^= headers[i].CRC
	}
	return crc
}

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
	if body[0] == 0 {
		return dst, corruptf("page of headers: version 0")
	}
	n := int(body[1]&^pageShared) + 1
	at := len(dst)
	dst = append(dst, make([]Header, n)...)
	out := dst[at:]
	r := codec.NewReader(body[2:])
	c := columnReader{r: &r}
	values := c.values[:n]
	none := new(Header)
	for _, f := range fields {
		c.read(values)
		before := none
		for i := range out {
			f.set(&out[i], before, values[i])
			before = &out[i]
		}
	}
	if r.Bad() || r.Len() > 0 {
		return dst[:at], corruptf("page of headers: columns do not parse")
	}
	for i := range out {
		if err := out[i].Check(); err != nil {
			return dst[:at], fmt.Errorf("page of headers: block %d: %w", i, err)
		}
	}
	if body[1]&pageShared != 0 && !share(out) {
		return dst[:at], corruptf("page of headers: payloads cannot share a checksum")
	}
	return dst, nil
}

// share tells headers the run that their checksum is of; false if that cannot
// be.
func share(headers []Header) bool {
	run := uint64(0)
	for i := range headers {
		h := &headers[i]
		if h.Offset != headers[0].Offset+run || h.CRC != headers[0].CRC {
			return false
		}
		h.Before = uint32(run)
		if run += uint64(h.Length); run > SharedBytes {
			return false
		}
	}
	if len(headers) < 2 {
		return false
	}
	for i := range headers {
		headers[i].Run = uint32(run)
	}
	return true
}
