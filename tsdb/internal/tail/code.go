package tail

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/mem"
)

// Code bytes below codeLong, and the range of what they hold beside their kind.
const (
	nearDelta = 32 // deltas of one byte: code - nearDelta

	codeFar  = 64 // deltas of two bytes: 14 bits - farDelta
	farDelta = 1 << 13

	codeEqualBits = 8 << 3 // eight zero bytes above

	codeJitter     = 128 // a byte of time, then as codes from 0, or shapes of bits
	nearJitter     = 16
	codeJitterFar  = 160 // a byte of time, then as codes from codeFar
	farJitter      = 1 << 12
	codeLong       = 192
	codeJitterLong = codeLong | timeByte<<timeShift
)

// Fields of code bytes from codeLong on.
const (
	timeShift  = 4
	timeMask   = 3
	timeByte   = 1
	timeTwo    = 2
	timeVarint = 3

	valueMask = 15
)

// What code bytes from codeLong on say of values.
const (
	valueEqual = 0
	// 1 to 8: a mantissa delta of so many bytes
	valueRescaled = 9  // scale, mantissa as a zigzag varint
	valueXor      = 10 // zero bytes above and below as in short codes, bytes between
	valueBits     = 11 // 8 bytes; a decimal was before
	valueRun      = 12 // 1 byte: so many more samples like the last one
	valueLongRun  = 13 // likewise 2 bytes
	valueStart    = 14 // no sample: the start timestamp from now on, zigzag varint
)

const (
	headerSize = 4 + 2
	beginsAnew = 1 << 15
	idleShift  = 8

	maxSample  = 3 + 3*binary.MaxVarintLen64
	slack      = 7 // bytes written behind a sample, to be overwritten
	maxRestart = headerSize + 8 + 3*binary.MaxVarintLen64 + 1

	minBlock = 32
	maxBlock = 512

	// restartAfter is the number of samples after which the next block begins
	// anew: what a reader of a short range decodes in vain.
	restartAfter = 256
)

// appendAny adds a sample of any kind.
func (t *Tail) appendAny(a *mem.Arena, st, ts int64, v float64) (grown int) {
	if t.count == 0 {
		t.first(st, ts, v)
		return t.open(a, nil)
	}
	if t.equal > plainRun {
		var buf [3]byte
		grown = t.put(a, t.appendRun(buf[:0]), false)
	}
	t.equal = 0
	t.count++
	t.fresh++
	if int(t.used)+maxSample+slack <= int(t.size) {
		b := a.Bytes(t.block, int(t.size))
		t.used = uint16(len(t.appendSample(b[:t.used], st, ts, v)))
		return grown
	}
	var buf [maxSample + slack]byte
	b := t.appendSample(buf[:0], st, ts, v)
	return grown + t.put(a, b, t.fresh > restartAfter)
}

// first makes the sample the only one.
func (t *Tail) first(st, ts int64, v float64) {
	*t = Tail{minT: ts, lastT: ts, start: st, hasStart: st != 0, count: 1}
	t.setValue(v)
}

// setValue changes the value of the last sample, whatever it was before.
func (t *Tail) setValue(v float64) {
	m, scale, ok := t.findDecimal(v)
	t.last, t.scale = uint64(m), scale
	if !ok {
		t.last, t.scale = math.Float64bits(v), asBits
	}
}

// put appends the code of a sample to the open block, or to a new one. If
// restart is set that begins anew, with the state after the sample.
func (t *Tail) put(a *mem.Arena, code []byte, restart bool) (grown int) {
	if int(t.used)+len(code) > int(t.size) {
		if restart {
			code = nil
		}
		return t.open(a, code)
	}
	t.used += uint16(copy(a.Bytes(t.block, int(t.size))[t.used:], code))
	return 0
}

// open begins a block with code, or anew if there is none.
func (t *Tail) open(a *mem.Arena, code []byte) (grown int) {
	var buf [maxRestart]byte
	b := binary.LittleEndian.AppendUint32(buf[:0], uint32(t.block))
	what := (t.size-t.used)<<idleShift | t.size/16
	if code == nil {
		b = binary.LittleEndian.AppendUint16(b, beginsAnew|what)
		b = t.appendState(b)
		t.fresh, t.equal = 1, 0
	} else {
		b = binary.LittleEndian.AppendUint16(b, what)
		b = append(b, code...)
	}
	size := min(max(int(t.bytes)/4, minBlock), maxBlock)
	h, block := a.Alloc(max(size, len(b)))
	t.block, t.size, t.used = h, uint16(len(block)), uint16(copy(block, b))
	t.bytes += uint32(len(block))
	return len(block)
}

