package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"runtime/debug"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Open opens the segment stored in b, which it keeps and uses in place: it reads
// the tables of names, row groups and days alone. The rest is checked page by
// page as it is touched; see Guard for how damage is told. b begins at a multiple
// of 8 in memory, or else bitmaps are copied when they are used. Errors wrap
// block.ErrCorrupt or block.ErrVersion. b must stay until Close.
func Open(b []byte, caches Caches) (s *Segment, err error) {
	s = &Segment{file: b, byName: map[string]*segmentLabel{}}
	defer s.caught(debug.SetPanicOnFault(true), &err)
	c, err := openFrame(b)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	s.rows, s.columns, s.data, s.postings, s.pages = c.section[secRows].b, c.section[secColumns].b, c.section[secData], c.section[secPostings], c.pages
	for i := range c.section {
		s.size += len(c.section[i].b)
	}
	for _, step := range []struct {
		id  int
		run func(*contents) error
	}{{secRows, s.openRows}, {secNames, s.openNames}, {secColumns, s.openColumns}, {secDays, s.openDays}} {
		if err := step.run(c); err != nil {
			return nil, fmt.Errorf("open index: %w", corrupt(int64(c.section[step.id].at), "section %d: %w", step.id, err))
		}
	}
	s.every = bitmap.All(s.n)
	s.View = newView(s, caches)
	s.View.segment = s
	return s, nil
}

// openRows checks I4 for the table of row groups.
func (s *Segment) openRows(*contents) error {
	if len(s.rows) < rowsEntry || len(s.rows)%rowsEntry != 0 || len(s.columns)%columnEntry != 0 {
		return errors.New("tables of rows and columns have odd lengths")
	}
	groups := s.rowGroups()
	var columns int
	if s.n, columns = s.rowGroup(groups); s.n == math.MaxUint32 || columns != len(s.columns)/columnEntry {
		return fmt.Errorf("%d series, %d columns of %d", s.n, columns, len(s.columns)/columnEntry)
	}
	begin, first := uint32(0), 0
	for g := range groups {
		if b, f := s.rowGroup(g); b != begin || f != first {
			return fmt.Errorf("row group %d begins at %d with column %d, want %d and %d", g, b, f, begin, first)
		}
		end, last := s.rowGroup(g + 1)
		if end <= begin || end-begin > maxRows || last < first {
			return fmt.Errorf("row group %d has rows from %d to %d", g, begin, end)
		}
		begin, first = end, last
	}
	if begin != s.n || first != columns {
		return errors.New("row groups do not add up")
	}
	return nil
}

// openNames reads the label names and checks their order (I1).
func (s *Segment) openNames(c *contents) error {
	r := codec.NewReader(c.section[secNames].b)
	text, groups := c.section[secText], c.section[secGroups]
	textAt, groupsAt := uint64(0), uint64(0)
	count := r.Uvarint()
	if count > uint64(r.Len()) {
		return fmt.Errorf("%d label names", count)
	}
	for i := range uint32(count) {
		l := &segmentLabel{s: s, number: i}
		l.name = string(r.Take(r.Uvarint()))
		values, length := r.Uvarint(), r.Uvarint()
		present, off := r.Uvarint(), r.Uvarint()
		if values == 0 || values > uint64(s.n) || present > uint64(s.n) || present < values {
			return fmt.Errorf("label %q has %d values and %d of %d series", l.name, values, present, s.n)
		}
		l.n, l.limit, l.count, l.off, l.dictionary.postings = uint32(values), s.n, uint32(present), off, s.postings
		if err := l.openFlags(&r, c.version); err != nil {
			return fmt.Errorf("label %q: %w", l.name, err)
		}
		size := groupEntry * uint64(l.groupCount())
		if r.Bad() || length > uint64(len(text.b))-textAt || size > uint64(len(groups.b))-groupsAt {
			return errors.New("label names reach beyond their sections")
		}
		l.text, l.groups = text.part(textAt, length), groups.part(groupsAt, size)
		textAt, groupsAt = textAt+length, groupsAt+size
		if l.name == "" || i > 0 && l.name <= s.list[i-1].name {
			return fmt.Errorf("label name %q is empty or out of order", l.name)
		}
		s.list = append(s.list, l)
		s.byName[l.name] = l
	}
	if r.Len() > 0 || textAt != uint64(len(text.b)) || groupsAt != uint64(len(groups.b)) {
		return errors.New("label names leave bytes over")
	}
	return nil
}

// Flags of a label.
const (
	flagSingle   = 1 // each value has one series
	flagTemplate = 2 // a template follows
)

// openFlags reads what version 2 has not.
func (l *segmentLabel) openFlags(r *codec.Reader, version uint32) error {
	if version < 3 {
		return nil
	}
	flags := r.Uvarint()
	l.single = flags&flagSingle != 0
	if flags > flagSingle|flagTemplate || l.single && l.count != l.n {
		return fmt.Errorf("flags %d", flags)
	}
	if flags&flagTemplate == 0 {
		return nil
	}
	var err error
	l.template, err = readTemplate(r)
	return err
}

// openColumns checks that columns are within their sections.
func (s *Segment) openColumns(*contents) error {
	for g := range s.rowGroups() {
		begin, first := s.rowGroup(g)
		end, last := s.rowGroup(g + 1)
		for i := first; i < last; i++ {
			e := s.columns[columnEntry*i:][:columnEntry]
			number, how := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint64(e[8:])
			if int64(number) >= int64(len(s.list)) || i > first && number <= binary.LittleEndian.Uint32(s.columns[columnEntry*(i-1):]) {
				return fmt.Errorf("column %d is of label %d of %d, or out of order", i, number, len(s.list))
			}
			width, off := how&0x3f, how>>8
			if width > 32 || off+(uint64(end-begin)*width+7)/8+dataSlack > uint64(len(s.data.b)) {
				return fmt.Errorf("column %d has %d bits a row from %d of %d bytes", i, width, off, len(s.data.b))
			}
		}
	}
	return nil
}

// openDays reads the days and checks their order (I5).
func (s *Segment) openDays(c *contents) error {
	r := codec.NewReader(c.section[secDays].b)
	count := r.Uvarint()
	if count > uint64(r.Len()) {
		return fmt.Errorf("%d days", count)
	}
	day := int64(0)
	for i := range count {
		step, active, off := r.Uvarint(), r.Uvarint(), r.Uvarint()
		if r.Bad() || step > math.MaxInt32 || i > 0 && step == 0 || active == 0 || active > uint64(s.n) {
			return errors.New("days do not parse")
		}
		day += int64(step)
		s.days = append(s.days, segmentDay{day: day, count: int(active), off: off})
	}
	if r.Len() > 0 || r.Bad() {
		return errors.New("days leave bytes over")
	}
	return nil
}
