package index

import (
	"encoding/binary"
	"sync/atomic"
)

const (
	rowBits  = 12
	rowMask  = 1<<rowBits - 1
	firstRow = 16 // rows of the first block of a shape; each next has four times as many, to 1<<rowBits
)

// shape is a list of labels that some series have in common.
type shape struct {
	labels []uint32
	list   []*headLabel // the same
	number uint32       // of the block that is filled
	block  *headBlock
}

// headBlock holds the value ordinals of series of one shape.
type headBlock struct {
	labels  []uint32 // in name order
	rows    int      // room
	n       int      // used, known to the writer alone
	columns []atomic.Pointer[headColumn]
}

// headColumn is one label of a block; a wider one replaces it when an ordinal
// needs more bytes. Rows that readers may see are not written again.
type headColumn struct {
	width int    // bytes a row; 0: all have the same
	same  uint32 // if width is 0
	data  []byte
}

func (c *headColumn) at(row uint32) uint32 {
	d := c.data
	switch c.width {
	case 0:
		return c.same
	case 1:
		return uint32(d[row])
	case 2:
		return uint32(binary.LittleEndian.Uint16(d[2*row:]))
	case 3:
		return uint32(d[3*row]) | uint32(d[3*row+1])<<8 | uint32(d[3*row+2])<<16
	}
	return binary.LittleEndian.Uint32(d[4*row:])
}

func (c *headColumn) set(row, o uint32) {
	d := c.data
	switch c.width {
	case 0:
	case 1:
		d[row] = byte(o)
	case 2:
		binary.LittleEndian.PutUint16(d[2*row:], uint16(o))
	case 3:
		d[3*row], d[3*row+1], d[3*row+2] = byte(o), byte(o>>8), byte(o>>16)
	default:
		binary.LittleEndian.PutUint32(d[4*row:], o)
	}
}

func widthOf(o uint32) int {
	switch {
	case o < 1<<8:
		return 1
	case o < 1<<16:
		return 2
	case o < 1<<24:
		return 3
	}
	return 4
}

// put writes the ordinal of the next row.
func (b *headBlock) put(column int, row, o uint32) {
	p := &b.columns[column]
	c := p.Load()
	switch {
	case c == nil:
		p.Store(&headColumn{same: o})
	case c.width == 0 && c.same == o:
	case c.width > 0 && widthOf(o) <= c.width:
		c.set(row, o)
	default:
		width := max(c.width, widthOf(o), widthOf(c.same))
		wider := &headColumn{width: width, data: make([]byte, width*b.rows)}
		for r := range row {
			wider.set(r, c.at(r))
		}
		wider.set(row, o)
		p.Store(wider)
	}
}

// column returns the column of a label, nil if the shape lacks it.
func (b *headBlock) column(label uint32) *headColumn {
	for i, l := range b.labels {
		if l == label {
			return b.columns[i].Load()
		}
	}
	return nil
}

func (b *headBlock) size() int {
	n := 64 + 8*len(b.columns)
	for i := range b.columns {
		if c := b.columns[i].Load(); c != nil {
			n += 40 + len(c.data)
		}
	}
	return n
}

// shapeLocked returns the shape that has the labels of pairs.
func (h *Head) shapeLocked(pairs []pair) *shape {
	if s := h.mu.last; s != nil && s.has(pairs) {
		return s
	}
	key := h.mu.key[:0]
	for _, p := range pairs {
		key = binary.LittleEndian.AppendUint32(key, p.label)
	}
	h.mu.key = key
	s := h.mu.shapes[string(key)]
	if s == nil {
		s = &shape{}
		for _, p := range pairs {
			s.labels = append(s.labels, p.label)
			s.list = append(s.list, *h.labels.at(p.label))
		}
		h.mu.shapes[string(key)] = s
	}
	return s
}

func (s *shape) has(pairs []pair) bool {
	if len(s.labels) != len(pairs) {
		return false
	}
	for i, p := range pairs {
		if s.labels[i] != p.label {
			return false
		}
	}
	return true
}

// storeLocked writes the columns of series id.
func (h *Head) storeLocked(id uint32, pairs []pair) (*shape, error) {
	s := h.shapeLocked(pairs)
	if s.block == nil || s.block.n == s.block.rows {
		if h.mu.blocks == 1<<(32-rowBits) {
			return nil, ErrFull
		}
		rows := firstRow
		if s.block != nil {
			rows = min(4*s.block.rows, 1<<rowBits)
		}
		s.block = &headBlock{labels: s.labels, rows: rows, columns: make([]atomic.Pointer[headColumn], len(s.labels))}
		s.number = h.mu.blocks
		*h.blocks.room(s.number) = s.block
		h.mu.blocks++
	}
	row := uint32(s.block.n)
	for i, p := range pairs {
		s.block.put(i, row, p.value)
	}
	s.block.n++
	*h.location.room(id) = s.number<<rowBits | row
	return s, nil
}

// hasPairs says whether a series has exactly these labels.
func (h *Head) hasPairs(id uint32, pairs []pair) bool {
	where := *h.location.at(id)
	b := *h.blocks.at(where >> rowBits)
	if len(b.labels) != len(pairs) {
		return false
	}
	for i, p := range pairs {
		if b.labels[i] != p.label || b.columns[i].Load().at(where&rowMask) != p.value {
			return false
		}
	}
	return true
}

// fill writes the value ordinals of ascending series.
func (h *Head) fill(label uint32, dst, series []uint32) {
	for len(series) > 0 {
		first := series[0]
		stretch := h.location.from(first)
		block := stretch[0] >> rowBits
		// As far as the series are in one block and one stretch of locations.
		n := (*h.blocks.at(block)).column(label).fill(dst, series, stretch, first, block)
		dst, series = dst[n:], series[n:]
	}
}

// fill writes the ordinals of those series at the beginning of the list whose
// locations, first on, are in the block that the column is of, and returns how
// many. A nil column is of a label that they lack.
func (c *headColumn) fill(dst, series, stretch []uint32, first, block uint32) int {
	if c == nil {
		c = &headColumn{}
	}
	d, width := c.data, c.width
	for i, id := range series {
		at := id - first
		if at >= uint32(len(stretch)) {
			return i
		}
		where := stretch[at]
		if where>>rowBits != block {
			return i
		}
		row := where & rowMask
		switch width {
		case 0:
			dst[i] = c.same
		case 1:
			dst[i] = uint32(d[row])
		case 2:
			dst[i] = uint32(binary.LittleEndian.Uint16(d[2*row:]))
		case 3:
			b := d[3*row:][:3]
			dst[i] = uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16
		default:
			dst[i] = binary.LittleEndian.Uint32(d[4*row:])
		}
	}
	return len(series)
}

// eachPair calls f with every label of a series, in name order.
func (h *Head) eachPair(id uint32, f func(l *headLabel, o uint32)) {
	where := *h.location.at(id)
	b := *h.blocks.at(where >> rowBits)
	for i, label := range b.labels {
		f(*h.labels.at(label), b.columns[i].Load().at(where&rowMask))
	}
}
