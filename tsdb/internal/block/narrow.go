package block

import (
	"encoding/binary"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Narrow is samples of a series in a form in which they are kept decoded: on a grid,
// and decimals of one scale that lie near each other. None is a staleness marker.
type Narrow struct {
	Start, Step int64 // the time of sample i is Start + i*Step, milliseconds; Step is positive
	Count       int
	// The mantissa of sample i is Low and the Width bytes from (First+i)*Width on, a
	// little endian number; Width is 0, 1, 2 or 4.
	Low   int64
	Width uint8
	First int
	Bytes []byte
	Scale uint8 // the value is the mantissa by ten to the power of it; 0: a whole number
	// If the width is 1 these may be the least and the greatest of each ZoneBytes bytes.
	Least, Greatest []byte
}

// ZoneBytes is of how many bytes a Narrow may have the extremes.
const ZoneBytes = 32

// Mantissa returns that of sample i.
func (n *Narrow) Mantissa(i int) int64 {
	i += n.First
	switch n.Width {
	case 0:
		return n.Low
	case 1:
		return n.Low + int64(n.Bytes[i])
	case 2:
		return n.Low + int64(binary.LittleEndian.Uint16(n.Bytes[2*i:]))
	}
	return n.Low + int64(binary.LittleEndian.Uint32(n.Bytes[4*i:]))
}

// Value returns the value with a mantissa.
func (n *Narrow) Value(mantissa int64) float64 { return codec.Decimal(mantissa, n.Scale) }

// End returns the time of the last sample.
func (n *Narrow) End() int64 { return n.Start + int64(n.Count-1)*n.Step }
