package tail

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

const (
	maxMantissa = 1 << 53

	// Searched for are numbers people write: up to 15 digits, for which any
	// decimal is its own shortest form. With more, doubles of no pattern fit by
	// chance and gain nothing.
	maxDigits   = 1e15
	searchScale = 15

	// From doubtful on only every sixteenth value is tried.
	doubtful, maxDoubt, tryEvery = 8, 24, 16
)

// pow10 has 32 entries so that a masked scale needs no check of bounds.
var pow10 = [32]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// integer is codec.Mantissa with scale 0.
func integer(v float64) (m int64, ok bool) {
	// What conversion makes of numbers that are too large differs between
	// machines; comparing finds out.
	m = int64(v)
	return m, math.Float64bits(float64(m)) == math.Float64bits(v) && uint64(m+maxMantissa-1) <= 2*(maxMantissa-1)
}

// decimal is codec.Mantissa for hot loops.
func decimal(v float64, scale uint8) (m int64, ok bool) {
	p := pow10[scale&31]
	m = int64(math.RoundToEven(v * p))
	return m, math.Float64bits(float64(m)/p) == math.Float64bits(v) && uint64(m+maxMantissa-1) <= 2*(maxMantissa-1)
}

// findDecimal looks for a scale with which v is a decimal, the one that fitted
// last first. It gives up early where it failed often.
func (t *Tail) findDecimal(v float64) (m int64, scale uint8, ok bool) {
	if math.IsNaN(v) || math.IsInf(v, 0) || v == 0 && math.Signbit(v) {
		return 0, 0, false // a staleness marker says nothing about the values after it
	}
	if t.doubt >= doubtful && t.count%tryEvery != 0 {
		return 0, 0, false
	}
	if m, ok = codec.Mantissa(v, t.hint); ok && (t.hint == 0 || math.Abs(float64(m)) < maxDigits) {
		t.doubt /= 2
		return m, t.hint, true
	}
	for scale = range searchScale + 1 {
		if scale > 0 && math.Abs(v*pow10[scale]) >= maxDigits {
			break
		}
		if m, ok = codec.Mantissa(v, scale); ok {
			t.doubt /= 2
			t.hint = scale
			return m, scale, true
		}
	}
	t.doubt = min(t.doubt+4, maxDoubt)
	return 0, 0, false
}

// shorten drops trailing zeros of the mantissa: one odd value with many digits
// raises the scale of all that follow, until a block begins anew.
func (t *Tail) shorten() {
	if t.scale == asBits {
		return
	}
	m := int64(t.last)
	for m != 0 && t.scale > 0 && m%10 == 0 {
		m /= 10
		t.scale--
	}
	t.last = uint64(m)
	t.hint = t.scale
}
