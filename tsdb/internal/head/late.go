package head

import (
	"encoding/binary"
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/mem"
)

// lateList is late floats in order of arrival, in blocks of an arena that are
// chained backwards, each twice as large as the one before. What is in them does
// not change, so a copy of the list is a snapshot.
type lateList struct {
	block     mem.Handle // the last one
	used, cap uint16     // samples in it, and room
}

const (
	lateHeader   = 8 // handle of the block before, its samples
	lateSize     = 24
	firstLateCap = 5
	maxLateCap   = 170
)

func (l *lateList) empty() bool { return l.block == 0 }

// add appends a sample and returns the bytes it took.
func (l *lateList) add(a *mem.Arena, st, t int64, v float64) (grown int) {
	if l.used == l.cap {
		room := min(max(firstLateCap, 2*l.cap), maxLateCap)
		size := lateHeader + lateSize*int(room)
		h, b := a.Alloc(size)
		binary.LittleEndian.PutUint32(b, uint32(l.block))
		binary.LittleEndian.PutUint32(b[4:], uint32(l.used))
		*l = lateList{block: h, cap: room}
		grown = mem.Size(size)
	}
	at := lateHeader + lateSize*int(l.used)
	b := a.Bytes(l.block, at+lateSize)[at:]
	binary.LittleEndian.PutUint64(b, uint64(t))
	binary.LittleEndian.PutUint64(b[8:], uint64(st))
	binary.LittleEndian.PutUint64(b[16:], math.Float64bits(v))
	l.used++
	return grown
}

// all returns the samples in order of arrival.
func (l lateList) all(a *mem.Arena) []sample {
	var blocks []lateList
	n := 0
	for l.block != 0 {
		blocks = append(blocks, l)
		n += int(l.used)
		b := a.Bytes(l.block, lateHeader)
		l = lateList{block: mem.Handle(binary.LittleEndian.Uint32(b)), used: uint16(binary.LittleEndian.Uint32(b[4:]))}
	}
	out := make([]sample, 0, n)
	for i := len(blocks) - 1; i >= 0; i-- {
		used := int(blocks[i].used)
		b := a.Bytes(blocks[i].block, lateHeader+lateSize*used)[lateHeader:]
		for ; len(b) > 0; b = b[lateSize:] {
			out = append(out, sample{
				kind: block.KindFloat,
				t:    int64(binary.LittleEndian.Uint64(b)),
				st:   int64(binary.LittleEndian.Uint64(b[8:])),
				v:    math.Float64frombits(binary.LittleEndian.Uint64(b[16:])),
			})
		}
	}
	return out
}
