package codec

import (
	"encoding/binary"
	"slices"
)

// Coder appends streams. It is for one goroutine; the zero value is ready.
type Coder struct {
	residuals, symbols []int64
}

// Append appends the stream of v, which is not empty.
func (c *Coder) Append(dst []byte, p *Params, v []int64) []byte {
	if len(v) <= int(p.Order) || p.Codec == Zero {
		return dst
	}
	c.residuals = slices.Grow(c.residuals[:0], len(v))[:len(v)-int(p.Order)]
	residuals(c.residuals, p, v)
	r := c.residuals
	switch p.Codec {
	case Pack:
		return appendPacked(dst, r)
	case Class:
		c.symbols = slices.Grow(c.symbols[:0], len(r))
		return appendClasses(dst, r, int(p.Shift), tables[p.Table](), c.symbols)
	}
	w := BitWriter{B: dst}
	if p.Shift > 0 {
		w.writeLow(r, uint(p.Shift))
		for i, x := range r {
			r[i] = x >> (p.Shift & 63)
		}
	}
	writeSymbols(&w, tables[p.Table](), r)
	w.Flush()
	return w.B
}

// residuals fills r with the residuals of v that p's streams hold.
func residuals(r []int64, p *Params, v []int64) {
	centre := p.Centre
	switch p.Order {
	case 0:
		for i, x := range v[:len(r)] {
			r[i] = x - centre
		}
	case 1:
		before := v[0]
		for i, x := range v[1:][:len(r)] {
			r[i] = x - before - centre
			before = x
		}
	case 2:
		before, slope := v[1], v[1]-v[0]
		for i, x := range v[2:][:len(r)] {
			d := x - before
			r[i] = d - slope - centre
			before, slope = x, d
		}
	}
}

// writeLow appends the low n bits of every number of r.
func (w *BitWriter) writeLow(r []int64, n uint) {
	mask := maskOf(n)
	for ; n <= maxJoin && len(r) >= 4; r = r[4:] {
		x := uint64(r[0])&mask | uint64(r[1])&mask<<(n&63) | uint64(r[2])&mask<<(2*n&63) | uint64(r[3])&mask<<(3*n&63)
		w.Write(x, 4*n)
	}
	for _, x := range r {
		w.Write(uint64(x)&mask, n)
	}
}

// open makes room for the words of count symbols and hands out what w holds, at
// most 31 bits beside b.
func (w *BitWriter) open(count int) (b []byte, at int, acc uint64, n uint) {
	w.B = slices.Grow(w.B, 2*count+16)
	b, at = w.B[:cap(w.B)], len(w.B)
	if w.n < 32 {
		return b, at, w.acc, w.n
	}
	binary.LittleEndian.PutUint32(b[at:], uint32(w.acc))
	return b, at + 4, w.acc >> 32, w.n - 32
}

// writeSymbols codes s with t. A missing second half of a pair is zero.
func writeSymbols(w *BitWriter, t *table, s []int64) {
	for len(s) > 0 {
		if t.width == 1 {
			s = w.singles(t, s)
		} else {
			s = w.pairs(t, s)
		}
		if len(s) == 0 {
			return
		}
		w.Write(uint64(t.code[t.escape]), uint(t.length[t.escape]))
		writeEscaped(w, s[0])
		if t.width == 2 && len(s) > 1 {
			writeEscaped(w, s[1])
		} else if t.width == 2 {
			writeEscaped(w, 0)
		}
		s = s[min(t.width, len(s)):]
	}
}

// singles appends the words of the symbols of s up to the first that has none,
// and returns what is left.
func (w *BitWriter) singles(t *table, s []int64) []int64 {
	b, at, acc, n := w.open(len(s))
	words := (*[symbols + 1]word)(t.words)
	i := 0
	for ; i < len(s); i++ {
		k := uint64(s[i] + symbolMax)
		if k >= symbols {
			break
		}
		acc |= uint64(words[k]>>8) << (n & 63)
		n += uint(words[k] & 0xff)
		if n >= 32 {
			binary.LittleEndian.PutUint64(b[at:], acc)
			at, acc, n = at+4, acc>>32, n-32
		}
	}
	return w.close(b, at, acc, n, s[i:])
}

// pairs is singles for tables of pairs.
func (w *BitWriter) pairs(t *table, s []int64) []int64 {
	b, at, acc, n := w.open(len(s))
	words := (*[pairWords]word)(t.words)
	for len(s) > 0 {
		i, j := uint64(s[0]+symbolMax), uint64(symbolMax)
		if len(s) > 1 {
			j = uint64(s[1] + symbolMax)
		}
		if i >= symbols || j >= symbols {
			break
		}
		x := words[i*symbols+j]
		if x == 0 {
			break
		}
		s = s[min(2, len(s)):]
		acc |= uint64(x>>8) << (n & 63)
		n += uint(x & 0xff)
		if n >= 32 {
			binary.LittleEndian.PutUint64(b[at:], acc)
			at, acc, n = at+4, acc>>32, n-32
		}
	}
	return w.close(b, at, acc, n, s)
}

// close undoes open.
func (w *BitWriter) close(b []byte, at int, acc uint64, n uint, left []int64) []int64 {
	w.B, w.acc, w.n = b[:at], acc, n
	return left
}

// escapedBits is what one symbol costs behind an escape.
func escapedBits(s int64) uint { return 6 + uint(max(1, classOf(s))) }

func writeEscaped(w *BitWriter, s int64) {
	u := Zigzag(s)
	n := uint(max(1, classOf(s)))
	w.Write(uint64(n-1), 6)
	w.Write(u, n)
}

// small tells whether s is a symbol.
func small(s int64) bool { return uint64(s+symbolMax) < symbols }
