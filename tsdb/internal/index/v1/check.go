package v1

import (
	"errors"
	"fmt"
	"math"

	"github.com/varvedb/varve/tsdb/internal/codec"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// check verifies I1 to I4, so that accessors need not.
func (s *Segment) check(f *section.File, shapes []byte) error {
	steps := []struct {
		section uint64
		run     func() error
	}{
		{secNames, s.checkNames},
		{secValues, s.checkValues},
		{secShapes, func() error { return s.parseShapes(shapes) }},
		{secSeries, s.checkSeries},
		{secPostings, s.checkPostings},
		{secRecords, s.checkOrder},
	}
	for _, step := range steps {
		if err := step.run(); err != nil {
			return corrupt(f, step.section, err)
		}
	}
	return nil
}

func (s *Segment) checkNames() error {
	if s.names.Rows() > len(s.nameBytes) {
		return errors.New("more label names than bytes of them")
	}
	if !s.names.Ascends(columnNameEnd, uint64(len(s.nameBytes))) || !s.names.Ascends(columnPresEnd, uint64(len(s.presence))) {
		return errors.New("label names reach beyond their section")
	}
	if !s.names.Ascends(columnValueEnd, uint64(s.values.Rows())) {
		return errors.New("values reach beyond their table")
	}
	for i := range s.names.Rows() {
		if name := s.name(i); name == "" || i > 0 && name <= s.name(i-1) {
			return fmt.Errorf("label name %q is empty or out of order", name)
		}
		if begin, end := s.valueRange(i); begin == end || i == s.names.Rows()-1 && end != s.values.Rows() {
			return fmt.Errorf("label name %q has values %d to %d of %d", s.name(i), begin, end, s.values.Rows())
		}
	}
	return nil
}

func (s *Segment) checkValues() error {
	if s.values.Rows() > len(s.valueBytes) || s.names.Rows() == 0 && s.values.Rows() > 0 || s.values.Rows() > math.MaxUint32 {
		return errors.New("more values than bytes of them")
	}
	if !s.values.Ascends(columnStrEnd, uint64(len(s.valueBytes))) || !s.values.Ascends(columnPostEnd, uint64(len(s.postings))) {
		return errors.New("values reach beyond their section")
	}
	for i := range s.names.Rows() {
		begin, end := s.valueRange(i)
		for k := begin; k < end; k++ {
			if value := s.value(k); value == "" || k > begin && value <= s.value(k-1) {
				return fmt.Errorf("value %q of %q is empty or out of order", value, s.name(i))
			}
		}
	}
	return nil
}

var errShapes = errors.New("lists of label names do not parse")

func (s *Segment) parseShapes(b []byte) error {
	r := codec.NewReader(b)
	s.shapes = make([]shape, r.Count(1))
	for i := range s.shapes {
		n := r.Count(1)
		sh := shape{names: make([]uint32, n), at: make([]int, n)}
		for k := range sh.names {
			name := r.Uvarint()
			if r.Bad() || name >= uint64(s.names.Rows()) || k > 0 && uint32(name) <= sh.names[k-1] {
				return errShapes
			}
			begin, end := s.valueRange(int(name))
			sh.names[k], sh.at[k] = uint32(name), sh.size
			sh.size += ordinalWidth(end - begin)
		}
		s.shapes[i] = sh
	}
	if r.Bad() || r.Len() > 0 {
		return errShapes
	}
	return nil
}

func (s *Segment) checkSeries() error {
	n := s.series.Rows()
	if n > len(s.records)+len(s.shapes) || n >= math.MaxUint32 { // two series of a shape differ in a record of at least a byte
		return fmt.Errorf("%d series with %d bytes of records", n, len(s.records))
	}
	if !s.series.Ascends(columnRecEnd, uint64(len(s.records))) {
		return errors.New("records reach beyond their section")
	}
	begin := uint64(0)
	for i := range n {
		number, end := s.series.At(columnShape, i), s.series.At(columnRecEnd, i)
		if number >= uint64(len(s.shapes)) {
			return fmt.Errorf("series %d has shape %d of %d", i, number, len(s.shapes))
		}
		sh := &s.shapes[number]
		if end-begin != uint64(sh.size) {
			return fmt.Errorf("series %d has a record of %d bytes, want %d", i, end-begin, sh.size)
		}
		record := s.records[begin:end]
		for k, name := range sh.names {
			first, last := s.valueRange(int(name))
			if o := sh.ordinal(record, k); o == 0 || int(o) > last-first {
				return fmt.Errorf("series %d has value %d of %d of %q", i, o, last-first, s.name(int(name)))
			}
		}
		begin = end
	}
	return nil
}

func (s *Segment) checkPostings() error {
	n := uint32(s.Len())
	var list []uint32
	for _, p := range []struct {
		table      *section.Table
		count, end int
		bytes      []byte
	}{{&s.values, columnCount, columnPostEnd, s.postings}, {&s.names, columnPresent, columnPresEnd, s.presence}} {
		begin := uint64(0)
		for i := range p.table.Rows() {
			end := p.table.At(p.end, i)
			var ok bool
			if list, ok = decodePostings(list[:0], p.bytes[begin:end], n); !ok || uint64(len(list)) != p.table.At(p.count, i) {
				return fmt.Errorf("postings %d: got %d of them, want %d", i, len(list), p.table.At(p.count, i))
			}
			begin = end
		}
	}
	return nil
}

func (s *Segment) checkOrder() error {
	for i := 1; i < s.Len(); i++ {
		if s.compare(uint32(i-1), uint32(i)) >= 0 {
			return fmt.Errorf("series %d is out of order", i)
		}
	}
	return nil
}
