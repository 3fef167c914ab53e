package v1

import (
	"encoding/binary"
	"math/bits"
)

// A residual is written as one token byte and, from 16 on, some raw bits. The
// token of u < 16 is u itself. A larger u of n bits has the token
// 16 + 4*(n-5) + (the two bits below its highest one); its n-3 low bits go to
// the bit stream. The 256 tokens cover all 64-bit numbers, and what is left raw
// is nearly incompressible, so entropy coding the tokens alone is enough.
const firstWideToken = 16

// bitPad is what a bit stream needs behind its end so that nine bytes can be
// read at any place in it.
const bitPad = 16

func tokenOf(u uint64) (token byte, raw uint64, width uint) {
	if u < firstWideToken {
		return byte(u), 0, 0
	}
	n := uint(bits.Len64(u))
	width = n - 3
	return byte(firstWideToken + 4*(n-5) + uint(u>>width)&3), u & (1<<width - 1), width
}

// bitWriter packs bits, lowest first.
type bitWriter struct {
	b   []byte
	acc uint64
	n   uint
}

// write appends the low n < 64 bits of v; the others must be zero.
func (w *bitWriter) write(v uint64, n uint) {
	w.acc |= v << w.n
	if w.n+n < 64 {
		w.n += n
		return
	}
	w.b = binary.LittleEndian.AppendUint64(w.b, w.acc)
	w.acc = 0
	if w.n > 0 {
		w.acc = v >> (64 - w.n)
	}
	w.n = w.n + n - 64
}

// flush fills up the last byte.
func (w *bitWriter) flush() {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.b = append(w.b, byte(w.acc))
		w.acc >>= 8
	}
	w.acc = 0
}

// residuals walks one run of tokens and the raw bits that belong to it.
type residuals struct {
	tokens []byte
	bits   []byte // followed by bitPad readable bytes within its capacity
	pos    uint   // in bits
}

// wide reads the raw bits behind token t >= firstWideToken.
func (r *residuals) wide(t byte) (u uint64, ok bool) {
	k := uint(t - firstWideToken)
	width := k/4 + 2
	if r.pos+width > uint(len(r.bits))*8 {
		return 0, false
	}
	b := r.bits[r.pos/8 : r.pos/8+9 : cap(r.bits)]
	shift := r.pos % 8
	raw := binary.LittleEndian.Uint64(b)>>shift | uint64(b[8])<<(64-shift)
	r.pos += width
	return uint64(4|k&3)<<width | raw&(1<<width-1), true
}

// end drops the consumed bits, up to the next whole byte.
func (r *residuals) end() { r.bits, r.pos = r.bits[(r.pos+7)/8:], 0 }
