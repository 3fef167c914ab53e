package bitmap

import (
	"slices"
	"sort"
	"sync/atomic"
)

// flatMax is how many ordinals a growing list holds as plain numbers before it
// goes over to containers.
const flatMax = 1024

// Growing is a set that ascending ordinals are appended to by one goroutine at a
// time while any number of others read it, without locks. The zero value is
// ready and holds one ordinal in its 16 bytes. It must not be copied.
//
// A reader says below which ordinal it wants to see: it finds all that were
// appended before it learned of that limit, and none from the limit on.
type Growing struct {
	n     atomic.Uint32 // saturates never: ordinals are below 2^32-1
	first uint32        // written before n becomes 1
	more  atomic.Pointer[growth]
}

// growth is all of a growing list but, while it is flat, its first ordinal.
// What a reader may see of it does not change.
type growth struct {
	flat   []uint32 // room for them: n says how many are there
	frozen []Container
	tail   *tail // nil if flat
}

// tail is the container that is appended to.
type tail struct {
	key   uint16
	first uint16 // of a run, if array and words are nil
	n     atomic.Uint32
	array []uint16 // room
	words *words   // accessed atomically
}

// Count returns how many ordinals were appended.
func (g *Growing) Count() int { return int(g.n.Load()) }

// Append appends an ordinal above all before.
func (g *Growing) Append(id uint32) {
	n := g.n.Load()
	switch {
	case n == 0:
		g.first = id
	case n < flatMax:
		g.appendFlat(n, id)
	default:
		if n == flatMax {
			g.toContainers()
		}
		g.appendTail(id)
	}
	g.n.Store(n + 1)
}

func (g *Growing) appendFlat(n, id uint32) {
	m := g.more.Load()
	if m == nil || int(n) > len(m.flat) {
		grown := &growth{flat: make([]uint32, nextRoom(int(n)))}
		if m != nil {
			copy(grown.flat, m.flat)
		}
		m = grown
		m.flat[n-1] = id
		g.more.Store(m)
		return
	}
	m.flat[n-1] = id
}

// nextRoom returns the least of 2, 3, 4, 6, 8, 12, 16, ... that holds n.
func nextRoom(n int) int {
	room := 2
	for room < n {
		if room&(room-1) == 0 {
			room += room / 2
		} else {
			room = room / 3 * 4
		}
	}
	return room
}

func (g *Growing) toContainers() {
	var b Builder
	b.Add(g.first)
	b.AddAll(g.more.Load().flat[:flatMax-1])
	// The last container must stay open: it becomes the tail.
	last := slices.Clone(b.tail)
	key := uint16(b.key)
	frozen := b.set.cs
	t := &tail{key: key, array: make([]uint16, roomFor(len(last)))}
	copy(t.array, last)
	t.n.Store(uint32(len(last)))
	g.more.Store(&growth{frozen: frozen, tail: t})
}

func roomFor(n int) int { return min(arrayMax, max(16, n+n/2)) }

func (g *Growing) appendTail(id uint32) {
	m := g.more.Load()
	t := m.tail
	if uint16(id>>16) != t.key {
		next := &tail{key: uint16(id >> 16), first: uint16(id)}
		next.n.Store(1)
		g.more.Store(&growth{frozen: append(m.frozen, t.freeze()), tail: next})
		return
	}
	if t.append(uint16(id)) {
		return
	}
	grown := t.grown()
	grown.append(uint16(id))
	g.more.Store(&growth{frozen: m.frozen, tail: grown})
}

// append appends a value if there is room for it.
func (t *tail) append(v uint16) bool {
	n := t.n.Load()
	switch {
	case t.words != nil:
		w := &t.words[v>>6]
		atomic.StoreUint64(w, atomic.LoadUint64(w)|1<<(v&63))
	case t.array == nil:
		if uint32(v) != uint32(t.first)+n {
			return false
		}
	case int(n) < len(t.array):
		t.array[n] = v
	default:
		return false
	}
	t.n.Store(n + 1)
	return true
}

