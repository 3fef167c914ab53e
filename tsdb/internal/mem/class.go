package mem

import "math/bits"

const (
	unit     = 16      // bytes a Handle counts
	maxClass = 4 << 10 // largest block that comes from a size class

	// Classes are the multiples of 16 up to 64, then four for each power of two,
	// so that at most a fifth of a block lies idle for want of a better class.
	classCount = 4 + 4*6
)

// Size returns the size of the block that Alloc hands out for n bytes: n
// rounded up to its size class, or to 16 bytes if it is above the largest.
func Size(n int) int {
	switch {
	case n <= 4*unit:
		return (n + unit - 1) &^ (unit - 1)
	case n > maxClass:
		return (n + unit - 1) &^ (unit - 1)
	}
	quarter := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + quarter - 1) &^ (quarter - 1)
}

// classOf returns the class of blocks of size, which Size returned.
func classOf(size int) int {
	if size <= 4*unit {
		return size/unit - 1
	}
	octave := bits.Len(uint(size-1)) - 3 // size is (4..8] quarters of 1<<octave
	return 4*(octave-4+1) + size>>octave - 5
}

// fitting returns the size of the largest class that fits into n bytes, n a
// multiple of 16 and at least 16.
func fitting(n int) int {
	if n >= maxClass {
		return maxClass
	}
	if n <= 4*unit {
		return n
	}
	quarter := 1 << (bits.Len(uint(n)) - 3)
	return n &^ (quarter - 1)
}
