package b1

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Concat appends to dst the payload of a block with the samples of a and then
// those of b, whose mini-blocks it takes over as they are, and fills h but for
// the fields that are the caller's. ok is false, and dst as it was, where that
// cannot be: both must be floats on one grid and coded alike, without start
// timestamps, a must end with a whole mini-block, and both must fit a block.
//
// It costs some ten nanoseconds a mini-block. Of the statistics only resets may
// be fewer than an Encoder would have found.
func Concat(dst []byte, h *Header, a, b *Block) (payload []byte, ok bool) {
	if !joins(a, b) {
		return dst, false
	}
	*h = a.h
	h.Series, h.Offset, h.TimesRef = 0, 0, 0
	h.Count, h.MaxT, h.Step = a.h.Count+b.h.Count, b.h.MaxT, b.h.MinT-a.h.MaxT
	h.Exceptions = a.h.Exceptions + b.h.Exceptions
	if h.Exceptions > codec.Limit(h.Count) {
		return dst, false
	}
	h.joinStatistics(a, b)
	from := len(dst)
	dst = appendJoined(dst, h, a, b)
	h.Length, h.CRC = uint32(len(dst)-from), crc32.Checksum(dst[from:], castagnoli)
	if h.Check() != nil {
		return dst[:from], false
	}
	return dst, true
}

// joins tells whether two blocks are coded alike.
func joins(a, b *Block) bool {
	x, y := &a.h, &b.h
	switch {
	case x.Kind != block.KindFloat || y.Kind != x.Kind, x.Layout != LayoutMinis || y.Layout != x.Layout,
		x.Times != codec.TimesGrid || y.Times != x.Times, (x.Flags|y.Flags)&FlagStartTimes != 0:
		return false
	case x.Count&(x.mini()-1) != 0, x.Count+y.Count > MaxSamples, y.MinT <= x.MaxT:
		return false
	case x.Domain != y.Domain, x.Scale != y.Scale, x.MiniLog != y.MiniLog, x.Params != y.Params, x.Divisor != y.Divisor, x.Base != y.Base:
		return false
	case x.Domain == codec.NearTens && a.ulps != b.ulps:
		return false
	}
	step := y.MinT - x.MaxT
	return (x.Count == 1 || x.Step == step) && (y.Count == 1 || y.Step == step)
}

// joinStatistics makes those of h out of both blocks'.
func (h *Header) joinStatistics(a, b *Block) {
	x, y := &a.h, &b.h
	h.First, h.Last = x.First, y.Last
	h.Min, h.Max = min(x.Min, y.Min), max(x.Max, y.Max)
	h.Flags = (x.Flags | y.Flags) & (FlagHasStale | FlagHasExc | FlagSpecial)
	if h.Domain == codec.Decimals10 && narrow(h.Min, h.Max) {
		h.Flags |= FlagNarrow
	}
	h.Sum = 0
	if x.Flags&y.Flags&FlagIntExact != 0 && intExact(h) {
		h.Flags |= FlagIntExact
		h.Sum = x.Sum + y.Sum
	}
	h.joinResets(a, b)
}

func (h *Header) joinResets(a, b *Block) {
	x, y := &a.h, &b.h
	h.Resets, h.ResetAt = manyResets, [maxResets]uint16{}
	last, ok := a.at(x.Count - 1)
	first, ok2 := b.at(0)
	if !ok || !ok2 || x.Resets >= manyResets || y.Resets >= manyResets {
		return
	}
	list := append(make([]uint16, 0, 2*maxResets+1), x.ResetAt[:x.Resets]...)
	if first < last {
		list = append(list, uint16(x.Count))
	}
	for _, at := range y.ResetAt[:y.Resets] {
		list = append(list, at+uint16(x.Count))
	}
	if len(list) > maxResets {
		return
	}
	h.Resets = uint8(copy(h.ResetAt[:], list))
	if h.Resets == 0 {
		h.Flags |= FlagMonotonic
	}
}

// appendJoined appends the payload.
func appendJoined(dst []byte, h *Header, a, b *Block) []byte {
	list := append(make([]codec.Exception, 0, h.Exceptions), a.exceptions...)
	for _, e := range b.exceptions {
		list = append(list, codec.Exception{Index: e.Index + a.h.Count, Bits: e.Bits})
	}
	dst = codec.AppendExceptions(dst, list)
	if h.Domain == codec.NearTens {
		dst = append(dst, byte(a.ulps.Codec)|a.ulps.Order<<2, a.ulps.Table, a.ulps.Shift)
		dst = binary.AppendVarint(dst, a.ulps.Centre)
	}
	var d directory
	for c := range d {
		if h.hasColumn(c) {
			n := a.h.minis()
			for k := range n {
				d[c][k] = a.dir.at(c, k)
			}
			for k := range b.h.minis() {
				d[c][n+k] = b.dir.at(c, k)
			}
		}
	}
	dst = d.append(dst, h)
	return append(append(dst, a.data...), b.data...)
}
