package index

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	// A row group is cut at the latest here, and before the next metric once it
	// has moreRows, or fewRows if the label names change with the metric.
	maxRows  = 1 << 16
	moreRows = 1 << 12
	fewRows  = 64
)

// writerRows is the row group that is being filled.
type writerRows struct {
	first   uint32
	n       int
	columns []rowColumn
	place   []int  // of a label in columns, from 1; 0 if it is not there
	metric  uint32 // value
	shapes  map[string]bool
	key     []byte
	raw     []byte
}

type rowColumn struct {
	label   uint32
	numbers []uint32 // up to the last row that has the label
}

// add adds a row, in a new group if it is time.
func (r *writerRows) add(w *Writer, row Row) {
	metric := uint32(0)
	r.key = r.key[:0]
	for _, x := range row {
		if w.labels[x.label].name == labels.MetricName {
			metric = x.value
		}
		r.key = binary.LittleEndian.AppendUint32(r.key, x.label)
	}
	if r.n == 0 {
		r.reset(w.n)
		r.metric = metric
	}
	known := r.shapes[string(r.key)]
	if r.n == maxRows || metric != r.metric && (r.n >= moreRows || r.n >= fewRows && !known) {
		r.flush(w)
		r.reset(w.n)
		known = false
	}
	r.metric = metric
	if !known {
		r.shapes[string(r.key)] = true
	}
	for _, x := range row {
		r.set(x.label, x.value)
	}
	r.n++
}

func (r *writerRows) reset(first uint32) {
	r.first, r.n, r.columns = first, 0, r.columns[:0]
	clear(r.place)
	r.shapes = map[string]bool{}
}

// set sets the value of a label in the row.
func (r *writerRows) set(label, number uint32) {
	if n := int(label) + 1 - len(r.place); n > 0 {
		r.place = append(r.place, make([]int, n)...)
	}
	if r.place[label] == 0 {
		if n := len(r.columns); n < cap(r.columns) { // with the memory of a group before
			r.columns = r.columns[:n+1]
			r.columns[n].label, r.columns[n].numbers = label, r.columns[n].numbers[:0]
		} else {
			r.columns = append(r.columns, rowColumn{label: label})
		}
		r.place[label] = len(r.columns)
	}
	c := &r.columns[r.place[label]-1]
	for len(c.numbers) < r.n {
		c.numbers = append(c.numbers, 0)
	}
	c.numbers = append(c.numbers, number)
}

// flush hands the row group over to the writer.
func (r *writerRows) flush(w *Writer) {
	if r.n == 0 {
		return
	}
	b := writerBlock{begin: r.first, end: r.first + uint32(r.n)}
	raw := r.raw[:0]
	for i := range r.columns {
		c := &r.columns[i]
		for len(c.numbers) < r.n {
			c.numbers = append(c.numbers, 0)
		}
		column := writerColumn{label: c.label, off: w.written + int64(len(raw))}
		least, most := slices.Min(c.numbers), slices.Max(c.numbers)
		if least == most {
			column.same = least
		} else {
			column.width = (bits.Len32(most) + 7) / 8
			for _, number := range c.numbers {
				raw = binary.LittleEndian.AppendUint32(raw, number)
				raw = raw[:len(raw)-4+column.width]
			}
		}
		b.columns = append(b.columns, column)
	}
	r.n, r.raw = 0, raw
	w.blocks = append(w.blocks, b)
	w.store(raw)
}

// store appends to Scratch, or to memory that stands for it.
func (w *Writer) store(b []byte) (off int64) {
	off = w.written
	if w.options.Scratch == nil {
		w.memory = append(w.memory, b...)
	} else if _, err := w.options.Scratch.Write(b); err != nil && w.err == nil {
		w.err = fmt.Errorf("write scratch of index: %w", err)
	}
	w.written += int64(len(b))
	return off
}

