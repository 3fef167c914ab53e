package index

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sort"
	"strings"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// Segment is an opened index. It holds a handful of byte slices, whatever the
// number of series; everything is looked up in place. It may be used by many
// goroutines and needs no closing. Strings it returns are copies.
type Segment struct {
	series  section.Table
	records []byte
	shapes  []shape

	names     section.Table
	nameBytes []byte
	presence  []byte

	values     section.Table
	valueBytes []byte
	postings   []byte
}

// shape is a list of label names that some series have in common.
type shape struct {
	names []uint32 // name numbers, ascending
	at    []int    // where the ordinal of each is in a record
	size  int      // of a record
}

// Open opens the segment stored in b and checks all of it (I1 to I4), so that
// nothing can fail later. b is not kept. Errors wrap block.ErrCorrupt or
// block.ErrVersion.
func Open(b []byte) (*Segment, error) {
	f, err := section.Open(bytes.NewReader(b), int64(len(b)), format)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	s := new(Segment)
	if err := s.read(f); err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	return s, nil
}

func (s *Segment) read(f *section.File) error {
	for _, p := range []struct {
		id      uint64
		table   *section.Table
		columns int
	}{{secNames, &s.names, 4}, {secValues, &s.values, 3}, {secSeries, &s.series, 2}} {
		b, err := f.Read(p.id)
		if err != nil {
			return err
		}
		if *p.table, err = section.OpenTable(b, p.columns); err != nil {
			return corrupt(f, p.id, err)
		}
	}
	for _, p := range []struct {
		id  uint64
		dst *[]byte
	}{{secNameBytes, &s.nameBytes}, {secValueBytes, &s.valueBytes}, {secPostings, &s.postings}, {secPresence, &s.presence}, {secRecords, &s.records}} {
		b, err := f.Read(p.id)
		if err != nil {
			return err
		}
		*p.dst = b
	}
	shapes, err := f.Read(secShapes)
	if err != nil {
		return err
	}
	return s.check(f, shapes)
}

func corrupt(f *section.File, id uint64, cause error) error {
	return &block.CorruptionError{Offset: f.Offset(id), Cause: cause}
}

// Len returns the number of series.
func (s *Segment) Len() int { return s.series.Rows() }

// Size returns the memory the segment holds, in bytes, about.
func (s *Segment) Size() int {
	n := len(s.records) + len(s.nameBytes) + len(s.presence) + len(s.valueBytes) + len(s.postings)
	return n + 8*s.series.Rows() + 12*s.values.Rows() + 16*s.names.Rows() + 48*len(s.shapes)
}

// textAt returns string i of those whose ends a column lists, aliasing text.
func textAt(text []byte, ends *section.Table, column, i int) string {
	begin := uint64(0)
	if i > 0 {
		begin = ends.At(column, i-1)
	}
	b := text[begin:ends.At(column, i)]
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// name returns label name i; the string aliases the segment.
func (s *Segment) name(i int) string { return textAt(s.nameBytes, &s.names, columnNameEnd, i) }

// value returns value i of all names; the string aliases the segment.
func (s *Segment) value(i int) string { return textAt(s.valueBytes, &s.values, columnStrEnd, i) }

// valueRange returns which of all values belong to name i.
func (s *Segment) valueRange(i int) (begin, end int) {
	if i > 0 {
		begin = int(s.names.At(columnValueEnd, i-1))
	}
	return begin, int(s.names.At(columnValueEnd, i))
}

// findName returns the number of a label name.
func (s *Segment) findName(name string) (int, bool) {
	return sort.Find(s.names.Rows(), func(i int) int { return strings.Compare(name, s.name(i)) })
}

// findValue returns the ordinal of a value of name i, 0 if there is none.
func (s *Segment) findValue(i int, value string) uint32 {
	begin, end := s.valueRange(i)
	k, ok := sort.Find(end-begin, func(k int) int { return strings.Compare(value, s.value(begin+k)) })
	if !ok {
		return 0
	}
	return uint32(k + 1)
}

// record returns the shape and the record of a series.
func (s *Segment) record(series uint32) (*shape, []byte) {
	end := s.series.At(columnRecEnd, int(series))
	shape := &s.shapes[s.series.At(columnShape, int(series))]
	return shape, s.records[end-uint64(shape.size) : end]
}

// ordinal reads the k-th ordinal of a record.
func (sh *shape) ordinal(record []byte, k int) uint32 {
	end := sh.size
	if k+1 < len(sh.at) {
		end = sh.at[k+1]
	}
	return ordinalAt(record, sh.at[k], end)
}

func ordinalAt(record []byte, begin, end int) uint32 {
	switch end - begin {
	case 0:
		return 1
	case 1:
		return uint32(record[begin])
	case 2:
		return uint32(binary.LittleEndian.Uint16(record[begin:]))
	case 3:
		return uint32(binary.LittleEndian.Uint16(record[begin:])) | uint32(record[begin+2])<<16
	}
	return binary.LittleEndian.Uint32(record[begin:])
}

// label returns the k-th label of a record; the strings alias the segment.
func (s *Segment) label(sh *shape, record []byte, k int) (name, value string) {
	i := int(sh.names[k])
	begin, _ := s.valueRange(i)
	return s.name(i), s.value(begin + int(sh.ordinal(record, k)) - 1)
}

// Labels returns the label set of a series, made with b, which is reset.
func (s *Segment) Labels(series uint32, b *labels.ScratchBuilder) labels.Labels {
	sh, record := s.record(series)
	b.Reset()
	for k := range sh.names {
		name, value := s.label(sh, record, k)
		b.Add(name, value) // copied by b.Labels
	}
	return b.Labels()
}

// Compare compares the label set of a series with one of another segment, which
// may be s, in the order of labels.Compare. It allocates nothing.
func (s *Segment) Compare(series uint32, other *Segment, otherSeries uint32) int {
	sh, record := s.record(series)
	otherShape, otherRecord := other.record(otherSeries)
	for k := range min(len(sh.names), len(otherShape.names)) {
		name, value := s.label(sh, record, k)
		otherName, otherValue := other.label(otherShape, otherRecord, k)
		if c := strings.Compare(name, otherName); c != 0 {
			return c
		}
		if c := strings.Compare(value, otherValue); c != 0 {
			return c
		}
	}
	return len(sh.names) - len(otherShape.names)
}

// CompareLabels compares the label set of a series with lset in the order of
// labels.Compare. It allocates nothing to speak of.
func (s *Segment) CompareLabels(series uint32, lset labels.Labels) int {
	sh, record := s.record(series)
	k, result := 0, 0
	lset.Range(func(l labels.Label) {
		if result != 0 {
			return
		}
		if k == len(sh.names) {
			result = -1
			return
		}
		name, value := s.label(sh, record, k)
		k++
		if result = strings.Compare(name, l.Name); result == 0 {
			result = strings.Compare(value, l.Value)
		}
	})
	if result == 0 && k < len(sh.names) {
		return 1
	}
	return result
}

// Lookup returns the ordinal of the series with exactly this label set.
func (s *Segment) Lookup(lset labels.Labels) (uint32, bool) {
	i, ok := sort.Find(s.Len(), func(i int) int { return -s.CompareLabels(uint32(i), lset) })
	return uint32(i), ok
}
