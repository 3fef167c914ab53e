package tail

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/internal/mem"
)

// Snapshot is what a Tail held at one moment. It is a small value without bytes
// of its own that any number of goroutines may read, while samples are appended
// to the Tail, until the arena is released or the Tail is freed.
type Snapshot struct {
	arena      *mem.Arena
	minT, maxT int64
	count      uint32
	block      mem.Handle
	used       uint16
	run        uint16 // samples behind the last code
	hasStart   bool
	scale      uint8
	last       uint64 // value of the last sample: mantissa, or bits
}

// Snapshot fills dst with what t holds now. It copies no samples: some
// nanoseconds.
func (t *Tail) Snapshot(a *mem.Arena, dst *Snapshot) {
	*dst = Snapshot{arena: a, minT: t.minT, maxT: t.lastT, count: t.count, block: t.block, used: t.used, hasStart: t.hasStart, scale: t.scale, last: t.last}
	if t.equal > plainRun {
		dst.run = t.equal - plainRun
	}
}

// Count returns the number of samples.
func (s *Snapshot) Count() int { return int(s.count) }

// MinT returns the time of the first sample, 0 if there is none.
func (s *Snapshot) MinT() int64 { return s.minT }

// MaxT returns the time of the last sample, 0 if there is none.
func (s *Snapshot) MaxT() int64 { return s.maxT }

// Last returns the last sample, as Cursor.Last at its time, without decoding; ok is
// false if there is none, or it may have a start timestamp.
func (s *Snapshot) Last() (last block.Sample, ok bool) {
	if s.count == 0 || s.hasStart {
		return last, false
	}
	if s.scale == asBits {
		return block.Sample{T: s.maxT, F: math.Float64frombits(s.last)}, true
	}
	return block.Sample{T: s.maxT, F: codec.Decimal(int64(s.last), s.scale)}, true
}

// Cursor returns a cursor over the samples inside [mint, maxt], with spans as
// long as a block may be. Who reads many series keeps one Cursor and calls Reset.
func (s *Snapshot) Cursor(mint, maxt int64) *Cursor {
	c := new(Cursor)
	c.Reset(s, mint, maxt, maxSpan)
	return c
}

// Drain returns a cursor over all samples, with spans of maxSamples but for the
// last: what a flush encodes.
func (s *Snapshot) Drain(maxSamples int) *Cursor {
	c := new(Cursor)
	c.Reset(s, math.MinInt64, math.MaxInt64, maxSamples)
	return c
}
