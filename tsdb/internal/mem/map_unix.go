//go:build (linux || darwin) && !race

package mem

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	canMap = true
	poison = false
)

// adviseSmallPages is MADV_NOHUGEPAGE of linux: a huge page would make two MiB
// resident for the first byte of a region.
const adviseSmallPages = 15

func mapMemory(size int) (unsafe.Pointer, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	if runtime.GOOS == "linux" {
		// Kernels without huge pages refuse it, which is as good.
		_ = unix.Madvise(unsafe.Slice((*byte)(p), size), adviseSmallPages)
	}
	return p, nil
}

func unmapMemory(p unsafe.Pointer, size int) {
	if err := unix.MunmapPtr(p, uintptr(size)); err != nil {
		panic(fmt.Sprintf("mem: unmap %d bytes: %v", size, err)) // only an address that is not ours fails
	}
}
