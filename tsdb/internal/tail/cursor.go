package tail

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// maxSpan is the length of the spans of a query.
const maxSpan = block.MaxSamples

// Cursor decodes a Snapshot. It is a block.Cursor without errors: the bytes are
// this process' own. The zero value has no samples.
//
// A span is a grid if its times are one, and decimals if all of its values are
// decimals that fit one scale; values of different scales are brought to the
// largest. Else it has Times, or Floats.
type Cursor struct {
	snap       Snapshot
	mint, maxt int64
	limit      int
	blocks     [][]byte // the first begins anew
	next       int      // of blocks
	code       []byte   // what is left of the block before next
	run        int      // samples before code that are as the last one
	tailRun    int      // likewise behind the last block
	state      state

	columns
	span block.Span
}

// Reset makes c a cursor over the samples of s inside [mint, maxt], with spans
// of at most maxSamples. It keeps its buffers; the spans handed out before are
// not valid any more.
func (c *Cursor) Reset(s *Snapshot, mint, maxt int64, maxSamples int) {
	if maxSamples < 1 {
		panic("tail: spans of no samples")
	}
	c.snap, c.mint, c.maxt, c.limit = *s, mint, maxt, maxSamples
	clear(c.blocks) // the memory may go while c is kept
	c.blocks, c.next, c.code, c.run, c.tailRun, c.state = c.blocks[:0], 0, nil, 0, 0, state{}
	if s.count == 0 || mint > maxt || maxt < s.minT || mint > s.maxT {
		return
	}
	c.tailRun = int(s.run)
	size := 0
	if c.blocks == nil {
		c.blocks = make([][]byte, 0, 8)
	}
	for h, used := s.block, int(s.used); h != 0; {
		b := s.arena.Bytes(h, used)
		prev, prevUsed, _, anew := readHeader(b)
		c.blocks = append(c.blocks, b)
		size += used
		h, used = prev, prevUsed
		if !anew {
			continue
		}
		first := int64(binary.LittleEndian.Uint64(b[headerSize:]))
		if first <= mint {
			break
		}
		if first > maxt { // so are all samples that were met until here
			c.blocks, c.tailRun, size = c.blocks[:0], 0, 0
		}
	}
	slices.Reverse(c.blocks)
	c.columns.reserve(min(c.limit, int(s.count), size+c.tailRun))
}

// Span returns the current span.
func (c *Cursor) Span() *block.Span { return &c.span }

// Err returns nil.
func (c *Cursor) Err() error { return nil }

// Next moves to the next span.
func (c *Cursor) Next() bool {
	for {
		c.columns.clear()
		c.fill()
		if c.n == 0 {
			return false
		}
		c.settle(c.state.scale)
		c.emit(&c.span, c.snap.hasStart)
		if c.span = c.span.Clip(c.mint, c.maxt); c.span.Count > 0 {
			return true
		}
	}
}

// fill decodes until the columns are full or the samples end.
func (c *Cursor) fill() {
	for c.n < c.limit {
		from := c.n
		switch {
		case c.run > 0:
			c.repeat()
		case len(c.code) > 0:
			c.reserve(min(c.limit, c.n+len(c.code)))
			if c.state.scale == asBits {
				c.bits()
			} else {
				c.decimals()
			}
			if c.n == from {
				c.long()
			}
		case c.next < len(c.blocks):
			if c.state.known && c.state.t >= c.maxt {
				c.next, c.tailRun = len(c.blocks), 0
				return
			}
			c.openBlock(c.blocks[c.next])
			c.next++
		case c.tailRun > 0:
			c.run, c.tailRun = c.tailRun, 0
		default:
			return
		}
		if c.snap.hasStart {
			c.fillStarts(from, c.state.start)
		}
	}
}

// Last returns the last sample of s at or before maxt, found being false if there
// is none. It resets c, and decodes from the last block on that begins anew before
// it.
func (c *Cursor) Last(s *Snapshot, maxt int64) (last block.Sample, found bool) {
	maxt = min(maxt, s.maxT)
	c.Reset(s, maxt, maxt, maxSpan)
	c.mint = math.MinInt64
	for c.Next() {
		i := c.span.Count - 1
		last, found = block.Sample{T: c.span.Time(i), ST: c.span.StartTime(i), F: c.span.Float(i)}, true
	}
	return last, found
}
