package index

import (
	"math/bits"
	"sync/atomic"
)

// firstChunk is the length of the first chunk; each next one doubles the whole
// until a chunk holds wholeChunk, which all after it do.
const (
	firstChunk  = 16
	chunkBits   = 14
	wholeChunk  = 1 << chunkBits
	smallChunks = chunkBits - 4 + 1
)

// chunked is an append-only array whose elements never move. One goroutine grows
// it; others may read elements that they know to be there, which they learn from
// an atomic of the owner's. The zero value is empty.
type chunked[T any] struct {
	small [smallChunks][]T
	whole atomic.Pointer[[][]T] // replaced when it has no room for one more
}

// place returns the chunk of an index of the small ones and where it begins.
func place(i uint32) (chunk int, begin uint32) {
	chunk = bits.Len32(i / firstChunk)
	if chunk == 0 {
		return 0, 0
	}
	return chunk, firstChunk << (chunk - 1)
}

// at returns the element at an index that exists.
func (c *chunked[T]) at(i uint32) *T {
	if i >= wholeChunk {
		return &(*c.whole.Load())[i>>chunkBits-1][i&(wholeChunk-1)]
	}
	k, begin := place(i)
	return &c.small[k][i-begin]
}

// room returns the element at an index, making room for it.
func (c *chunked[T]) room(i uint32) *T {
	if i >= wholeChunk {
		return c.roomBeyond(i)
	}
	k, begin := place(i)
	if c.small[k] == nil {
		c.small[k] = make([]T, max(firstChunk, begin))
	}
	return &c.small[k][i-begin]
}

func (c *chunked[T]) roomBeyond(i uint32) *T {
	k := int(i>>chunkBits - 1)
	var whole [][]T
	if p := c.whole.Load(); p != nil {
		whole = *p
	}
	if k >= len(whole) {
		grown := make([][]T, max(4, k+k/2+1))
		copy(grown, whole)
		whole = grown
		c.whole.Store(&grown)
	}
	if whole[k] == nil {
		whole[k] = make([]T, wholeChunk)
	}
	return &whole[k][i&(wholeChunk-1)]
}

// from returns the elements from i to the end of its chunk.
func (c *chunked[T]) from(i uint32) []T {
	if i >= wholeChunk {
		return (*c.whole.Load())[i>>chunkBits-1][i&(wholeChunk-1):]
	}
	k, begin := place(i)
	return c.small[k][i-begin:]
}

// size returns how many elements there is room for.
func (c *chunked[T]) size() int {
	n := 0
	for _, chunk := range c.small {
		n += len(chunk)
	}
	if p := c.whole.Load(); p != nil {
		for _, chunk := range *p {
			n += len(chunk)
		}
	}
	return n
}

// table maps hashes to ids. One goroutine inserts; any number look up, without
// locks. Several ids may have one hash: the caller tells them apart. The zero
// value is empty.
type table struct {
	slots atomic.Pointer[[]uint64] // hash<<32 | id+1; 0 is free
	n     int
}

// slotOf returns where the search for a hash begins among n slots, of which
// there may be any number: a table that grows by half wastes less than one that
// doubles.
func slotOf(hash uint32, n int) int { return int(uint64(hash) * uint64(n) >> 32) }

// probe walks the ids of a hash.
type probe struct {
	slots []uint64
	hash  uint32
	at    int
}

func (t *table) probe(hash uint32) probe {
	if s := t.slots.Load(); s != nil {
		return probe{slots: *s, hash: hash, at: slotOf(hash, len(*s))}
	}
	return probe{}
}

// next returns the next id.
func (p *probe) next() (id uint32, ok bool) {
	for len(p.slots) > 0 {
		slot := atomic.LoadUint64(&p.slots[p.at])
		if p.at++; p.at == len(p.slots) {
			p.at = 0
		}
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
	if s == nil || t.n >= len(*s)/16*13 {
		s = t.grow(s)
	}
	t.n++
	put(*s, uint64(hash)<<32|uint64(id+1))
}

func (t *table) grow(old *[]uint64) *[]uint64 {
	if old == nil {
		grown := make([]uint64, 16)
		t.slots.Store(&grown)
		return &grown
	}
	grown := make([]uint64, (len(*old)+len(*old)/2+15)&^15)
	for _, slot := range *old {
		if slot != 0 {
			put(grown, slot)
		}
	}
	t.slots.Store(&grown)
	return &grown
}

func put(slots []uint64, slot uint64) {
	at := slotOf(uint32(slot>>32), len(slots))
	for atomic.LoadUint64(&slots[at]) != 0 {
		if at++; at == len(slots) {
			at = 0
		}
	}
	atomic.StoreUint64(&slots[at], slot)
}

func (t *table) size() int {
	if s := t.slots.Load(); s != nil {
		return 8 * len(*s)
	}
	return 0
}
