package v1

import (
	"encoding/binary"
	"math/bits"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// A column of integers is coded as differences of an order from 0 (none) to 2,
// less a centre, divided by their greatest common divisor. All arithmetic
// wraps, so any int64 comes back. When all residuals are zero no tokens are
// written: constants and regular grids cost a few bytes at any length.
//
//	mode     byte: order | zero<<2 | gcd<<3
//	first    varint
//	delta    varint, the first difference; order 2 only
//	centre   varint
//	gcd      uvarint, if flagged
//	tokens   n-1 (order 0, 1) or n-2 (order 2) of them, unless zero
const (
	modeOrder = 3
	modeZero  = 1 << 2
	modeGCD   = 1 << 3
)

// intPlan is how a column will be written.
type intPlan struct {
	order  int
	centre int64
	gcd    uint64 // 0 when all residuals are zero
	cost   int    // estimated bits of tokens and raw bits
}

// intCoder plans and writes columns; its scratch is reused.
type intCoder struct {
	diffs  [3][]int64
	sample []int64
}

// plan chooses the order with the fewest bits. The differences of that order
// stay in c until the next plan.
func (c *intCoder) plan(v []int64) intPlan {
	best := intPlan{cost: -1}
	c.difference(v)
	for order := range c.diffs {
		if order > 0 && len(v) <= order {
			break
		}
		p := c.planOrder(order)
		if best.cost < 0 || p.cost < best.cost {
			best = p
		}
	}
	return best
}

// difference fills diffs[k] with the differences of order k that are written:
// those of order 0 without the first value.
func (c *intCoder) difference(v []int64) {
	for i := range c.diffs {
		c.diffs[i] = c.diffs[i][:0]
	}
	c.diffs[0] = append(c.diffs[0], v[1:]...)
	for i := 1; i < len(v); i++ {
		c.diffs[1] = append(c.diffs[1], v[i]-v[i-1])
	}
	for i := 1; i < len(c.diffs[1]); i++ {
		c.diffs[2] = append(c.diffs[2], c.diffs[1][i]-c.diffs[1][i-1])
	}
}

func (c *intCoder) planOrder(order int) intPlan {
	d := c.diffs[order]
	p := intPlan{order: order}
	if len(d) == 0 {
		return p
	}
	p.centre = c.median(d)
	for _, x := range d {
		if r := magnitude(x - p.centre); r != 0 && p.gcd != 1 {
			p.gcd = gcd(p.gcd, r)
		}
	}
	if p.gcd == 0 {
		return p
	}
	p.cost = 8 * 8
	for _, x := range d {
		p.cost += bits.Len64(codec.Zigzag(divide(x-p.centre, p.gcd)))
	}
	return p
}

// median is that of up to 33 of the values: one of them, so that a common
// divisor of their distances is found.
func (c *intCoder) median(d []int64) int64 {
	c.sample = c.sample[:0]
	step := max(1, len(d)/32)
	for i := 0; i < len(d); i += step {
		c.sample = append(c.sample, d[i])
	}
	slices.Sort(c.sample)
	return c.sample[len(c.sample)/2]
}

// append writes v as planned; c must hold the differences of v.
func (c *intCoder) append(dst *streams, v []int64, p intPlan) {
	mode := byte(p.order)
	if p.gcd == 0 {
		mode |= modeZero
	} else if p.gcd > 1 {
		mode |= modeGCD
	}
	dst.head = append(dst.head, mode)
	dst.head = binary.AppendVarint(dst.head, v[0])
	if p.order == 2 {
		dst.head = binary.AppendVarint(dst.head, v[1]-v[0])
	}
	dst.head = binary.AppendVarint(dst.head, p.centre)
	if p.gcd == 0 {
		return
	}
	if p.gcd > 1 {
		dst.head = binary.AppendUvarint(dst.head, p.gcd)
	}
	w := bitWriter{b: dst.bits}
	for _, x := range c.diffs[p.order] {
		token, raw, width := tokenOf(codec.Zigzag(divide(x-p.centre, p.gcd)))
		dst.tokens = append(dst.tokens, token)
		if width > 0 {
			w.write(raw, width)
		}
	}
	w.flush()
	dst.bits = w.b
}

// appendInts plans and writes a column of at least one value.
func (c *intCoder) appendInts(dst *streams, v []int64) {
	c.append(dst, v, c.plan(v))
}

// ints reads a column of len(out) >= 1 values.
func (d *decoder) ints(out []int64) {
	mode := d.head.Byte()
	order := int(mode & modeOrder)
	first := d.head.Varint()
	var delta int64
	if order == 2 {
		delta = d.head.Varint()
	}
	centre := d.head.Varint()
	g := int64(1)
	if mode&modeGCD != 0 {
		g = int64(d.head.Uvarint())
	}
	if order > 2 || mode >= modeGCD<<1 || order > 0 && len(out) <= order {
		d.head.Fail()
	}
	if d.head.Bad() {
		return
	}
	out[0] = first
	rest := out[1:]
	if order == 2 {
		out[1] = first + delta
		rest = rest[1:]
	}
	if mode&modeZero != 0 {
		for i := range rest {
			rest[i] = centre
		}
	} else if !d.residuals(rest, g, centre) {
		return
	}
	switch order {
	case 1:
		acc := first
		for i := range rest {
			acc += rest[i]
			rest[i] = acc
		}
	case 2:
		acc := first + delta
		for i := range rest {
			delta += rest[i]
			acc += delta
			rest[i] = acc
		}
	}
}

// residuals reads len(out) tokens and undoes division and centring.
func (d *decoder) residuals(out []int64, g, centre int64) bool {
	if len(out) > len(d.tokens) {
		d.head.Fail()
		return false
	}
	r := residuals{tokens: d.tokens[:len(out)], bits: d.bits}
	out = out[:len(r.tokens)]
	for i, t := range r.tokens {
		u := uint64(t)
		if t >= firstWideToken {
			var ok bool
			if u, ok = r.wide(t); !ok {
				d.head.Fail()
				return false
			}
		}
		out[i] = codec.Unzigzag(u)*g + centre
	}
	r.end()
	d.tokens, d.bits = d.tokens[len(out):], r.bits
	return true
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// divide is exact: g divides v.
func divide(v int64, g uint64) int64 {
	if g == 1 {
		return v
	}
	if v < 0 {
		return -int64(magnitude(v) / g)
	}
	return int64(uint64(v) / g)
}