// grown returns a copy with more room, of the kind that has it.
func (t *tail) grown() *tail {
	n := int(t.n.Load())
	out := &tail{key: t.key}
	c := t.container(uint32(n))
	if n < arrayMax {
		out.array = make([]uint16, roomFor(n+1))
		if t.array != nil {
			copy(out.array, t.array[:n])
		} else {
			for i := range n {
				out.array[i] = t.first + uint16(i)
			}
		}
	} else {
		out.words = new(words)
		c.fill(out.words)
	}
	out.n.Store(uint32(n))
	return out
}

// container returns the first n values as a container that does not change. Of
// a bitmap it takes all, which may be more.
func (t *tail) container(n uint32) Container {
	switch {
	case t.words != nil:
		w := new(words)
		for i := range w {
			w[i] = atomic.LoadUint64(&t.words[i])
		}
		return Container{words: w, count: uint32(w.count()), key: t.key, kind: kindBitmap}
	case t.array != nil:
		return arrayContainer(t.key, t.array[:n:n])
	}
	return runContainer(t.key, t.first, uint16(uint32(t.first)+n-1))
}

// freeze returns the container once nothing is appended any more, in the
// smallest kind.
func (t *tail) freeze() Container {
	n := t.n.Load()
	switch {
	case t.words != nil:
		return fromWords(t.key, t.words, true)
	case t.array != nil:
		c := fromSorted(t.key, t.array[:n:n])
		if c.kind == kindArray {
			c.array = slices.Clone(c.array)
		}
		return c
	}
	return t.container(n)
}

// Snapshot returns the ordinals below limit as a set that does not change. It
// copies one bitmap at most.
func (g *Growing) Snapshot(limit uint32) *Set {
	n := g.n.Load()
	if n == 0 || g.first >= limit {
		return nil
	}
	m := g.more.Load()
	if n == 1 {
		return FromSorted([]uint32{g.first})
	}
	if m.tail == nil {
		var b Builder
		b.Add(g.first)
		b.AddAll(m.below(n, limit))
		return b.finish()
	}
	k := m.frozenBelow(limit)
	out := &Set{cs: make([]Container, 0, k+1)}
	for i := range k {
		out.add(m.frozen[i])
	}
	if c := m.last(k, limit); c.count > 0 {
		out.add(c)
	}
	return out
}

// below returns the ordinals of a flat growth below limit, n being those that
// the list has in all.
func (m *growth) below(n, limit uint32) []uint32 {
	list := m.flat[:min(int(n)-1, len(m.flat))]
	if len(list) > 0 && list[len(list)-1] >= limit {
		i, _ := slices.BinarySearch(list, limit)
		list = list[:i]
	}
	return list
}

// frozenBelow returns how many frozen containers are below limit as a whole.
func (m *growth) frozenBelow(limit uint32) int {
	return sort.Search(len(m.frozen), func(i int) bool { return uint32(m.frozen[i].key) >= limit>>16 })
}

// last returns the part below limit of the container that limit falls into or
// comes behind.
func (m *growth) last(k int, limit uint32) Container {
	var c Container
	if k < len(m.frozen) {
		c = m.frozen[k]
	} else {
		c = m.tail.container(m.tail.n.Load())
	}
	base := uint32(c.key) << 16
	if limit <= base {
		return Container{}
	}
	return c.below(min(limit-base, span))
}

// AddTo adds the ordinals below limit to a union.
func (g *Growing) AddTo(a *Accumulator, limit uint32) {
	n := g.n.Load()
	if n == 0 || g.first >= limit {
		return
	}
	m := g.more.Load()
	if n > 1 && m.tail != nil {
		a.AddSet(g.Snapshot(limit))
		return
	}
	a.Add(g.first)
	if n > 1 {
		a.AddAll(m.below(n, limit))
	}
}

// Size returns the bytes behind the list, about. The caller appends, or knows
// that nobody does.
func (g *Growing) Size() int {
	m := g.more.Load()
	if m == nil {
		return 0
	}
	size := 64 + 4*len(m.flat)
	for i := range m.frozen {
		size += 40 + m.frozen[i].size()
	}
	if t := m.tail; t != nil {
		size += 64 + 2*len(t.array)
		if t.words != nil {
			size += 8 * wordCount
		}
	}
	return size
}
