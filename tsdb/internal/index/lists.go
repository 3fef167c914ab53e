package index

import (
	"math/bits"
	"strings"

	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// appendStored decodes list i of those whose ends a column lists. It was
// checked when the segment was opened.
func appendStored(dst []uint32, ends *section.Table, column, i int, b []byte, n uint32) []uint32 {
	begin := uint64(0)
	if i > 0 {
		begin = ends.At(column, i-1)
	}
	dst, ok := decodePostings(dst, b[begin:ends.At(column, i)], n)
	if !ok {
		panic("index: postings changed after they were checked")
	}
	return dst
}

// Column gives the values of one label, by series. It may be used by many
// goroutines.
type Column struct {
	s     *Segment
	name  int      // -1 where no series has the label
	place []uint64 // per shape: begin and end of the ordinal in a record, +1; 0 if absent
}

// Column returns the column of a label; one no series has is empty, not an
// error. Cost: a step per distinct list of label names.
func (s *Segment) Column(name string) Column {
	i, ok := s.findName(name)
	if !ok {
		return Column{s: s, name: -1}
	}
	return s.column(i)
}

func (s *Segment) column(i int) Column {
	c := Column{s: s, name: i, place: make([]uint64, len(s.shapes))}
	for number := range s.shapes {
		sh := &s.shapes[number]
		for k, name := range sh.names {
			if int(name) == i {
				end := sh.size
				if k+1 < len(sh.at) {
					end = sh.at[k+1]
				}
				c.place[number] = uint64(sh.at[k])<<32 | uint64(end) + 1
				break
			}
		}
	}
	return c
}

// Ordinal returns the ordinal of the value of a series, 0 if it lacks the label.
func (c Column) Ordinal(series uint32) uint32 {
	if c.name < 0 {
		return 0
	}
	number := c.s.series.At(columnShape, int(series))
	place := c.place[number]
	if place == 0 {
		return 0
	}
	sh := &c.s.shapes[number]
	end := c.s.series.At(columnRecEnd, int(series))
	record := c.s.records[end-uint64(sh.size) : end]
	return ordinalAt(record, int(place>>32), int(uint32(place))-1)
}

// Len returns the number of distinct values: ordinals are 1 to Len.
func (c Column) Len() int {
	if c.name < 0 {
		return 0
	}
	begin, end := c.s.valueRange(c.name)
	return end - begin
}

// Value returns the value with an ordinal, the empty string for 0.
func (c Column) Value(ordinal uint32) string {
	if ordinal == 0 {
		return ""
	}
	begin, _ := c.s.valueRange(c.name)
	return strings.Clone(c.s.value(begin + int(ordinal) - 1))
}

// LabelNames returns the names of all labels of the given series, sorted; of
// all series if series is nil.
func (s *Segment) LabelNames(series []uint32) []string {
	var out []string
	if series == nil {
		for i := range s.names.Rows() {
			out = append(out, strings.Clone(s.name(i)))
		}
		return out
	}
	shapes := make([]bool, len(s.shapes))
	for _, o := range series {
		shapes[s.series.At(columnShape, int(o))] = true
	}
	names := make([]bool, s.names.Rows())
	for number, seen := range shapes {
		if seen {
			for _, i := range s.shapes[number].names {
				names[i] = true
			}
		}
	}
	for i, seen := range names {
		if seen {
			out = append(out, strings.Clone(s.name(i)))
		}
	}
	return out
}

// LabelValues returns the values of a label of the given series, sorted; of all
// series if series is nil.
func (s *Segment) LabelValues(name string, series []uint32) []string {
	i, ok := s.findName(name)
	if !ok {
		return nil
	}
	begin, end := s.valueRange(i)
	var out []string
	if series == nil {
		for k := begin; k < end; k++ {
			out = append(out, strings.Clone(s.value(k)))
		}
		return out
	}
	column := s.column(i)
	seen := make([]uint64, (end-begin)/64+1)
	for _, o := range series {
		ordinal := column.Ordinal(o)
		seen[ordinal/64] |= 1 << (ordinal % 64)
	}
	seen[0] &^= 1
	for w, word := range seen {
		for ; word != 0; word &= word - 1 {
			out = append(out, strings.Clone(s.value(begin+w*64+bits.TrailingZeros64(word)-1)))
		}
	}
	return out
}

// NameCount is the number of series with a label name and of its values.
type NameCount struct {
	Name   string
	Values int
	Series int
	Bytes  int // of its distinct values
}

// Cardinality returns the counts of every label name, in order.
func (s *Segment) Cardinality() []NameCount {
	out := make([]NameCount, s.names.Rows())
	textBegin := uint64(0)
	for i := range out {
		begin, end := s.valueRange(i)
		textEnd := s.values.At(columnStrEnd, end-1)
		out[i] = NameCount{Name: strings.Clone(s.name(i)), Values: end - begin, Series: int(s.names.At(columnPresent, i)), Bytes: int(textEnd - textBegin)}
		textBegin = textEnd
	}
	return out
}

// ValueCardinality calls f with every value of a label, in order, and the
// number of series that have it. The string is valid during the call only.
func (s *Segment) ValueCardinality(name string, f func(value string, series int)) {
	i, ok := s.findName(name)
	if !ok {
		return
	}
	begin, end := s.valueRange(i)
	for k := begin; k < end; k++ {
		f(s.value(k), int(s.values.At(columnCount, k)))
	}
}
