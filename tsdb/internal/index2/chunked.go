package index2

import (
	"math/bits"
	"sync/atomic"
)

// firstChunk is the length of the first chunk; each next one doubles the whole.
const firstChunk = 16

// chunked is an append-only array whose elements never move. One goroutine grows
// it; others may read elements that they know to be there, which they learn from
// an atomic of the owner's. The zero value is empty.
type chunked[T any] struct {
	chunks [29][]T
}

// place returns the chunk of an index and where it begins.
func place(i uint32) (chunk int, begin uint32) {
	chunk = bits.Len32(i / firstChunk)
	if chunk == 0 {
		return 0, 0
	}
	return chunk, firstChunk << (chunk - 1)
}

// at returns the element at an index that exists.
func (c *chunked[T]) at(i uint32) *T {
	k, begin := place(i)
	return &c.chunks[k][i-begin]
}

// room returns the element at an index, making room for it.
func (c *chunked[T]) room(i uint32) *T {
	k, begin := place(i)
	if c.chunks[k] == nil {
		c.chunks[k] = make([]T, max(firstChunk, begin))
	}
	return &c.chunks[k][i-begin]
}

// from returns the elements from i to the end of its chunk.
func (c *chunked[T]) from(i uint32) []T {
	k, begin := place(i)
	return c.chunks[k][i-begin:]
}

// size returns how many elements there is room for.
func (c *chunked[T]) size() int {
	n := 0
	for _, chunk := range c.chunks {
		n += len(chunk)
	}
	return n
}

// table maps hashes to ids. One goroutine inserts; any number look up, without
// locks. Several ids may have one hash: the caller tells them apart. The zero
// value is empty.
type table struct {
	slots atomic.Pointer[[]uint64] // hash<<32 | id+1; 0 is free. A power of two
	n     int
}

// probe walks the ids of a hash.
type probe struct {
	slots []uint64
	hash  uint32
	at    uint32
}

func (t *table) probe(hash uint32) probe {
	if s := t.slots.Load(); s != nil {
		return probe{slots: *s, hash: hash, at: hash}
	}
	return probe{}
}

// next returns the next id.
func (p *probe) next() (id uint32, ok bool) {
	mask := uint32(len(p.slots) - 1)
	for len(p.slots) > 0 {
		slot := atomic.LoadUint64(&p.slots[p.at&mask])
		p.at++
		if slot == 0 {
			return 0, false
		}
		if uint32(slot>>32) == p.hash {
			return uint32(slot) - 1, true
		}
	}
	return 0, false
}

// insert adds an id.
func (t *table) insert(hash, id uint32) {
	s := t.slots.Load()
	if s == nil || t.n >= len(*s)/4*3 {
		s = t.grow(s)
	}
	t.n++
	put(*s, uint64(hash)<<32|uint64(id+1))
}

func (t *table) grow(old *[]uint64) *[]uint64 {
	grown := make([]uint64, 8)
	if old != nil {
		grown = make([]uint64, 2*len(*old))
		for _, slot := range *old {
			if slot != 0 {
				put(grown, slot)
			}
		}
	}
	t.slots.Store(&grown)
	return &grown
}

func put(slots []uint64, slot uint64) {
	mask := uint32(len(slots) - 1)
	at := uint32(slot >> 32)
	for atomic.LoadUint64(&slots[at&mask]) != 0 {
		at++
	}
	atomic.StoreUint64(&slots[at&mask], slot)
}

func (t *table) size() int {
	if s := t.slots.Load(); s != nil {
		return 8 * len(*s)
	}
	return 0
}
