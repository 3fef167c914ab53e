package codec

import "encoding/binary"

// BitWriter appends bits to B, lowest first. B is complete after Flush.
type BitWriter struct {
	B   []byte
	acc uint64
	n   uint
}

// Write appends the low n <= 64 bits of v; the others must be zero.
func (w *BitWriter) Write(v uint64, n uint) {
	w.acc |= v << w.n
	if w.n+n < 64 {
		w.n += n
		return
	}
	w.B = binary.LittleEndian.AppendUint64(w.B, w.acc)
	w.acc = 0
	if w.n > 0 {
		w.acc = v >> (64 - w.n)
	}
	w.n = w.n + n - 64
}

// Flush fills up the last byte.
func (w *BitWriter) Flush() {
	for ; w.n > 0; w.n -= min(w.n, 8) {
		w.B = append(w.B, byte(w.acc))
		w.acc >>= 8
	}
	w.acc = 0
}

// AppendBits appends the low width bits of every number of v, lowest first, and
// fills up the last byte.
func AppendBits(dst []byte, v []uint64, width uint) []byte {
	w := BitWriter{B: dst}
	mask := maskOf(width)
	for _, x := range v {
		w.Write(x&mask, width)
	}
	w.Flush()
	return w.B
}

// Bits returns the width <= 64 bits of src from bit pos on; what lies behind
// its end is zero.
func Bits(src []byte, pos, width uint) uint64 { return bits64(src, pos, width) }

// window returns the bits from pos on, at least 57 of them; what lies behind
// the end of src is zero.
func window(src []byte, pos uint) uint64 {
	p := pos >> 3
	if p+8 <= uint(len(src)) {
		return binary.LittleEndian.Uint64(src[p:]) >> (pos & 7)
	}
	return windowAtEnd(src, p) >> (pos & 7)
}

func windowAtEnd(src []byte, p uint) uint64 {
	var x uint64
	for k := uint(0); k < 8 && p+k < uint(len(src)); k++ {
		x |= uint64(src[p+k]) << (8 * k)
	}
	return x
}

// bits64 returns the n <= 64 bits from pos on.
func bits64(src []byte, pos, n uint) uint64 {
	if n <= 56 {
		return window(src, pos) & (1<<n - 1)
	}
	return window(src, pos)&(1<<32-1) | window(src, pos+32)&(1<<(n-32)-1)<<32
}

// Zigzag makes numbers near zero small: 0, -1, 1, -2 become 0, 1, 2, 3.
func Zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

// Unzigzag undoes Zigzag.
func Unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }
