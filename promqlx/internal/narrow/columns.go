package narrow

import (
	"encoding/binary"
	"math"

	"github.com/varvedb/varve/tsdb"
)

// sum returns the sum of the mantissas of the samples [i, j).
func sum(p *tsdb.Narrow, i, j int) int64 {
	s := int64(j-i) * p.Low
	i, j = i+p.First, j+p.First
	switch p.Width {
	case 1:
		s += sumBytes(p.Bytes[i:j])
	case 2:
		for b := p.Bytes[2*i : 2*j]; len(b) >= 2; b = b[2:] {
			s += int64(binary.LittleEndian.Uint16(b))
		}
	case 4:
		for b := p.Bytes[4*i : 4*j]; len(b) >= 4; b = b[4:] {
			s += int64(binary.LittleEndian.Uint32(b))
		}
	}
	return s
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
	case 0:
		return p.Low
	case 1:
		if j-i < tsdb.NarrowZone {
			return p.Low + int64(leastByte(p.Bytes[i+p.First:j+p.First], math.MaxUint8))
		}
		return p.Low + int64(extreme(p, p.Least, i, j, leastByte))
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
	case 0:
		return p.Low
	case 1:
		if j-i < tsdb.NarrowZone {
			return p.Low + int64(greatestByte(p.Bytes[i+p.First:j+p.First], 0))
		}
		return p.Low + int64(extreme(p, p.Greatest, i, j, greatestByte))
	}
	m := p.Mantissa(i)
	for k := i + 1; k < j; k++ {
		m = max(m, p.Mantissa(k))
	}
	return m
}

// extreme finds the extreme byte of the samples [i, j), by those of whole zones where
// they are known.
func extreme(p *tsdb.Narrow, zones []byte, i, j int, of func(b []byte, so byte) byte) byte {
	i, j = i+p.First, j+p.First
	m := p.Bytes[i]
	from, to := (i+tsdb.NarrowZone-1)/tsdb.NarrowZone, j/tsdb.NarrowZone
	if from >= to || len(zones) == 0 {
		return of(p.Bytes[i:j], m)
	}
	m = of(zones[from:to], m)
	m = of(p.Bytes[i:from*tsdb.NarrowZone], m)
	return of(p.Bytes[to*tsdb.NarrowZone:j], m)
}

// greatestByte looks at two bytes at a time, so that not each waits for the one before,
// as words, of which the processor picks one without a branch.
func greatestByte(b []byte, so byte) byte {
	x, y := uint32(so), uint32(so)
	for len(b) >= 2 {
		x, y = max(x, uint32(b[0])), max(y, uint32(b[1]))
		b = b[2:]
	}
	if len(b) > 0 {
		x = max(x, uint32(b[0]))
	}
	return byte(max(x, y))
}

// leastByte is greatestByte the other way round.
func leastByte(b []byte, so byte) byte {
	x, y := uint32(so), uint32(so)
	for len(b) >= 2 {
		x, y = min(x, uint32(b[0])), min(y, uint32(b[1]))
		b = b[2:]
	}
	if len(b) > 0 {
		x = min(x, uint32(b[0]))
	}
	return byte(min(x, y))
}
