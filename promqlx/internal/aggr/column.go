package aggr

import "github.com/varvedb/varve/promqlx/internal/row"

// chunkLen is the length of a column's chunks, if a group is no longer.
const chunkLen = row.SlabFloats

// column holds width values for each of many groups, in chunks of several
// groups: groups of a single step cost no allocation of their own, and one such group
// none at all. It is not to be copied when it has values.
type column[T any] struct {
	width  int
	shift  int // a chunk holds 1<<shift groups
	chunks [][]T
	held   int    // values in all chunks
	one    [1][]T // the room of chunks, as long as there is one
	few    [1]T   // the first chunk, as long as that is long enough
	// lend and back are where chunks of chunkLen come from and go to, if that is not
	// the garbage collector.
	lend func() []T
	back func([]T)
}

// newFloats returns a column of floats out of the slabs of an evaluation, which
// free gives back.
func newFloats(env *row.Env, width int) column[float64] {
	c := newColumn[float64](width)
	if env.Slabs != nil && width > chunkLen/64 && width <= chunkLen {
		c.lend, c.back = env.Slabs.Slab, env.Slabs.GiveBack
	}
	return c
}

// free lets the values go.
func (c *column[T]) free() {
	if c.back != nil {
		for _, chunk := range c.chunks {
			if chunk != nil {
				c.back(chunk)
			}
		}
	}
	c.chunks = nil
}

func newColumn[T any](width int) column[T] {
	c := column[T]{width: width}
	for max(width, 1)<<(c.shift+1) <= chunkLen {
		c.shift++
	}
	return c
}

// at returns the values of group g, zeros if it is new. They stay where they
// are until at is called for another group for the first time.
func (c *column[T]) at(g int) []T {
	k, at := g>>c.shift, (g&(1<<c.shift-1))*c.width
	if k >= len(c.chunks) || at+c.width > len(c.chunks[k]) {
		c.grow(k, at+c.width)
	}
	return c.chunks[k][at : at+c.width : at+c.width]
}

// peek returns the values of group g, nil if they are all zero and take no
// memory.
func (c *column[T]) peek(g int) []T {
	k, at := g>>c.shift, (g&(1<<c.shift-1))*c.width
	if k >= len(c.chunks) || at+c.width > len(c.chunks[k]) {
		return nil
	}
	return c.chunks[k][at : at+c.width]
}

// grow makes chunk k at least size values long. The first chunk doubles, so
// that few groups take little; others are made whole.
func (c *column[T]) grow(k, size int) {
	if c.chunks == nil {
		c.chunks = c.one[:0]
	}
	for len(c.chunks) <= k {
		c.chunks = append(c.chunks, nil)
	}
	if c.lend != nil {
		c.chunks[k] = c.lend()
		clear(c.chunks[k])
		c.held += chunkLen
		return
	}
	if k == 0 && size == 1 {
		c.chunks[0] = c.few[:]
		c.held++
		return
	}
	old := c.chunks[k]
	whole := c.width << c.shift
	if k == 0 {
		size = min(max(size, 2*len(old)), whole)
	} else {
		size = whole
	}
	chunk := make([]T, size)
	copy(chunk, old)
	c.chunks[k] = chunk
	c.held += size - len(old)
}

// slab cuts small slices out of larger ones.
type slab[T any] struct {
	free []T
	size int // of the last allocation
	held int
}

// take returns n zero values.
func (s *slab[T]) take(n int) []T {
	if len(s.free) < n {
		s.size = max(n, min(2*s.size, chunkLen))
		s.free = make([]T, s.size)
		s.held += s.size
	}
	out := s.free[:n:n]
	s.free = s.free[n:]
	return out
}
