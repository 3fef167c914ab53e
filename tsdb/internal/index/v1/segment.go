package v1

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"
	"unsafe"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// format is what segments are written in.
//
// History: 1 sections of tables, postings as deltas, runs or bitmaps.
var format = section.Format{Magic: "VIDX", Version: 1}

// Ids of the sections.
const (
	secNames       = 1
	secNameBytes   = 2
	secValues      = 3
	secValueBytes  = 4
	secPostings    = 5
	secPresence    = 6
	secShapes      = 7
	secSeries      = 8
	secRecords     = 9
	columnNameEnd  = 0
	columnValueEnd = 1
	columnPresent  = 2
	columnPresEnd  = 3
	columnStrEnd   = 0
	columnCount    = 1
	columnPostEnd  = 2
	columnShape    = 0
	columnRecEnd   = 1
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

// compare compares the label sets of two series in the order of labels.Compare.
func (s *Segment) compare(a, b uint32) int {
	shapeA, recordA := s.record(a)
	shapeB, recordB := s.record(b)
	for k := range min(len(shapeA.names), len(shapeB.names)) {
		nameA, valueA := s.label(shapeA, recordA, k)
		nameB, valueB := s.label(shapeB, recordB, k)
		if c := cmp.Or(strings.Compare(nameA, nameB), strings.Compare(valueA, valueB)); c != 0 {
			return c
		}
	}
	return len(shapeA.names) - len(shapeB.names)
}

// ordinalWidth is the number of bytes an ordinal of a name with n values takes
// in a record; none where only one value is possible.
func ordinalWidth(n int) int {
	if n == 1 {
		return 0
	}
	return (bits.Len32(uint32(n)) + 7) / 8
}
