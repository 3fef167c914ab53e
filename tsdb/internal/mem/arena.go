package mem

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

const (
	pageBits = 12                   // units of a page, the grain of the table of regions
	pageSize = unit << pageBits     // 64 KiB
	maxPages = 1<<(32-pageBits) - 1 // so that the end of the last is a number too

	defaultMaxRegion = 2 << 20
)

// Options of an Arena or Records. The zero value works.
type Options struct {
	// Heap takes memory from the Go heap where it could be mapped.
	Heap bool
	// MaxRegion is the size in bytes up to which the regions of an Arena grow;
	// 0 means 2 MiB, less than 64 KiB means 64 KiB.
	MaxRegion int
}

// Handle names a block of an Arena: its distance from the beginning in units of
// 16 bytes. No block has the Handle 0.
type Handle uint32

// Arena hands out blocks of bytes that the garbage collector does not see.
//
// Alloc, Free and Release are for one goroutine at a time: the lock of the
// owner guards them. Bytes, Used and Reserved may be called by anyone at any
// time before Release.
//
// An empty Arena holds no memory but itself. At most 64 GiB can be reserved.
type Arena struct {
	pages atomic.Pointer[[]unsafe.Pointer] // where each page of 64 KiB begins

	at, end   uint32 // units of the youngest region that are still untouched
	free      [classCount]Handle
	freeLarge map[int]Handle // by size
	regions   []region
	heap      bool
	maxRegion int

	used, reserved atomic.Int64
}

// New returns an empty Arena. It takes no memory before the first Alloc.
func New(o Options) *Arena {
	if o.MaxRegion == 0 {
		o.MaxRegion = defaultMaxRegion
	}
	return &Arena{heap: o.Heap, maxRegion: max(o.MaxRegion, pageSize) &^ (pageSize - 1)}
}

// Alloc returns a block of Size(n) bytes, at least n, aligned to 16. What is in
// it is not defined. n is at least 1.
//
// The block belongs to the caller until Free or Release. Cost: some
// nanoseconds, and a call of the system whenever a region is full.
func (a *Arena) Alloc(n int) (Handle, []byte) {
	if n <= 0 {
		panic("mem: Alloc of no bytes")
	}
	size := Size(n)
	h := a.pop(size)
	if h == 0 {
		h = a.carve(size)
	}
	a.used.Store(a.used.Load() + int64(size)) // one writer
	return h, a.Bytes(h, size)
}

// Bytes returns the first n bytes of the block h, n at most the size of the
// block. It may be called while others allocate. Cost: three dependent loads.
func (a *Arena) Bytes(h Handle, n int) []byte {
	base := (*a.pages.Load())[h>>pageBits]
	return unsafe.Slice((*byte)(unsafe.Add(base, uintptr(h&(1<<pageBits-1))*unit)), n)
}

// Free takes back the block h of n bytes, or of anything of the same Size,
// for later calls of Alloc. Nobody may read it any more.
func (a *Arena) Free(h Handle, n int) {
	size := Size(n)
	a.push(h, size)
	a.used.Store(a.used.Load() - int64(size))
}

// Used returns the bytes handed out and not taken back.
func (a *Arena) Used() int64 { return a.used.Load() }

// Reserved returns the bytes taken from the system; those never touched are
// counted, though they need not be resident.
func (a *Arena) Reserved() int64 { return a.reserved.Load() }

// Release gives everything back to the system. All blocks are gone with it, see
// the package comment. The Arena is empty then and can be used again.
func (a *Arena) Release() {
	a.pages.Store(nil)
	for _, r := range a.regions {
		r.release()
	}
	a.regions, a.freeLarge = nil, nil
	a.free = [classCount]Handle{}
	a.at, a.end = 0, 0
	a.used.Store(0)
	a.reserved.Store(0)
}

// carve cuts a block off the untouched memory.
func (a *Arena) carve(size int) Handle {
	units := uint32(size / unit)
	if a.end-a.at < units {
		return a.grow(units)
	}
	h := Handle(a.at)
	a.at += units
	return h
}

// grow takes a region from the system and returns a block of so many units
// from it. The larger one of what is then left there and what is left of the
// region before stays untouched; the other goes to the free lists.
func (a *Arena) grow(units uint32) Handle {
	var pages []unsafe.Pointer
	if old := a.pages.Load(); old != nil {
		pages = *old
	}
	at := uint32(len(pages)) << pageBits
	if at == 0 {
		at = 1 // no block has the Handle 0
	}
	// A quarter of what there is: small arenas stay small, large ones ask rarely.
	want := min(int(a.reserved.Load())/4, a.maxRegion)
	want = (max(want, int(units+at&1)*unit) + pageSize - 1) &^ (pageSize - 1)
	if len(pages)+want/pageSize > maxPages {
		panic("mem: an arena cannot hold more than 64 GiB")
	}
	r := newRegion(want, a.heap)
	a.regions = append(a.regions, r)
	end := uint32(len(pages)<<pageBits + want/unit)
	for off := 0; off < want; off += pageSize {
		pages = append(pages, unsafe.Add(r.base, off))
	}
	a.pages.Store(&pages)
	a.reserved.Add(int64(want))

	h := Handle(at)
	at += units
	if end-at > a.end-a.at {
		at, a.at, end, a.end = a.at, at, a.end, end
	}
	for at < end {
		rest := fitting(int(end-at) * unit)
		a.push(Handle(at), rest)
		at += uint32(rest / unit)
	}
	return h
}

// push puts a block on the free list of its size: a chain through the first
// four bytes of each.
func (a *Arena) push(h Handle, size int) {
	if size > maxClass {
		if a.freeLarge == nil {
			a.freeLarge = map[int]Handle{}
		}
		binary.LittleEndian.PutUint32(a.Bytes(h, 4), uint32(a.freeLarge[size]))
		a.freeLarge[size] = h
		return
	}
	first := &a.free[classOf(size)]
	binary.LittleEndian.PutUint32(a.Bytes(h, 4), uint32(*first))
	*first = h
}

// pop takes a block off the free list of its size; 0 if there is none.
func (a *Arena) pop(size int) Handle {
	if size > maxClass {
		h := a.freeLarge[size]
		if h != 0 {
			a.freeLarge[size] = a.next(h)
		}
		return h
	}
	first := &a.free[classOf(size)]
	h := *first
	if h != 0 {
		*first = a.next(h)
	}
	return h
}

func (a *Arena) next(h Handle) Handle {
	return Handle(binary.LittleEndian.Uint32(a.Bytes(h, 4)))
}
