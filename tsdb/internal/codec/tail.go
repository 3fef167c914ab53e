package codec

import (
	"encoding/binary"
	"math/bits"
)

// tailLen is up to how many numbers DecodeTail takes.
const tailLen = 16

// DecodeTail is Decode of the skip+len(dst) numbers a stream begins with, of which
// dst gets those from the skip-th on. handled is false, and nothing done, where that
// costs as much as decoding all of them.
func DecodeTail[T Lane](dst []T, skip, total int, p *Params, start T, src []byte, s *Scratch) (handled bool) {
	n := skip + len(dst) - 1 // residuals
	if p.Codec != Huff || p.Order != 1 || skip == 0 || len(dst) > tailLen || n > laneRun {
		return false
	}
	shift := uint(p.Shift)
	pos := shift * uint(total-1)
	if pos > uint(len(src))*8 {
		return false
	}
	if got, _ := s.run(0, n, src, pos, tables[p.Table](), false); got < n {
		return false
	}
	rest := start + T(p.Centre)*T(skip) + T(sumFields(src, shift, skip))
	for i := range dst {
		dst[i] = T(s.lane(skip+i-1))<<(shift&63) + rest
		rest += T(p.Centre) + T(window(src, shift*uint(skip+i))&maskOf(shift))
	}
	return true
}

// sumFields adds n numbers of so many bits, packed. Bits behind the end of src are
// zero. Short ones are added by counting: the bits of one place among them all, at a
// time.
func sumFields(src []byte, width uint, n int) (sum uint64) {
	done := 0
	if width >= 1 && width <= 8 {
		// As many as fill whole bytes of a word, and their lowest bits.
		group := 8 * (8 / width)
		lowest := [...]uint64{
			1: 0xffffffffffffffff, 2: 0x5555555555555555, 3: 0x249249249249, 4: 0x1111111111111111, 5: 0x842108421, 6: 0x41041041041,
			7: 0x2040810204081, 8: 0x101010101010101,
		}[width]
		bytes := group * width / 8
		for ; done+int(group) <= n && len(src) >= 8; done += int(group) {
			x := binary.LittleEndian.Uint64(src)
			for place := range width {
				sum += uint64(bits.OnesCount64(x>>(place&63)&lowest)) << (place & 63)
			}
			src = src[bytes:]
		}
		n, done = n-done, 0
	}
	for ; done < n; done++ {
		sum += window(src, uint(done)*width) & maskOf(width)
	}
	return sum
}