// readHeader undoes what open wrote: the block before, its size and the bytes
// of it that are in use.
func readHeader(b []byte) (prev mem.Handle, used, size int, anew bool) {
	what := binary.LittleEndian.Uint16(b[4:])
	size = int(what&0xff) * 16
	used = size - int(what&^beginsAnew>>idleShift)
	return mem.Handle(binary.LittleEndian.Uint32(b)), used, size, what&beginsAnew != 0
}

// appendState appends the state after the first sample of a block that begins
// anew.
func (t *Tail) appendState(b []byte) []byte {
	t.shorten()
	b = binary.LittleEndian.AppendUint64(b, uint64(t.lastT))
	b = binary.AppendVarint(b, t.delta)
	b = binary.AppendVarint(b, t.start)
	b = append(b, t.scale)
	if t.scale == asBits {
		return binary.LittleEndian.AppendUint64(b, t.last)
	}
	return binary.AppendVarint(b, int64(t.last))
}

// appendRun appends the samples that were counted but not written.
func (t *Tail) appendRun(b []byte) []byte {
	if n := t.equal - plainRun; n <= math.MaxUint8 {
		return append(b, codeLong|valueRun, byte(n))
	}
	b = append(b, codeLong|valueLongRun)
	return binary.LittleEndian.AppendUint16(b, t.equal-plainRun)
}

// appendSample appends the code of a sample and makes it the last one.
func (t *Tail) appendSample(b []byte, st, ts int64, v float64) []byte {
	if st != t.start {
		b = append(b, codeLong|valueStart)
		b = binary.AppendVarint(b, st)
	}
	at := len(b)
	b = append(b, codeLong)
	delta := ts - t.lastT
	switch dod := delta - t.delta; {
	case dod == 0:
	case dod == int64(int8(dod)):
		b[at] = codeJitterLong
		b = append(b, byte(dod))
	case dod == int64(int16(dod)):
		b[at] |= timeTwo << timeShift
		b = binary.LittleEndian.AppendUint16(b, uint16(dod))
	default:
		b[at] |= timeVarint << timeShift
		b = binary.AppendVarint(b, dod)
	}
	t.lastT, t.delta, t.start = ts, delta, st
	t.hasStart = t.hasStart || st != 0
	if t.scale == asBits {
		return t.appendBits(b, at, v)
	}
	return t.appendDecimal(b, at, v)
}

// appendDecimal appends a value after a decimal; the code byte is b[at].
func (t *Tail) appendDecimal(b []byte, at int, v float64) []byte {
	m, ok := decimal(v, t.scale)
	if !ok {
		if t.setValue(v); t.scale != asBits {
			return t.appendRescaled(b, at)
		}
		b[at] |= valueBits
		return binary.LittleEndian.AppendUint64(b, t.last)
	}
	d := m - int64(t.last)
	t.last = uint64(m)
	switch {
	case b[at] == codeLong && d >= -nearDelta && d < nearDelta:
		b[at] = byte(d + nearDelta)
		return b
	case b[at] == codeLong && d >= -farDelta && d < farDelta:
		b[at] = codeFar | byte((d+farDelta)>>8)
		return append(b, byte(d))
	case b[at] == codeJitterLong && d >= -nearJitter && d < nearJitter:
		b[at] = codeJitter | byte(d+nearJitter)
		return b
	case b[at] == codeJitterLong && d >= -farJitter && d < farJitter:
		b[at] = codeJitterFar | byte((d+farJitter)>>8)
		return append(b, byte(d))
	case d == 0:
		return b
	}
	n := bits.Len64(uint64(d^d>>63))/8 + 1
	b[at] |= byte(n)
	return binary.LittleEndian.AppendUint64(b, uint64(d))[:len(b)+n]
}

// appendRescaled appends the last value, a decimal of another scale.
func (t *Tail) appendRescaled(b []byte, at int) []byte {
	b[at] |= valueRescaled
	b = append(b, t.scale)
	return binary.AppendVarint(b, int64(t.last))
}

// appendBits appends a value after one that is no decimal.
func (t *Tail) appendBits(b []byte, at int, v float64) []byte {
	now := math.Float64bits(v)
	x := now ^ t.last
	if x != 0 {
		if t.setValue(v); t.scale != asBits {
			return t.appendRescaled(b, at)
		}
	}
	above := bits.LeadingZeros64(x) / 8
	below := 0
	if x != 0 {
		below = bits.TrailingZeros64(x) / 8
	}
	shape := byte(above<<3 | below)
	switch {
	case b[at] == codeLong:
		b[at] = shape
	case x == 0:
		return b
	case b[at] == codeJitterLong:
		b[at] = codeJitter | shape
	default:
		b[at] |= valueXor
		b = append(b, shape)
	}
	return binary.LittleEndian.AppendUint64(b, x>>(8*below))[:len(b)+8-above-below]
}
