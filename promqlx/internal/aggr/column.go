package aggr

// chunkLen is the length of a column's chunks, if a group is no longer.
const chunkLen = 4096

// column holds width values for each of many groups, in chunks of several
// groups: groups of a single step cost no allocation of their own.
type column[T any] struct {
	width  int
	shift  int // a chunk holds 1<<shift groups
	chunks [][]T
	held   int // values in all chunks
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
	for len(c.chunks) <= k {
		c.chunks = append(c.chunks, nil)
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
