package bitmap

import (
	"math/bits"
	"slices"
	"sort"
)

const (
	kindArray  = 1
	kindBitmap = 2
	kindRuns   = 3

	span      = 1 << 16 // ordinals of a container
	arrayMax  = 4096    // longest array; a bitmap is smaller beyond
	wordCount = span / 64
)

// words is a bitmap of one container.
type words [wordCount]uint64

// Container holds the ordinals of a Set that share their upper 16 bits. It is
// immutable; copies share its data.
type Container struct {
	array []uint16 // ascending, or pairs of first and last of a run
	words *words
	count uint32 // 1 to 65536 but in an intermediate result
	key   uint16
	kind  uint8
}

// Count returns the number of ordinals.
func (c *Container) Count() int { return int(c.count) }

// Key returns the upper 16 bits of the ordinals.
func (c *Container) Key() uint16 { return c.key }

func (c *Container) full() bool { return c.count == span }

func (c *Container) contains(v uint16) bool {
	switch c.kind {
	case kindArray:
		_, ok := slices.BinarySearch(c.array, v)
		return ok
	case kindBitmap:
		return c.words[v>>6]>>(v&63)&1 != 0
	}
	i := findRun(c.array, v)
	return i < len(c.array) && c.array[i] <= v
}

// findRun returns where the first run that ends at v or later begins.
func findRun(runs []uint16, v uint16) int {
	return 2 * sort.Search(len(runs)/2, func(i int) bool { return runs[2*i+1] >= v })
}

// size returns the bytes of the data.
func (c *Container) size() int {
	if c.kind == kindBitmap {
		return 8 * wordCount
	}
	return 2 * len(c.array)
}

func runContainer(key, first, last uint16) Container {
	return Container{array: []uint16{first, last}, count: uint32(last-first) + 1, key: key, kind: kindRuns}
}

func arrayContainer(key uint16, array []uint16) Container {
	return Container{array: array, count: uint32(len(array)), key: key, kind: kindArray}
}

// fill adds the ordinals to a bitmap.
func (c *Container) fill(w *words) {
	switch c.kind {
	case kindArray:
		for _, v := range c.array {
			w[v>>6] |= 1 << (v & 63)
		}
	case kindBitmap:
		for i, x := range c.words {
			w[i] |= x
		}
	default:
		for i := 0; i < len(c.array); i += 2 {
			w.setRange(uint32(c.array[i]), uint32(c.array[i+1]))
		}
	}
}

// clear removes the ordinals from a bitmap.
func (c *Container) clear(w *words) {
	switch c.kind {
	case kindArray:
		for _, v := range c.array {
			w[v>>6] &^= 1 << (v & 63)
		}
	case kindBitmap:
		for i, x := range c.words {
			w[i] &^= x
		}
	default:
		for i := 0; i < len(c.array); i += 2 {
			w.clearRange(uint32(c.array[i]), uint32(c.array[i+1]))
		}
	}
}

// setRange sets the bits from first to last.
func (w *words) setRange(first, last uint32) {
	i, j := first>>6, last>>6
	from, to := ^uint64(0)<<(first&63), ^uint64(0)>>(63-last&63)
	if i == j {
		w[i] |= from & to
		return
	}
	w[i] |= from
	for k := i + 1; k < j; k++ {
		w[k] = ^uint64(0)
	}
	w[j] |= to
}

// clearRange clears the bits from first to last.
func (w *words) clearRange(first, last uint32) {
	i, j := first>>6, last>>6
	from, to := ^uint64(0)<<(first&63), ^uint64(0)>>(63-last&63)
	if i == j {
		w[i] &^= from & to
		return
	}
	w[i] &^= from
	for k := i + 1; k < j; k++ {
		w[k] = 0
	}
	w[j] &^= to
}

func (w *words) count() int {
	n := 0
	for _, x := range w {
		n += bits.OnesCount64(x)
	}
	return n
}

// runs returns the number of runs of set bits.
func (w *words) runs() int {
	n, carry := 0, uint64(0)
	for _, x := range w {
		n += bits.OnesCount64(x &^ (x<<1 | carry))
		carry = x >> 63
	}
	return n
}

