package record

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/model/value"
)

const (
	maxMantissa = 1 << 53 // below it int64 and float64 agree
	// Adding and subtracting it rounds what is less than a quarter of maxMantissa.
	roundAway   = 1<<52 + 1<<51
	maxMisses   = 16 // so many floats in a row that are no decimals make the next ones raw,
	retryMisses = 16 // but for one in so many, which is looked at
)

// scaleGuess remembers what the values before were like. It decides how long the
// encoder looks for a short form, never what a value is decoded to.
type scaleGuess struct {
	scale  uint8
	misses int
}

// follow codes a float after another sample of its series.
func (e *ColumnEncoder) follow(v float64) {
	b := math.Float64bits(v)
	if b == e.base.bits {
		e.values = append(e.values, codeSame)
		return
	}
	e.base.bits = b
	m, ok := mantissa(v, e.base.scale)
	if !ok {
		e.single(v, b)
		return
	}
	z := zigzag(m - e.base.mantissa)
	e.base.mantissa = m
	switch {
	case z < codeAbsolute:
		e.values = append(e.values, byte(z))
	case z < nearEnd:
		e.near(z)
	default:
		e.number(codeDelta, z)
	}
}

// near codes an integer from codeAbsolute on and below nearEnd.
func (e *ColumnEncoder) near(z uint64) {
	z -= codeAbsolute
	e.values = append(e.values, codeNear+byte(z>>8), byte(z))
}

// single codes a float, whose bits are b, by itself.
func (e *ColumnEncoder) single(v float64, b uint64) {
	m := int64(v)
	if math.Float64bits(float64(m)) == b {
		e.integer(m, b)
		return
	}
	m, scale, ok := e.guess.decimal(v)
	z := zigzag(m)
	switch {
	case ok && z < 1<<(8*absoluteLengths):
		e.base.mantissa, e.base.scale = m, scale
		e.number(codeAbsolute+absoluteLengths*scale, z)
	case b == value.StaleNaN:
		e.values = append(e.values, codeStale)
	default:
		e.raw(b)
	}
}

// integer codes a float, whose bits are b and whose value is m, by itself.
func (e *ColumnEncoder) integer(m int64, b uint64) {
	z := zigzag(m)
	if z >= 2*maxMantissa {
		e.raw(b)
		return
	}
	e.base.mantissa, e.base.scale = m, 0
	if z < 1<<(8*absoluteLengths) {
		e.number(codeAbsolute, z)
		return
	}
	e.values = append(e.values, codeWide)
	e.values = appendLow(e.values, z, deltaLengths)
}

// raw writes the bits of a float, but for the lower bytes that are zero.
func (e *ColumnEncoder) raw(b uint64) {
	n := 8 - bits.TrailingZeros64(b|1<<63)/8
	e.values = append(e.values, codeRaw+byte(n))
	e.values = appendLow(e.values, b>>(64-8*n), n)
}

// number writes z in the fewest bytes, at least one, and code plus their number
// less one before it.
func (e *ColumnEncoder) number(code uint8, z uint64) {
	n := max(1, (bits.Len64(z)+7)/8)
	e.values = append(e.values, code+byte(n-1))
	e.values = appendLow(e.values, z, n)
}

// appendLow adds the n lower bytes of x.
func appendLow(dst []byte, x uint64, n int) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, x)
	return dst[:len(dst)-8+n]
}

// mantissa returns the m that decimal makes v of, bit for bit.
func mantissa(v float64, scale uint8) (m int64, ok bool) {
	if scale == 0 {
		m = int64(v) // any number where v is out of its range
		return m, m > -maxMantissa && m < maxMantissa && math.Float64bits(float64(m)) == math.Float64bits(v)
	}
	x := float64(v * pow10[scale])
	m = int64((x + roundAway) - roundAway)
	return m, math.Abs(x) < maxMantissa/4 && math.Float64bits(decimal(m, scale)) == math.Float64bits(v)
}

// decimal finds an integer m and a scale that make v, which is no integer itself,
// mostly the shortest.
func (g *scaleGuess) decimal(v float64) (m int64, scale uint8, ok bool) {
	if g.misses >= maxMisses && g.misses%retryMisses != 0 {
		g.misses++
		return 0, 0, false
	}
	if m, ok = mantissa(v, g.scale); ok && m%100 != 0 {
		g.misses = 0
		return m, g.scale, true
	}
	if m, scale, ok = longDecimal(v); !ok {
		g.misses++
		return 0, 0, false
	}
	for ; m%10 == 0 && scale > 0; scale-- {
		m /= 10
	}
	g.misses, g.scale = 0, scale
	return m, scale, true
}

// longDecimal takes the largest scale at which six bytes hold v.
func longDecimal(v float64) (m int64, scale uint8, ok bool) {
	switch size := math.Abs(v); {
	case size < 1e5:
		scale = 9
	case size < 1e9:
		scale = 5
	case size < 1e12:
		scale = 2
	default:
		return 0, 0, false
	}
	m, ok = mantissa(v, scale)
	return m, scale, ok
}