// stored reads back what was stored, into room if it is not in memory.
func (w *Writer) stored(off int64, size int, room []byte) []byte {
	if w.options.Scratch == nil {
		return w.memory[off : off+int64(size)]
	}
	room = slices.Grow(room[:0], size)[:size]
	if n, err := w.options.Scratch.ReadAt(room, off); n < size && w.err == nil {
		w.err = fmt.Errorf("read scratch of index: %w", err)
		clear(room)
	}
	return room
}

// numbers returns the value numbers of a column of a block, in p's memory.
func (w *Writer) numbers(b *writerBlock, c *writerColumn, p *postingsWriter) []uint32 {
	rows := int(b.end - b.begin)
	p.column = slices.Grow(p.column[:0], rows)[:rows]
	if c.width == 0 {
		for i := range p.column {
			p.column[i] = c.same
		}
		return p.column
	}
	size := rows * c.width
	raw := w.stored(c.off, size, p.raw)
	if w.options.Scratch != nil {
		p.raw = raw
	}
	for i := range p.column {
		var x uint32
		for k := range c.width {
			x |= uint32(raw[i*c.width+k]) << (8 * k)
		}
		p.column[i] = x
	}
	return p.column
}

// each calls f with the value numbers of a label, row group by row group.
func (w *Writer) each(label uint32, p *postingsWriter, f func(begin uint32, numbers []uint32)) {
	for i := range w.blocks {
		b := &w.blocks[i]
		for k := range b.columns {
			if c := &b.columns[k]; c.label == label {
				f(b.begin, w.numbers(b, c, p))
			}
		}
	}
}

// writeColumns writes the sections of row groups, columns and their data. order
// lists the labels by name.
func (w *Writer) writeColumns(f *frame, order []uint32) {
	final := make([]uint32, len(w.labels))
	for number, i := range order {
		final[i] = uint32(number)
	}
	var rows, columns, data []byte
	var off uint64
	p := &postingsWriter{}
	f.begin(secData)
	for i := range w.blocks {
		b := &w.blocks[i]
		rows = binary.LittleEndian.AppendUint32(rows, b.begin)
		rows = binary.LittleEndian.AppendUint32(rows, uint32(len(columns)/columnEntry))
		slices.SortFunc(b.columns, func(x, y writerColumn) int { return int(final[x.label]) - int(final[y.label]) })
		for k := range b.columns {
			c := &b.columns[k]
			ordinals := w.numbers(b, c, p)
			if rank := w.labels[c.label].rank; rank != nil {
				for at, number := range ordinals {
					ordinals[at] = rank[number]
				}
			}
			var how uint64
			var base uint32
			data, base, how = pack(data[:0], ordinals)
			columns = binary.LittleEndian.AppendUint32(columns, final[c.label])
			columns = binary.LittleEndian.AppendUint32(columns, base)
			columns = binary.LittleEndian.AppendUint64(columns, off<<8|how)
			f.put(data)
			off += uint64(len(data))
		}
	}
	f.put(make([]byte, dataSlack))
	f.end()
	rows = binary.LittleEndian.AppendUint32(rows, w.n)
	rows = binary.LittleEndian.AppendUint32(rows, uint32(len(columns)/columnEntry))
	f.begin(secRows)
	f.put(rows)
	f.end()
	f.begin(secColumns)
	f.put(columns)
	f.end()
}

// pack appends ordinals in as few bits each as they need.
func pack(dst []byte, ordinals []uint32) (out []byte, base uint32, how uint64) {
	least, most, missing := ^uint32(0), uint32(0), false
	for _, o := range ordinals {
		if o == 0 {
			missing = true
			continue
		}
		least, most = min(least, o), max(most, o)
	}
	base = least
	if missing {
		base--
		how = 0x80
	}
	width := uint(bits.Len32(most - base))
	how |= uint64(width)
	if width == 0 {
		return dst, base, how
	}
	acc, have := uint64(0), uint(0)
	for _, o := range ordinals {
		x := uint64(0)
		if o != 0 {
			x = uint64(o - base)
		}
		acc |= x << have
		for have += width; have >= 8; have -= 8 {
			dst = append(dst, byte(acc))
			acc >>= 8
		}
	}
	if have > 0 {
		dst = append(dst, byte(acc))
	}
	return dst, base, how
}
