package bitmap

import "math/bits"

// MinBuffer is the shortest buffer that ordinals are decoded into.
const MinBuffer = 64

// MaxBatch is the longest batch that Filter hands out.
const MaxBatch = 4096

// Iterator hands out the ordinals of a Set by the bufferful, ascending. It is
// for one goroutine.
type Iterator struct {
	cs   []Container
	at   int    // index into the array, the words or the runs of cs[0]
	skip uint32 // ordinals of that run already handed out
}

// Iterator returns an iterator at the beginning of s.
func (s *Set) Iterator() Iterator { return Iterator{cs: s.containers()} }

// Next decodes as many ordinals as buf holds and returns how many: 0 at the end
// only. buf has at least MinBuffer places; one of a few thousand stays in the
// processor's first cache.
func (it *Iterator) Next(buf []uint32) int {
	n := 0
	for len(it.cs) > 0 && len(buf)-n >= MinBuffer {
		n += it.step(buf[n:])
	}
	return n
}

// NextSame is Next but for ending with the container, so that all ordinals
// share their upper 16 bits.
func (it *Iterator) NextSame(buf []uint32) int {
	for len(it.cs) > 0 {
		if n := it.step(buf); n > 0 {
			return n
		}
	}
	return 0
}

// step decodes out of the current container alone and leaves it at its end.
func (it *Iterator) step(buf []uint32) int {
	c := &it.cs[0]
	base := uint32(c.key) << 16
	var n int
	var done bool
	switch c.kind {
	case kindArray:
		n = expand(buf, c.array[it.at:], base)
		it.at += n
		done = it.at == len(c.array)
	case kindBitmap:
		n = it.words(buf, c.words, base)
		done = it.at == wordCount
	default:
		n = it.runs(buf, c.array, base)
		done = it.at == len(c.array)
	}
	if done {
		it.cs, it.at, it.skip = it.cs[1:], 0, 0
	}
	return n
}

// expand widens values to ordinals, as many as fit.
func expand(dst []uint32, src []uint16, base uint32) int {
	n := min(len(dst), len(src))
	dst, src = dst[:n], src[:n]
	for len(src) >= 8 && len(dst) >= 8 {
		d, s := (*[8]uint32)(dst), (*[8]uint16)(src)
		d[0], d[1], d[2], d[3] = base|uint32(s[0]), base|uint32(s[1]), base|uint32(s[2]), base|uint32(s[3])
		d[4], d[5], d[6], d[7] = base|uint32(s[4]), base|uint32(s[5]), base|uint32(s[6]), base|uint32(s[7])
		dst, src = dst[8:], src[8:]
	}
	for i, v := range src {
		dst[i] = base | uint32(v)
	}
	return n
}

// count writes n ordinals from first on.
func count(dst []uint32, first uint32) {
	for len(dst) >= 8 {
		d := (*[8]uint32)(dst)
		d[0], d[1], d[2], d[3] = first, first+1, first+2, first+3
		d[4], d[5], d[6], d[7] = first+4, first+5, first+6, first+7
		dst, first = dst[8:], first+8
	}
	for i := range dst {
		dst[i] = first + uint32(i)
	}
}

func (it *Iterator) words(dst []uint32, w *words, base uint32) int {
	n, i := 0, it.at
	for ; i < wordCount && len(dst)-n >= 64; i++ {
		x := w[i]
		if x == 0 {
			continue
		}
		first := base + uint32(i)<<6
		if x == ^uint64(0) {
			count(dst[n:n+64], first)
			n += 64
			continue
		}
		n += unpack((*[64]uint32)(dst[n:]), x, first)
	}
	it.at = i
	return n
}

// unpack writes the ordinals of the set bits of x and returns their number. Writing
// eight at a time was slower without BMI instructions, and not faster with them
// where bits are few.
func unpack(dst *[64]uint32, x uint64, base uint32) int {
	n := 0
	for x != 0 {
		dst[n&63] = base + uint32(bits.TrailingZeros64(x))
		x &= x - 1
		n++
	}
	return n
}

func (it *Iterator) runs(dst []uint32, runs []uint16, base uint32) int {
	n := 0
	for it.at < len(runs) && n < len(dst) {
		first := uint32(runs[it.at]) + it.skip
		left := uint32(runs[it.at+1]) + 1 - first
		k := min(int(left), len(dst)-n)
		count(dst[n:n+k], base+first)
		n += k
		if k < int(left) {
			it.skip += uint32(k)
			break
		}
		it.at, it.skip = it.at+2, 0
	}
	return n
}

// DecodeInto writes all ordinals of the container and returns their number. dst
// has room for Count rounded up to a multiple of MinBuffer, and MinBuffer more.
func (c *Container) DecodeInto(dst []uint32) int {
	it := Iterator{cs: []Container{*c}}
	n := 0
	for len(it.cs) > 0 {
		n += it.step(dst[n:])
	}
	return n
}

// AppendTo appends the ordinals of s, ascending.
func (s *Set) AppendTo(dst []uint32) []uint32 {
	var buf [1024]uint32
	it := s.Iterator()
	for n := it.Next(buf[:]); n > 0; n = it.Next(buf[:]) {
		dst = append(dst, buf[:n]...)
	}
	return dst
}

// Filter returns the ordinals of s that keep does not throw out. It is given
// ascending batches of MaxBatch at most, moves what it keeps to the front and
// returns how many. Each batch is of one container.
func (s *Set) Filter(keep func(ids []uint32) int) *Set {
	var b Builder
	buf := make([]uint32, min(MaxBatch, align(s.Count(), MinBuffer)+MinBuffer))
	it := s.Iterator()
	for n := it.NextSame(buf); n > 0; n = it.NextSame(buf) {
		b.AddAll(buf[:keep(buf[:n])])
	}
	return b.finish()
}
