package bitmap

import (
	"slices"
	"sort"
	"unsafe"
)

// Set is a set of ordinals. It is immutable and may be used by many goroutines;
// nil is the empty set.
type Set struct {
	cs    []Container // ascending keys
	count int
}

func (s *Set) containers() []Container {
	if s == nil {
		return nil
	}
	return s.cs
}

// add appends a container that is not empty.
func (s *Set) add(c Container) {
	if c.count > 0 {
		s.cs = append(s.cs, c)
		s.count += int(c.count)
	}
}

// Count returns the number of ordinals, at no cost.
func (s *Set) Count() int {
	if s == nil {
		return 0
	}
	return s.count
}

// Size returns the bytes the set takes, about, shared containers included.
func (s *Set) Size() int {
	n := int(unsafe.Sizeof(Set{}))
	for i := range s.containers() {
		n += int(unsafe.Sizeof(Container{})) + s.cs[i].size()
	}
	return n
}

// Containers returns the number of containers, Container one of them.
func (s *Set) Containers() int { return len(s.containers()) }

// Container returns container i, ascending by key.
func (s *Set) Container(i int) *Container { return &s.cs[i] }

// Contains says whether id is in the set.
func (s *Set) Contains(id uint32) bool {
	cs := s.containers()
	i, ok := sort.Find(len(cs), func(i int) int { return int(id>>16) - int(cs[i].key) })
	return ok && cs[i].contains(uint16(id))
}

// All returns the set of the ordinals below n.
func All(n uint32) *Set { return Range(0, n) }

// Range returns the set of the ordinals from begin to end-1.
func Range(begin, end uint32) *Set {
	if begin >= end {
		return nil
	}
	first, last := begin>>16, (end-1)>>16
	out := &Set{cs: make([]Container, 0, last-first+1)}
	whole := []uint16{0, span - 1}
	for k := first; k <= last; k++ {
		if k > first && k < last {
			out.add(Container{array: whole, count: span, key: uint16(k), kind: kindRuns})
			continue
		}
		from, to := uint32(0), uint32(span-1)
		if k == first {
			from = begin & (span - 1)
		}
		if k == last {
			to = (end - 1) & (span - 1)
		}
		out.add(runContainer(uint16(k), uint16(from), uint16(to)))
	}
	return out
}

// And returns the ordinals in both sets.
func And(a, b *Set) *Set {
	x, y := a.containers(), b.containers()
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	out := &Set{cs: make([]Container, 0, min(len(x), len(y)))}
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].key < y[0].key:
			x = x[1:]
		case x[0].key > y[0].key:
			y = y[1:]
		default:
			out.add(and(&x[0], &y[0]))
			x, y = x[1:], y[1:]
		}
	}
	return out
}

// AndNot returns the ordinals in a that are not in b.
func AndNot(a, b *Set) *Set {
	x, y := a.containers(), b.containers()
	if len(x) == 0 || len(y) == 0 {
		return a
	}
	out := &Set{cs: make([]Container, 0, len(x))}
	for len(x) > 0 {
		switch {
		case len(y) == 0 || x[0].key < y[0].key:
			out.add(x[0])
			x = x[1:]
		case x[0].key > y[0].key:
			y = y[1:]
		default:
			out.add(andNot(&x[0], &y[0]))
			x, y = x[1:], y[1:]
		}
	}
	return out
}

// Or returns the ordinals in either set.
func Or(a, b *Set) *Set {
	x, y := a.containers(), b.containers()
	switch {
	case len(x) == 0:
		return b
	case len(y) == 0:
		return a
	}
	out := &Set{cs: make([]Container, 0, max(len(x), len(y)))}
	for len(x) > 0 || len(y) > 0 {
		switch {
		case len(y) == 0 || len(x) > 0 && x[0].key < y[0].key:
			out.add(x[0])
			x = x[1:]
		case len(x) == 0 || x[0].key > y[0].key:
			out.add(y[0])
			y = y[1:]
		default:
			out.add(or(&x[0], &y[0]))
			x, y = x[1:], y[1:]
		}
	}
	return out
}

// Below returns the ordinals of s below n.
func Below(s *Set, n uint32) *Set {
	cs := s.containers()
	k := sort.Search(len(cs), func(i int) bool { return uint32(cs[i].key)<<16+(span-1) >= n })
	if k == len(cs) {
		return s
	}
	out := &Set{cs: slices.Clone(cs[:k])}
	for i := range out.cs {
		out.count += int(out.cs[i].count)
	}
	if base := uint32(cs[k].key) << 16; base < n {
		out.add(cs[k].below(n - base))
	}
	return out
}

// Intersects says whether two sets have an ordinal in common. It stops at the
// first.
func Intersects(a, b *Set) bool {
	x, y := a.containers(), b.containers()
	for len(x) > 0 && len(y) > 0 {
		switch {
		case x[0].key < y[0].key:
			x = x[1:]
		case x[0].key > y[0].key:
			y = y[1:]
		default:
			if overlap(&x[0], &y[0]) {
				return true
			}
			x, y = x[1:], y[1:]
		}
	}
	return false
}
