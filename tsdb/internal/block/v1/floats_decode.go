package v1

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// floats reads a column of n >= 1 values into span: as mantissas where the
// column has no exceptions, as floats otherwise.
func (d *decoder) floats(n int, span *block.Span, buf *Buffer) {
	form := d.head.Byte()
	switch form {
	case formDecimal:
		span.Scale = d.scale()
		buf.ints = resize(buf.ints, n)
		d.ints(buf.ints)
		d.checkMantissas(buf.ints)
		span.Ints64 = buf.ints
		return
	case formDecimal | formExceptions:
		d.decimalWithExceptions(n, buf)
	case formNear:
		d.nearDecimal(n, buf)
	case formBits:
		buf.ints, buf.floats = resize(buf.ints, n), resize(buf.floats, n)
		d.ints(buf.ints)
		for i, b := range buf.ints {
			buf.floats[i] = math.Float64frombits(uint64(b))
		}
	default:
		d.head.Fail()
	}
	span.Floats = buf.floats
}

func (d *decoder) scale() byte {
	s := d.head.Byte()
	if s > codec.MaxScale {
		d.head.Fail()
		return 0
	}
	return s
}

// checkMantissas refuses integers a float64 cannot hold: Span promises exact
// ones.
func (d *decoder) checkMantissas(m []int64) {
	var all uint64
	for _, x := range m {
		all |= magnitude(x)
	}
	if all >= maxMantissa {
		d.head.Fail()
	}
}

func (d *decoder) decimalWithExceptions(n int, buf *Buffer) {
	scale := d.scale()
	exceptions := buf.exceptions[:0]
	index := uint64(0)
	for range d.head.Count(9) {
		index += d.head.Uvarint()
		if index >= uint64(n) {
			d.head.Fail()
			return
		}
		exceptions = append(exceptions, exception{index: int(index), bits: d.head.Uint64()})
	}
	buf.exceptions = exceptions
	buf.ints, buf.floats = resize(buf.ints, n), resize(buf.floats, n)
	d.ints(buf.ints)
	d.checkMantissas(buf.ints)
	if d.head.Bad() {
		return
	}
	for i, m := range buf.ints {
		buf.floats[i] = codec.Decimal(m, scale)
	}
	for _, e := range exceptions {
		buf.floats[e.index] = math.Float64frombits(e.bits)
	}
}

func (d *decoder) nearDecimal(n int, buf *Buffer) {
	scale := d.scale()
	buf.ints, buf.aux, buf.floats = resize(buf.ints, n), resize(buf.aux, n), resize(buf.floats, n)
	d.ints(buf.ints)
	d.checkMantissas(buf.ints)
	d.ints(buf.aux)
	if d.head.Bad() {
		return
	}
	for i, m := range buf.ints {
		buf.floats[i] = math.Float64frombits(math.Float64bits(codec.Decimal(m, scale)) + uint64(buf.aux[i]))
	}
}
