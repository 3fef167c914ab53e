package section

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// Pad is the capacity needed behind the bytes of a Table.
const Pad = 8

// maxColumns bounds the columns of a table.
const maxColumns = 64

// Column is what a column of a table is made of. Running says that the values
// never fall; then their differences are what is stored, which compress better.
type Column struct {
	Values  []uint64
	Running bool
}

// AppendTable appends a table of columns of equal length.
//
//	rows     uvarint
//	columns  uvarint; each: smallest value uvarint, width byte (0 to 8 bytes a
//	         value, +16 when differences are stored)
//	data     column after column: value less the smallest one, width bytes each
func AppendTable(dst []byte, columns ...Column) []byte {
	rows := len(columns[0].Values)
	dst = binary.AppendUvarint(dst, uint64(rows))
	dst = binary.AppendUvarint(dst, uint64(len(columns)))
	bases := make([]uint64, len(columns))
	widths := make([]int, len(columns))
	for i, c := range columns {
		var base, top uint64
		if rows > 0 {
			base, top = c.Values[0], c.Values[0]
		}
		for _, v := range c.Values {
			base, top = min(base, v), max(top, v)
		}
		bases[i], widths[i] = base, (bits.Len64(top-base)+7)/8
		dst = binary.AppendUvarint(dst, base)
		flag := byte(widths[i])
		if c.Running {
			flag |= runningFlag
		}
		dst = append(dst, flag)
	}
	for i, c := range columns {
		previous := bases[i]
		for _, v := range c.Values {
			stored := v - bases[i]
			if c.Running {
				stored = v - previous
				previous = v
			}
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], stored)
			dst = append(dst, b[:widths[i]]...)
		}
	}
	return dst
}

const runningFlag = 16

// Table is a number of columns of unsigned numbers, read in place. It may be
// read by many goroutines.
type Table struct {
	rows    int
	columns []tableColumn
}

type tableColumn struct {
	b     []byte // with Pad bytes of capacity behind
	base  uint64
	mask  uint64
	width int
}

var errTable = errors.New("table of numbers does not parse")

// OpenTable opens a table of at least the given number of columns. It takes b
// over, which must have Pad bytes of capacity behind its end as File.Read gives
// it, and changes it. The number of rows may be far beyond the length of b when
// all columns are constant: bound it before looping over it.
func OpenTable(b []byte, columns int) (Table, error) {
	if cap(b) < len(b)+Pad {
		b = append(make([]byte, 0, len(b)+Pad), b...)
	}
	rows, n := binary.Uvarint(b)
	if n <= 0 {
		return Table{}, errTable
	}
	rest := b[n:]
	count, n := binary.Uvarint(rest)
	if n <= 0 || count < uint64(columns) || count > maxColumns || rows > 1<<40 {
		return Table{}, errTable
	}
	rest = rest[n:]
	t := Table{rows: int(rows), columns: make([]tableColumn, count)}
	running := make([]bool, count)
	for i := range t.columns {
		base, n := binary.Uvarint(rest)
		if n <= 0 || len(rest) == n || rest[n]&^runningFlag > 8 {
			return Table{}, errTable
		}
		width := int(rest[n] &^ runningFlag)
		t.columns[i] = tableColumn{base: base, width: width, mask: 1<<(8*width) - 1}
		running[i] = rest[n]&runningFlag != 0
		rest = rest[n+1:]
	}
	for i := range t.columns {
		c := &t.columns[i]
		size := t.rows * c.width
		if size > len(rest) {
			return Table{}, errTable
		}
		c.b, rest = rest[:size:size+Pad], rest[size:]
		if running[i] && c.width > 0 {
			c.sum(t.rows)
		}
	}
	if len(rest) > 0 {
		return Table{}, errTable
	}
	return t, nil
}

// sum turns differences into values.
func (c *tableColumn) sum(rows int) {
	var total uint64
	var b [8]byte
	for i := range rows {
		total += c.at(i) - c.base
		binary.LittleEndian.PutUint64(b[:], total)
		copy(c.b[i*c.width:(i+1)*c.width], b[:])
	}
}

func (c *tableColumn) at(row int) uint64 {
	at := row * c.width
	return c.base + binary.LittleEndian.Uint64(c.b[at:at+8:cap(c.b)])&c.mask
}

// Rows returns the number of rows.
func (t *Table) Rows() int { return t.rows }

// At returns a value. A row or column that is not there panics.
func (t *Table) At(column, row int) uint64 {
	if uint(row) >= uint(t.rows) {
		panic("section: row out of range")
	}
	return t.columns[column].at(row)
}

// Column returns all values of a column.
func (t *Table) Column(column int) []uint64 {
	out := make([]uint64, t.rows)
	for i := range out {
		out[i] = t.columns[column].at(i)
	}
	return out
}

// Ascends reports whether the values of a column never fall and the last one
// is at most limit.
func (t *Table) Ascends(column int, limit uint64) bool {
	if c := &t.columns[column]; c.width == 0 {
		return t.rows == 0 || c.base <= limit
	}
	var previous uint64
	for i := range t.rows {
		v := t.columns[column].at(i)
		if v < previous {
			return false
		}
		previous = v
	}
	return previous <= limit
}
