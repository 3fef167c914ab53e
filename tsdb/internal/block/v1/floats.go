package v1

import (
	"encoding/binary"
	"math"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// A column of floats is one of:
//
//	decimal  values are m / 10^scale, m a column of integers below 2^53;
//	         some values may be listed apart as exceptions
//	near     values are those of a decimal column, each moved by a few units in
//	         the last place: what adding decimals up yields
//	bits     the IEEE 754 bits as a column of integers
//
// Whichever was planned is compared with the values bit for bit while it is
// computed; what does not come back exactly is an exception or rules the form
// out.
//
//	form     byte: 1 decimal, 2 near, 3 bits; +16 with exceptions (decimal)
//	scale    byte, decimal and near
//	exceptions, if flagged: count uvarint, then each distance from the previous
//	         index uvarint, 8 bytes
//	columns  mantissas; for near also the distances
const (
	formDecimal    = 1
	formNear       = 2
	formBits       = 3
	formExceptions = 16
)

// maxMantissa bounds mantissas: below it int64 and float64 agree.
const maxMantissa = 1 << 53

// goodEnough is the cost in bits per value under which a decimal form without
// exceptions is taken without a look at the other forms.
const goodEnough = 20

// exceptionBits is what an exception costs, about.
const exceptionBits = 80

// maxNear is the largest distance, in units in the last place, that is taken as
// a sign that adding up decimals made it.
const maxNear = 1 << 12

type exception struct {
	index int
	bits  uint64
}

// floatCoder plans and writes columns of floats; its scratch is reused.
type floatCoder struct {
	ints       intCoder
	mantissas  []int64
	near       []int64
	distances  []int64
	raw        []int64
	exceptions []exception
}

// append writes a column of at least one float.
func (c *floatCoder) append(dst *streams, v []float64) {
	scale, ok := c.decimal(v)
	best := -1
	var plan intPlan
	form := byte(formBits)
	if ok {
		plan = c.ints.plan(c.mantissas)
		best = plan.cost + len(c.exceptions)*exceptionBits
		form = formDecimal
	}
	if ok && len(c.exceptions) == 0 && best <= goodEnough*len(v) {
		c.appendDecimal(dst, scale, plan)
		return
	}
	nearScale, nearOK := c.nearDecimal(v)
	if nearOK {
		cost := c.ints.plan(c.near).cost + c.ints.plan(c.distances).cost
		if best < 0 || cost < best {
			best, form = cost, formNear
		}
	}
	c.raw = c.raw[:0]
	for _, x := range v {
		c.raw = append(c.raw, int64(math.Float64bits(x)))
	}
	if plan = c.ints.plan(c.raw); best < 0 || plan.cost < best {
		form = formBits
	}
	switch form {
	case formDecimal:
		c.appendDecimal(dst, scale, c.ints.plan(c.mantissas))
	case formNear:
		dst.head = append(dst.head, formNear, nearScale)
		c.ints.appendInts(dst, c.near)
		c.ints.appendInts(dst, c.distances)
	default:
		dst.head = append(dst.head, formBits)
		c.ints.append(dst, c.raw, plan)
	}
}

// appendDecimal writes the mantissas; c.ints must hold their differences.
func (c *floatCoder) appendDecimal(dst *streams, scale byte, plan intPlan) {
	if len(c.exceptions) == 0 {
		dst.head = append(dst.head, formDecimal, scale)
	} else {
		dst.head = append(dst.head, formDecimal|formExceptions, scale)
		dst.head = binary.AppendUvarint(dst.head, uint64(len(c.exceptions)))
		previous := 0
		for _, e := range c.exceptions {
			dst.head = binary.AppendUvarint(dst.head, uint64(e.index-previous))
			dst.head = binary.LittleEndian.AppendUint64(dst.head, e.bits)
			previous = e.index
		}
	}
	c.ints.append(dst, c.mantissas, plan)
}

// decimal finds the smallest scale at which all but a few values are decimals,
// and fills mantissas and exceptions. An exception repeats the mantissa before
// it, which costs least.
func (c *floatCoder) decimal(v []float64) (scale byte, ok bool) {
	limit := 2 + len(v)/32
	strange := 0
	for _, x := range v {
		s := scale
		for s <= codec.MaxScale {
			if _, ok := codec.Mantissa(x, s); ok {
				break
			}
			s++
		}
		if s <= codec.MaxScale {
			scale = s
		} else if strange++; strange > limit {
			return 0, false
		}
	}
	c.mantissas, c.exceptions = c.mantissas[:0], c.exceptions[:0]
	var previous int64
	for i, x := range v {
		m, ok := codec.Mantissa(x, scale)
		if !ok {
			m = previous
			c.exceptions = append(c.exceptions, exception{index: i, bits: math.Float64bits(x)})
			if len(c.exceptions) > limit {
				return 0, false
			}
		}
		c.mantissas = append(c.mantissas, m)
		previous = m
	}
	c.settleHead()
	return scale, true
}

// settleHead lets exceptions before the first decimal repeat that one.
func (c *floatCoder) settleHead() {
	n := 0
	for n < len(c.exceptions) && c.exceptions[n].index == n {
		n++
	}
	if n == 0 || n == len(c.mantissas) {
		return
	}
	for i := range n {
		c.mantissas[i] = c.mantissas[n]
	}
}

// nearDecimal finds the smallest scale at which a sample of the values is close
// to decimals and fills near and distances for all of them.
func (c *floatCoder) nearDecimal(v []float64) (scale byte, ok bool) {
	step := max(1, len(v)/32)
	for i := 0; i < len(v); i += step {
		for !isNear(v[i], scale) {
			if scale++; scale > codec.MaxScale {
				return 0, false
			}
		}
	}
	c.near, c.distances = c.near[:0], c.distances[:0]
	for _, x := range v {
		m := math.RoundToEven(x * math.Pow10(int(scale)))
		if !(math.Abs(m) < maxMantissa) {
			return 0, false
		}
		c.near = append(c.near, int64(m))
		c.distances = append(c.distances, int64(math.Float64bits(x)-math.Float64bits(codec.Decimal(int64(m), scale))))
	}
	return scale, true
}

func isNear(x float64, scale byte) bool {
	m := math.RoundToEven(x * math.Pow10(int(scale)))
	if !(math.Abs(m) < maxMantissa) {
		return false
	}
	return magnitude(int64(math.Float64bits(x)-math.Float64bits(codec.Decimal(int64(m), scale)))) <= maxNear
}

// resize returns a slice of n elements, s where it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
