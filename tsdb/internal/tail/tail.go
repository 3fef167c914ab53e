package tail

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/internal/mem"
)

const (
	// plainRun is the number of equal samples in a row that are written one by
	// one before they are counted: short runs are common, and cheap this way.
	plainRun = 3
	maxRun   = math.MaxUint16
)

// asBits is the scale of values that are no decimals.
const asBits = 255

// Tail is the state of one series' coded samples. The zero value is empty. It
// holds no pointers and lives in a mem.Records; all its methods are for one
// goroutine at a time, which the lock of the owner guards.
//
// A Tail belongs to one arena, that of its first Append.
type Tail struct {
	minT, lastT int64
	delta       int64  // between the last two times
	start       int64  // start timestamp of the last sample
	last        uint64 // its value: mantissa, or bits
	count       uint32
	bytes       uint32     // of all blocks
	block       mem.Handle // the open block
	used, size  uint16     // of the open block
	fresh       uint16     // coded samples since the last block that began anew
	equal       uint16     // samples equal to the one before, in equal distance; plainRun of them are written
	scale       uint8      // what last is
	hint        uint8      // the scale that fitted last
	doubt       uint8      // grows with values that are no decimals
	hasStart    bool       // a start timestamp was seen
}

// Append adds a sample. ts is in milliseconds and later than that of the sample
// before, which is the caller's duty; st is its start timestamp, 0 if unknown.
// It returns the bytes of the blocks it took from a, mostly 0.
//
// Cost: some nanoseconds. It allocates nothing but blocks.
func (t *Tail) Append(a *mem.Arena, st, ts int64, v float64) (grown int) {
	last, ok := math.Float64bits(v), true
	var d int64
	switch t.scale {
	case 0:
		var m int64
		m, ok = integer(v)
		last, d = uint64(m), m-int64(t.last)
	case asBits:
	default:
		var m int64
		m, ok = decimal(v, t.scale)
		last, d = uint64(m), m-int64(t.last)
	}
	if !ok || ts-t.lastT != t.delta || st != t.start || t.count == 0 {
		return t.appendAny(a, st, ts, v)
	}
	equal := uint16(0)
	if last == t.last {
		if equal = t.equal + 1; equal > plainRun && equal < maxRun {
			t.equal, t.lastT = equal, ts
			t.count++
			return 0
		}
	} else if t.scale == asBits {
		return t.appendAny(a, st, ts, v)
	}
	far := uint64(d + farDelta)
	if t.equal > plainRun || far >= 2*farDelta || t.used+2 > t.size {
		return t.appendAny(a, st, ts, v)
	}
	b := a.Bytes(t.block, int(t.size))[t.used:]
	switch near := uint64(d + nearDelta); {
	case t.scale == asBits:
		b[0] = codeEqualBits
		t.used++
	case near < 2*nearDelta:
		b[0] = byte(near)
		t.used++
	default:
		b[0], b[1] = codeFar|byte(far>>8), byte(far)
		t.used += 2
	}
	t.equal, t.last, t.lastT = equal, last, ts
	t.count++
	t.fresh++
	return 0
}

// Count returns the number of samples.
func (t *Tail) Count() int { return int(t.count) }

// MinT returns the time of the first sample, 0 if there is none.
func (t *Tail) MinT() int64 { return t.minT }

// MaxT returns the time of the last sample, 0 if there is none.
func (t *Tail) MaxT() int64 { return t.lastT }

// Bytes returns the bytes of all blocks that hold the samples.
func (t *Tail) Bytes() int { return int(t.bytes) }

// Last returns the last sample, bit for bit; zeros if there is none.
func (t *Tail) Last() (ts int64, v float64) {
	if t.scale == asBits {
		return t.lastT, math.Float64frombits(t.last)
	}
	return t.lastT, codec.Decimal(int64(t.last), t.scale)
}

// LastStart returns the start timestamp of the last sample, 0 if it is unknown.
func (t *Tail) LastStart() int64 { return t.start }

// Free gives the blocks back to a and empties t. No Snapshot of t may be in
// use any more.
func (t *Tail) Free(a *mem.Arena) {
	h, size := t.block, int(t.size)
	for h != 0 {
		next, _, nextSize, _ := readHeader(a.Bytes(h, headerSize))
		a.Free(h, size)
		h, size = next, nextSize
	}
	*t = Tail{}
}

// Remove drops the samples inside [mint, maxt] and returns their number and the
// bytes of the blocks it took. Those that are left are coded again, into new
// blocks. The old ones stay where they are, for snapshots that read them, until
// a is released: removing is for the rare delete.
func (t *Tail) Remove(a *mem.Arena, mint, maxt int64) (removed, grown int) {
	if t.count == 0 || mint > maxt || mint > t.lastT || maxt < t.minT {
		return 0, 0
	}
	var s Snapshot
	t.Snapshot(a, &s)
	var left Tail
	c := s.Drain(maxSpan)
	for c.Next() {
		span := c.Span()
		for i := range span.Count {
			ts := span.Time(i)
			if ts >= mint && ts <= maxt {
				removed++
				continue
			}
			grown += left.Append(a, span.StartTime(i), ts, span.Float(i))
		}
	}
	if removed == 0 {
		left.Free(a)
		return 0, 0
	}
	*t = left
	return removed, grown
}
