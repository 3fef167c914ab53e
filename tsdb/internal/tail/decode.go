package tail

import (
	"encoding/binary"
)

// state is that of the coder after a sample.
type state struct {
	t, delta, start int64
	last            int64 // mantissa, or bits
	scale           uint8
	known           bool // a sample was decoded
}

// openBlock begins with a block, the first of which begins anew.
func (c *Cursor) openBlock(b []byte) {
	_, _, _, anew := readHeader(b)
	c.code = b[headerSize:]
	if !anew {
		return
	}
	was := c.state
	now := state{t: int64(binary.LittleEndian.Uint64(c.code)), known: true}
	c.code = c.code[8:]
	now.delta = c.varint()
	now.start = c.varint()
	now.scale = c.code[0]
	c.code = c.code[1:]
	if now.scale != was.scale {
		c.settle(was.scale)
	}
	if now.scale == asBits {
		now.last = int64(binary.LittleEndian.Uint64(c.code))
		c.code = c.code[8:]
	} else {
		now.last = c.varint()
	}
	c.state = now
	c.add(now.t, now.last, now.delta != was.delta)
}

func (c *Cursor) varint() int64 {
	x, n := binary.Varint(c.code)
	c.code = c.code[n:]
	return x
}

// repeat decodes samples of a run.
func (c *Cursor) repeat() {
	n := min(c.run, c.limit-c.n)
	c.reserve(c.n + n)
	c.run -= n
	times, raw := c.times[c.n:c.n+n], c.raw[c.n:c.n+n]
	for i := range times {
		c.state.t += c.state.delta
		times[i], raw[i] = c.state.t, c.state.last
	}
	c.n += n
}

// quickCode is how far decimals looks ahead: a code byte, a time of two bytes, a
// value of eight.
const quickCode = 1 + 2 + 8

// decimals decodes short codes of decimals, and those long ones that scrapes
// with jitter are made of. It stops where there is anything else.
func (c *Cursor) decimals() {
	b, s := c.code, &c.state
	t, delta, last := s.t, s.delta, s.last
	end := min(c.limit, len(c.times))
	times, raw := c.times[c.n:end], c.raw[c.n:end]
	raw = raw[:len(times)]
	i, n := 0, 0
	changes := uint(0)
	for i < len(b) && n < len(times) {
		code := b[i]
		switch {
		case code < codeFar:
			last += int64(code) - nearDelta
			i++
		case code < codeJitter:
			last += (int64(code-codeFar)<<8 | int64(b[i+1])) - farDelta
			i += 2
		case code >= codeLong:
			size, form := uint(code&valueMask), uint(code>>timeShift&timeMask)
			if size > 8 || form == timeVarint || i+quickCode > len(b) {
				goto done
			}
			// Without branches, which would be guessed wrong: both are as good as
			// random where times jitter.
			shift := 16 - 8*form
			delta += int64(int16(binary.LittleEndian.Uint16(b[i+1:])<<shift) >> shift)
			i += 1 + int(form)
			shift = 64 - 8*size
			last += int64(binary.LittleEndian.Uint64(b[i:])<<shift) >> shift
			i += int(size)
			changes |= form
		case code < codeJitterFar:
			delta += int64(int8(b[i+1]))
			last += int64(code-codeJitter) - nearJitter
			i += 2
			changes = 1
		default:
			delta += int64(int8(b[i+1]))
			last += (int64(code-codeJitterFar)<<8 | int64(b[i+2])) - farJitter
			i += 3
			changes = 1
		}
		t += delta
		times[n], raw[n] = t, last
		n++
	}
done:
	c.code = b[i:]
	s.t, s.delta, s.last = t, delta, last
	c.changed = c.changed || changes != 0
	c.n += n
}

// bits decodes short codes of values that are no decimals.
func (c *Cursor) bits() {
	b, s := c.code, &c.state
	end := min(c.limit, len(c.times))
	i, n := 0, c.n
	for i < len(b) && n < end && b[i] < codeLong {
		shape := b[i]
		if shape >= codeJitter {
			shape -= codeJitter
			i++
			s.delta += int64(int8(b[i]))
			c.changed = true
		}
		x, size := xor(b[i:], shape)
		i += 1 + size
		s.last ^= int64(x)
		s.t += s.delta
		c.times[n], c.raw[n] = s.t, s.last
		n++
	}
	c.code = b[i:]
	c.n = n
}

// xor reads the difference of two values behind b[0]. shape says how many of
// its bytes are zero, above and below; size is the number of the others.
func xor(b []byte, shape byte) (x uint64, size int) {
	below := int(shape & 7)
	size = 8 - int(shape>>3) - below
	if len(b) >= 9 {
		x = binary.LittleEndian.Uint64(b[1:]) & (1<<(8*uint(size)) - 1)
	} else {
		for i := range size {
			x |= uint64(b[1+i]) << (8 * i)
		}
	}
	return x << (8 * below), size
}

// long decodes one long code of any kind. It is the slow twin of decimals too,
// which leaves the end of a block to it.
func (c *Cursor) long() {
	code := c.code[0]
	c.code = c.code[1:]
	switch code & valueMask {
	case valueStart:
		c.state.start = c.varint()
		return
	case valueRun:
		c.run = int(c.code[0])
		c.code = c.code[1:]
		return
	case valueLongRun:
		c.run = int(binary.LittleEndian.Uint16(c.code))
		c.code = c.code[2:]
		return
	}
	s := &c.state
	dod := c.dod(code >> timeShift & timeMask)
	s.delta += dod
	s.t += s.delta
	c.value(code & valueMask)
	c.add(s.t, s.last, dod != 0)
}

func (c *Cursor) dod(form byte) (dod int64) {
	switch form {
	case timeByte:
		dod = int64(int8(c.code[0]))
		c.code = c.code[1:]
	case timeTwo:
		dod = int64(int16(binary.LittleEndian.Uint16(c.code)))
		c.code = c.code[2:]
	case timeVarint:
		dod = c.varint()
	}
	return dod
}

// value decodes the value of a long code.
func (c *Cursor) value(form byte) {
	s := &c.state
	switch form {
	case valueEqual:
	case valueRescaled:
		c.settle(s.scale)
		s.scale = c.code[0]
		c.code = c.code[1:]
		s.last = c.varint()
	case valueXor:
		x, size := xor(c.code, c.code[0])
		s.last ^= int64(x)
		c.code = c.code[1+size:]
	case valueBits:
		c.settle(s.scale)
		s.scale = asBits
		s.last = int64(binary.LittleEndian.Uint64(c.code))
		c.code = c.code[8:]
	default: // a delta of so many bytes
		d := int64(int8(c.code[form-1]))
		for i := int(form) - 2; i >= 0; i-- {
			d = d<<8 | int64(c.code[i])
		}
		s.last += d
		c.code = c.code[form:]
	}
}
