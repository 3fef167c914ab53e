package mem

import "unsafe"

// region is a piece of zeroed memory that never moves. Its base is aligned to
// 16 bytes at least.
type region struct {
	base   unsafe.Pointer
	size   int
	mapped bool // given back by unmap; else it is on the Go heap
}

// newRegion takes size bytes, a multiple of 16, from the system.
func newRegion(size int, heap bool) region {
	if !heap && canMap {
		if base, err := mapMemory(size); err == nil {
			return region{base: base, size: size, mapped: true}
		}
	}
	words := make([][2]uint64, size/16)
	return region{base: unsafe.Pointer(unsafe.SliceData(words)), size: size}
}

func (r region) release() {
	if r.mapped {
		unmapMemory(r.base, r.size)
		return
	}
	if poison {
		b := unsafe.Slice((*byte)(r.base), r.size)
		for i := range b {
			b[i] = 0xdb
		}
	}
}
