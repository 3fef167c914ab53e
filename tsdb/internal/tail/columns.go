package tail

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// columns gathers the samples of a span. The first settled values agree in
// their form; the others are as they were decoded, all in one mode.
type columns struct {
	n       int
	times   []int64
	raw     []int64 // mantissas or bits; not used below settled if form is asBits
	floats  []float64
	starts  []int64
	settled int
	form    uint8 // the scale of all of them, or asBits
	changed bool  // a time was not as expected: the times may be no grid
}

func (c *columns) clear() { c.n, c.settled, c.form, c.changed = 0, 0, 0, false }

// reserve makes room for n samples.
func (c *columns) reserve(n int) {
	if n <= len(c.times) {
		return
	}
	n = max(n, min(2*len(c.times), maxSpan))
	c.times = append(make([]int64, 0, n), c.times[:c.n]...)[:n]
	c.raw = append(make([]int64, 0, n), c.raw[:c.n]...)[:n]
}

// add adds a sample; changed says that its time was not as expected.
func (c *columns) add(t, value int64, changed bool) {
	c.reserve(c.n + 1)
	c.times[c.n], c.raw[c.n] = t, value
	c.changed = c.changed || changed
	c.n++
}

// fillStarts sets the start timestamps from a sample on.
func (c *columns) fillStarts(from int, start int64) {
	c.starts = c.starts[:from]
	for range c.n - from {
		c.starts = append(c.starts, start)
	}
}

// settle gives all values that were added since the last call, of mode scale,
// the form of those before, or all the form that suits both.
func (c *columns) settle(scale uint8) {
	from := c.settled
	c.settled = c.n
	switch {
	case from == c.n:
	case from == 0 && scale != asBits:
		c.form = scale
	case from == 0:
		c.form = asBits
		c.toFloats(0, c.n, scale)
	case c.form == asBits:
		c.toFloats(from, c.n, scale)
	case scale == c.form:
	case scale != asBits && scale > c.form && rescale(c.raw[:from], scale-c.form):
		c.form = scale
	case scale != asBits && scale < c.form && rescale(c.raw[from:c.n], c.form-scale):
	default:
		c.toFloats(0, from, c.form)
		c.toFloats(from, c.n, scale)
		c.form = asBits
	}
}

// rescale multiplies mantissas by ten so many times, which does not change the
// doubles they stand for: both quotients are the same number, correctly
// rounded. It does nothing if a product is too large to be exact.
func rescale(m []int64, by uint8) bool {
	if by > searchScale {
		return false
	}
	factor := int64(pow10[by])
	bound := (maxMantissa - 1) / factor
	for _, x := range m {
		if x > bound || x < -bound {
			return false
		}
	}
	for i := range m {
		m[i] *= factor
	}
	return true
}

// toFloats makes floats of raw values [from, to).
func (c *columns) toFloats(from, to int, scale uint8) {
	if len(c.floats) < to {
		c.floats = append(make([]float64, 0, len(c.raw)), c.floats[:from]...)[:len(c.raw)]
	}
	dst, raw := c.floats[from:to], c.raw[from:to]
	if scale != asBits {
		codec.Decimals(dst, raw, 1, 0, scale)
		return
	}
	for i, bits := range raw {
		dst[i] = math.Float64frombits(uint64(bits))
	}
}

// emit makes a span of all samples, which are settled.
func (c *columns) emit(s *block.Span, hasStart bool) {
	*s = block.Span{Kind: block.KindFloat, Count: c.n}
	if !c.grid(s) {
		s.Times = c.times[:c.n]
	}
	if c.form == asBits {
		s.Floats = c.floats[:c.n]
	} else {
		s.Ints64, s.Scale = c.raw[:c.n], c.form
	}
	if !hasStart {
		return
	}
	for _, st := range c.starts[:c.n] {
		if st != 0 {
			s.StartTimes = c.starts[:c.n]
			return
		}
	}
}

// grid sets the times of s if they are one.
func (c *columns) grid(s *block.Span) bool {
	times := c.times[:c.n]
	first, last := times[0], times[c.n-1]
	if c.n == 1 {
		s.Start = first
		return true
	}
	step := times[1] - first
	// Grids as wide as int64 are left alone: who computes with them overflows.
	if width := last - first; step <= 0 || width <= 0 || step > math.MaxInt64-width {
		return false
	}
	if c.changed {
		for i := 2; i < len(times); i++ {
			if times[i]-times[i-1] != step {
				return false
			}
		}
	}
	s.Start, s.Step = first, step
	return true
}
