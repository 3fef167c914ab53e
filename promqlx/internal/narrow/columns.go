package narrow

import (
	"encoding/binary"

	"github.com/varvedb/varve/tsdb"
)

// sum returns the sum of the mantissas of the samples [i, j).
func sum(p *tsdb.Narrow, i, j int) int64 {
	var s int64
	switch p.Width {
	case 1:
		s = sumBytes(p.Bytes[i:j])
	case 2:
		for b := p.Bytes[2*i : 2*j]; len(b) >= 2; b = b[2:] {
			s += int64(binary.LittleEndian.Uint16(b))
		}
	case 4:
		for b := p.Bytes[4*i : 4*j]; len(b) >= 4; b = b[4:] {
			s += int64(binary.LittleEndian.Uint32(b))
		}
	}
	return s + int64(j-i)*p.Low
}

// sumBytes adds eight bytes at a time, in four lanes of 16 bits of one word.
func sumBytes(b []byte) int64 {
	const (
		lanes = 0x00ff00ff00ff00ff
		ones  = 0x0001000100010001
		// turns is how many additions of two bytes a lane has room for.
		turns = 0xffff / (2 * 0xff)
	)
	var total uint64
	for len(b) >= 8 {
		var s uint64
		for n := min(len(b)/8, turns); n > 0; n-- {
			x := binary.LittleEndian.Uint64(b)
			s += x&lanes + x>>8&lanes
			b = b[8:]
		}
		total += s&0xffff + s>>16&0xffff + s>>32&0xffff + s>>48
	}
	for _, x := range b {
		total += uint64(x)
	}
	return int64(total)
}

// least returns the least mantissa of the samples [i, j), of which there is one.
func least(p *tsdb.Narrow, i, j int) int64 {
	switch p.Width {
	case 1:
		m := p.Bytes[i]
		for _, x := range p.Bytes[i+1 : j] {
			m = min(m, x)
		}
		return p.Low + int64(m)
	case 0:
		return p.Low
	}
	m := p.Mantissa(i)
	for k := i + 1; k < j; k++ {
		m = min(m, p.Mantissa(k))
	}
	return m
}

// greatest returns the greatest mantissa of the samples [i, j), of which there is one.
func greatest(p *tsdb.Narrow, i, j int) int64 {
	switch p.Width {
	case 1:
		return p.Low + int64(greatestByte(p.Bytes[i:j]))
	case 0:
		return p.Low
	}
	m := p.Mantissa(i)
	for k := i + 1; k < j; k++ {
		m = max(m, p.Mantissa(k))
	}
	return m
}

// greatestByte looks at four bytes at a time, so that none waits for the one before.
func greatestByte(b []byte) byte {
	var a, c, d, e byte
	for len(b) >= 4 {
		a, c, d, e = max(a, b[0]), max(c, b[1]), max(d, b[2]), max(e, b[3])
		b = b[4:]
	}
	for _, x := range b {
		a = max(a, x)
	}
	return max(a, c, d, e)
}
