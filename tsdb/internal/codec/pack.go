package codec

import (
	"encoding/binary"
	"math/bits"
)

// Lane is an integer that columns are decoded to. Lanes of 32 bits hold the
// low half of each number: the caller knows whether that is all of it.
type Lane interface{ int32 | int64 }

// Packed residuals of one stream:
//
//	width    byte, 0 to 64
//	patches  uvarint, how many residuals are wider
//	minimum  varint
//	bits     width bits of (residual - minimum), residual after residual
//	patches  each: index less the previous index uvarint, the bits above the
//	         width uvarint

// packPlan is how a stream will be packed.
type packPlan struct {
	low     int64
	width   uint
	patches int
	bytes   int
}

// planPack finds the width with the fewest bytes.
func planPack(r []int64) packPlan {
	if len(r) == 0 {
		return packPlan{}
	}
	p := packPlan{low: r[0]}
	for _, x := range r {
		p.low = min(p.low, x)
	}
	var wide [65]int
	for _, x := range r {
		wide[bits.Len64(uint64(x)-uint64(p.low))]++
	}
	above, patchBytes := 0, 0
	p.bytes = -1
	widest := 64
	for widest > 0 && wide[widest] == 0 {
		widest--
	}
	for w := widest; w >= 0; w-- {
		cost := (len(r)*w+7)/8 + patchBytes
		if p.bytes < 0 || cost <= p.bytes {
			p.bytes, p.width, p.patches = cost, uint(w), above
		}
		above += wide[w]
		patchBytes = 0
		for v := w; v <= widest; v++ {
			patchBytes += wide[v] * (1 + (v-w+7)/7)
		}
		if above > len(r)/8 {
			break
		}
	}
	if p.width == 64 {
		p.low, p.patches = 0, 0
	}
	p.bytes += 2 + (bits.Len64(Zigzag(p.low))+6)/7
	return p
}

func appendPacked(dst []byte, r []int64) []byte {
	p := planPack(r)
	dst = append(dst, byte(p.width))
	dst = binary.AppendUvarint(dst, uint64(p.patches))
	dst = binary.AppendVarint(dst, p.low)
	dst = appendBits(dst, r, p.low, p.width)
	if p.patches == 0 {
		return dst
	}
	last := 0
	for i, x := range r {
		if high := (uint64(x) - uint64(p.low)) >> p.width; p.width < 64 && high > 0 {
			dst = binary.AppendUvarint(dst, uint64(i-last))
			dst = binary.AppendUvarint(dst, high)
			last = i
		}
	}
	return dst
}

// appendBits appends the low width bits of x - low for every x of r.
func appendBits(dst []byte, r []int64, low int64, width uint) []byte {
	w := BitWriter{B: dst}
	mask := maskOf(width)
	for _, x := range r {
		w.Write((uint64(x)-uint64(low))&mask, width)
	}
	w.Flush()
	return w.B
}

func maskOf(width uint) uint64 { return 1<<width - 1 }

// unpacked decodes the start of a packed stream of total residuals into dst and
// returns the bytes of the stream.
func unpacked[T Lane](dst []T, total int, src []byte) (used int, ok bool) {
	if len(src) < 1 || src[0] > 64 {
		return 0, false
	}
	width := uint(src[0])
	used = 1
	patches, n := binary.Uvarint(src[used:])
	if n <= 0 || patches > uint64(total) {
		return 0, false
	}
	used += n
	low, n := binary.Varint(src[used:])
	if n <= 0 {
		return 0, false
	}
	used += n
	size := (total*int(width) + 7) / 8
	if size > len(src)-used {
		return 0, false
	}
	unpack(dst, src[used:], width, T(low))
	used += size
	index := uint64(0)
	for range patches {
		gap, n := binary.Uvarint(src[used:])
		if n <= 0 {
			return 0, false
		}
		used += n
		high, n := binary.Uvarint(src[used:])
		if n <= 0 {
			return 0, false
		}
		used += n
		if index += gap; index >= uint64(total) || gap > uint64(total) {
			return 0, false
		}
		if index < uint64(len(dst)) {
			dst[index] += T(high << (width & 63))
		}
	}
	return used, true
}

// unpack fills dst with numbers of width bits each plus low.
func unpack[T Lane](dst []T, src []byte, width uint, low T) {
	if width == 0 {
		for i := range dst {
			dst[i] = low
		}
		return
	}
	if width > 14 {
		unpackWide(dst, src, width, low)
		return
	}
	mask := maskOf(width)
	pos, i := uint(0), 0
	for ; i+4 <= len(dst) && pos>>3+8 <= uint(len(src)); i += 4 {
		x := binary.LittleEndian.Uint64(src[pos>>3:]) >> (pos & 7)
		d := (*[4]T)(dst[i:])
		d[0] = T(x&mask) + low
		d[1] = T(x>>(width&63)&mask) + low
		d[2] = T(x>>(2*width&63)&mask) + low
		d[3] = T(x>>(3*width&63)&mask) + low
		pos += 4 * width
	}
	for ; i < len(dst); i++ {
		dst[i] = T(window(src, pos)&mask) + low
		pos += width
	}
}

func unpackWide[T Lane](dst []T, src []byte, width uint, low T) {
	pos, i := uint(0), 0
	if width <= 56 {
		mask := maskOf(width)
		for ; i < len(dst) && pos>>3+8 <= uint(len(src)); i++ {
			dst[i] = T(binary.LittleEndian.Uint64(src[pos>>3:])>>(pos&7)&mask) + low
			pos += width
		}
	}
	for ; i < len(dst); i++ {
		dst[i] = T(bits64(src, pos, width)) + low
		pos += width
	}
}