// fromWords makes the container of a bitmap, which it keeps if the container
// stays one. Runs are looked for only if asked to: that is another pass.
func fromWords(key uint16, w *words, runs bool) Container {
	n := w.count()
	switch {
	case n == 0:
		return Container{}
	case n == span:
		return runContainer(key, 0, span-1)
	}
	if runs {
		if r := w.runs(); runsPay(r, n) {
			return Container{array: w.appendRuns(make([]uint16, 0, 2*r)), count: uint32(n), key: key, kind: kindRuns}
		}
	}
	if n <= arrayMax {
		return arrayContainer(key, w.appendArray(make([]uint16, 0, n)))
	}
	return Container{words: w, count: uint32(n), key: key, kind: kindBitmap}
}

// runsPay says whether runs should hold n ordinals: half of what else they take,
// since the other kinds are faster to intersect.
func runsPay(runs, n int) bool { return 2*4*runs <= min(2*n, 8*wordCount) }

func (w *words) appendArray(dst []uint16) []uint16 {
	for i, x := range w {
		for base := uint16(i << 6); x != 0; x &= x - 1 {
			dst = append(dst, base|uint16(bits.TrailingZeros64(x)))
		}
	}
	return dst
}

func (w *words) appendRuns(dst []uint16) []uint16 {
	for at := w.next(0, 0); at < span; {
		end := w.next(at, ^uint64(0))
		dst = append(dst, uint16(at), uint16(end-1))
		at = w.next(end, 0)
	}
	return dst
}

// next returns the first bit from at on that is set, or that is not if flip is
// all ones; 65536 if there is none.
func (w *words) next(at uint32, flip uint64) uint32 {
	if at >= span {
		return span
	}
	i := at >> 6
	x := (w[i] ^ flip) & (^uint64(0) << (at & 63))
	for x == 0 {
		if i++; i == wordCount {
			return span
		}
		x = w[i] ^ flip
	}
	return i<<6 + uint32(bits.TrailingZeros64(x))
}

// fromSorted makes the container of an ascending array, which it keeps if the
// container stays one.
func fromSorted(key uint16, array []uint16) Container {
	runs := 0
	for i, v := range array {
		if i == 0 || v != array[i-1]+1 {
			runs++
		}
	}
	if runsPay(runs, len(array)) {
		out := make([]uint16, 0, 2*runs)
		for i, v := range array {
			if i == 0 || v != array[i-1]+1 {
				out = append(out, v, v)
			} else {
				out[len(out)-1] = v
			}
		}
		return Container{array: out, count: uint32(len(array)), key: key, kind: kindRuns}
	}
	if len(array) <= arrayMax {
		return arrayContainer(key, array)
	}
	w := new(words)
	c := arrayContainer(key, array)
	c.fill(w)
	return Container{words: w, count: c.count, key: key, kind: kindBitmap}
}

// below returns the part of a container that is below v.
func (c *Container) below(v uint32) Container {
	switch {
	case v >= span:
		return *c
	case v == 0:
		return Container{}
	}
	switch c.kind {
	case kindArray:
		n, _ := slices.BinarySearch(c.array, uint16(v))
		return arrayContainer(c.key, c.array[:n:n])
	case kindBitmap:
		w := *c.words
		w.clearRange(v, span-1)
		return fromWords(c.key, &w, false)
	}
	i := findRun(c.array, uint16(v))
	if i < len(c.array) && uint32(c.array[i]) < v {
		i += 2
	}
	runs := slices.Clone(c.array[:i])
	if i > 0 {
		runs[i-1] = min(runs[i-1], uint16(v-1))
	}
	out := Container{array: runs, key: c.key, kind: kindRuns}
	out.count = countRuns(runs)
	return out
}

func countRuns(runs []uint16) uint32 {
	n := uint32(0)
	for i := 0; i < len(runs); i += 2 {
		n += uint32(runs[i+1]-runs[i]) + 1
	}
	return n
}
