package bitmap

import (
	"math/bits"
	"slices"
)

// and returns the ordinals in both of two containers with one key.
func and(a, b *Container) Container {
	switch {
	case a.full():
		return *b
	case b.full():
		return *a
	}
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == kindArray && b.kind == kindArray:
		return arrayContainer(a.key, intersect(a.array, b.array))
	case a.kind == kindArray:
		return arrayContainer(a.key, filterArray(a.array, b, 1))
	case a.kind == kindBitmap && b.kind == kindBitmap:
		return andWords(a, b)
	case a.kind == kindBitmap:
		w := *a.words
		keepRuns(&w, b.array)
		return fromWords(a.key, &w, false)
	}
	out := Container{array: intersectRuns(a.array, b.array), key: a.key, kind: kindRuns}
	out.count = countRuns(out.array)
	return out
}

func intersect(a, b []uint16) []uint16 {
	if len(a) > len(b) {
		a, b = b, a
	}
	out := make([]uint16, 0, len(a))
	if len(b) > 32*len(a) {
		for _, v := range a {
			i, ok := slices.BinarySearch(b, v)
			if ok {
				out = append(out, v)
			}
			b = b[i:]
		}
		return out
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		x, y := a[i], b[j]
		if x == y {
			out = append(out, x)
		}
		var di, dj int
		if x <= y {
			di = 1
		}
		if y <= x {
			dj = 1
		}
		i += di
		j += dj
	}
	return out
}

// filterArray returns the values of an array that are in c (keep 1) or not in it
// (keep 0).
func filterArray(array []uint16, c *Container, keep uint64) []uint16 {
	out := make([]uint16, len(array))
	n := 0
	switch c.kind {
	case kindBitmap:
		w, drop := c.words, keep^1
		for _, v := range array {
			out[n] = v
			n += int(w[v>>6]>>(v&63)&1 ^ drop)
		}
	case kindArray:
		b := c.array
		if len(b) > 32*len(array) {
			return filterSearch(array, c, keep)
		}
		j := 0
		for _, v := range array {
			for j < len(b) && b[j] < v {
				j++
			}
			out[n] = v
			if (j < len(b) && b[j] == v) == (keep == 1) {
				n++
			}
		}
	default:
		runs := c.array
		if len(runs) > 32*len(array) {
			return filterSearch(array, c, keep)
		}
		j := 0
		for _, v := range array {
			for j < len(runs) && runs[j+1] < v {
				j += 2
			}
			out[n] = v
			if (j < len(runs) && runs[j] <= v) == (keep == 1) {
				n++
			}
		}
	}
	return out[:n:n]
}

func filterSearch(array []uint16, c *Container, keep uint64) []uint16 {
	var out []uint16
	for _, v := range array {
		if c.contains(v) == (keep == 1) {
			out = append(out, v)
		}
	}
	return out
}

func andWords(a, b *Container) Container {
	x, y := a.words, b.words
	n := 0
	for i := range x {
		n += bits.OnesCount64(x[i] & y[i])
	}
	if n > arrayMax {
		w := new(words)
		for i := range w {
			w[i] = x[i] & y[i]
		}
		return Container{words: w, count: uint32(n), key: a.key, kind: kindBitmap}
	}
	out := make([]uint16, 0, n)
	for i := range x {
		base := uint16(i << 6)
		for v := x[i] & y[i]; v != 0; v &= v - 1 {
			out = append(out, base|uint16(bits.TrailingZeros64(v)))
		}
	}
	return arrayContainer(a.key, out)
}

// keepRuns clears what no run covers.
func keepRuns(w *words, runs []uint16) {
	at := uint32(0)
	for i := 0; i < len(runs); i += 2 {
		if first := uint32(runs[i]); first > at {
			w.clearRange(at, first-1)
		}
		at = uint32(runs[i+1]) + 1
	}
	if at < span {
		w.clearRange(at, span-1)
	}
}

func intersectRuns(a, b []uint16) []uint16 {
	var out []uint16
	for len(a) > 0 && len(b) > 0 {
		if first, last := max(a[0], b[0]), min(a[1], b[1]); first <= last {
			out = append(out, first, last)
		}
		if a[1] <= b[1] {
			a = a[2:]
		} else {
			b = b[2:]
		}
	}
	return out
}

// andNot returns the ordinals in a that are not in b.
func andNot(a, b *Container) Container {
	if b.full() {
		return Container{}
	}
	if a.kind == kindArray {
		return arrayContainer(a.key, filterArray(a.array, b, 0))
	}
	w := new(words)
	a.fill(w)
	b.clear(w)
	return fromWords(a.key, w, a.kind == kindRuns)
}

// or returns the ordinals in either.
func or(a, b *Container) Container {
	switch {
	case a.full():
		return *a
	case b.full():
		return *b
	}
	if a.kind == kindArray && b.kind == kindArray && a.count+b.count <= arrayMax {
		return arrayContainer(a.key, union(a.array, b.array))
	}
	w := new(words)
	a.fill(w)
	b.fill(w)
	return fromWords(a.key, w, a.kind == kindRuns || b.kind == kindRuns)
}

func union(a, b []uint16) []uint16 {
	out := make([]uint16, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// overlap says whether two containers with one key have an ordinal in common.
func overlap(a, b *Container) bool {
	if a.full() || b.full() {
		return true
	}
	if a.kind > b.kind {
		a, b = b, a
	}
	switch {
	case a.kind == kindBitmap && b.kind == kindBitmap:
		for i := range a.words {
			if a.words[i]&b.words[i] != 0 {
				return true
			}
		}
		return false
	case a.kind == kindBitmap:
		for i := 0; i < len(b.array); i += 2 {
			if a.words.next(uint32(b.array[i]), 0) <= uint32(b.array[i+1]) {
				return true
			}
		}
		return false
	case a.kind == kindRuns:
		return len(intersectRuns(a.array, b.array)) > 0
	}
	for _, v := range a.array {
		if b.contains(v) {
			return true
		}
	}
	return false
}
