package index2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// Open opens the segment stored in b, which it keeps and uses in place. It reads
// all of it once: checksums, and everything that an accessor relies on (I1 to
// I5), so that no answer can fail or reach out of bounds later. b begins at a
// multiple of 8 in memory, or else bitmaps are copied when they are used. Errors
// wrap block.ErrCorrupt or block.ErrVersion.
func Open(b []byte, caches Caches) (*Segment, error) {
	c, err := openFrame(b)
	if err != nil {
		return nil, fmt.Errorf("open index: %w", err)
	}
	s := &Segment{byName: map[string]*segmentLabel{}, rows: c.section[secRows], columns: c.section[secColumns], data: c.section[secData]}
	for _, section := range c.section {
		s.size += len(section)
	}
	for _, step := range []struct {
		id  int
		run func(*contents) error
	}{{secRows, s.openRows}, {secNames, s.openNames}, {secColumns, s.checkColumns}, {secDays, s.openDays}} {
		if err := step.run(c); err != nil {
			return nil, fmt.Errorf("open index: %w", corrupt(c.offset[step.id], "section %d: %w", step.id, err))
		}
	}
	s.every = bitmap.All(s.n)
	s.View = newView(s, caches)
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
		if end <= begin || last < first {
			return fmt.Errorf("row group %d is empty or out of order", g)
		}
		begin, first = end, last
	}
	if begin != s.n || first != columns {
		return errors.New("row groups do not add up")
	}
	return nil
}

// reader reads uvarints and sticks to its first error.
type reader struct {
	b      []byte
	failed bool
}

func (r *reader) uvarint() uint64 {
	x, n := binary.Uvarint(r.b)
	if n <= 0 {
		r.failed, r.b = true, nil
		return 0
	}
	r.b = r.b[n:]
	return x
}

// take returns the next n bytes of *b, or fails.
func (r *reader) take(b *[]byte, n uint64) []byte {
	if r.failed || n > uint64(len(*b)) {
		r.failed = true
		return nil
	}
	out := (*b)[:n:n]
	*b = (*b)[n:]
	return out
}

// openNames reads the label names and checks I1 and I2.
func (s *Segment) openNames(c *contents) error {
	r := &reader{b: c.section[secNames]}
	text, groups := c.section[secText], c.section[secGroups]
	count := r.uvarint()
	if count > uint64(len(r.b)) {
		return fmt.Errorf("%d label names", count)
	}
	for i := range uint32(count) {
		l := &segmentLabel{s: s, number: i}
		l.name = string(r.take(&r.b, r.uvarint()))
		values, length := r.uvarint(), r.uvarint()
		present, off := r.uvarint(), r.uvarint()
		if values == 0 || values > uint64(s.n) || present > uint64(s.n) {
			return fmt.Errorf("label %q has %d values and %d of %d series", l.name, values, present, s.n)
		}
		l.n, l.dictionary.postings = uint32(values), c.section[secPostings]
		l.text = r.take(&text, length)
		l.groups = r.take(&groups, groupEntry*uint64(l.groupCount()))
		if r.failed {
			return errors.New("label names reach beyond their sections")
		}
		if l.name == "" || i > 0 && l.name <= s.list[i-1].name {
			return fmt.Errorf("label name %q is empty or out of order", l.name)
		}
		total, err := l.check(s.n)
		if err != nil {
			return fmt.Errorf("values of %q: %w", l.name, err)
		}
		if uint64(total) != present {
			return fmt.Errorf("label %q: %d series in all, %d of its values", l.name, present, total)
		}
		if present == uint64(s.n) {
			l.presence = bitmap.All(s.n)
		} else if l.presence, err = bitmap.Open(c.section[secPostings], off, int(present), s.n); err != nil {
			return fmt.Errorf("presence of %q: %w", l.name, err)
		}
		s.list = append(s.list, l)
		s.byName[l.name] = l
	}
	if len(r.b)+len(text)+len(groups) > 0 {
		return errors.New("label names leave bytes over")
	}
	return nil
}

// checkColumns checks I3: every row has ordinals that exist.
func (s *Segment) checkColumns(*contents) error {
	var ids, ordinals [1024]uint32
	for g := range s.rowGroups() {
		begin, first := s.rowGroup(g)
		end, last := s.rowGroup(g + 1)
		for i := first; i < last; i++ {
			e := s.columns[columnEntry*i:][:columnEntry]
			number, how := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint64(e[8:])
			if int64(number) >= int64(len(s.list)) || i > first && number <= s.column(i-1).label {
				return fmt.Errorf("column %d is of label %d of %d, or out of order", i, number, len(s.list))
			}
			width, off := how&0x3f, how>>8
			if width > 32 || off+(uint64(end-begin)*width+7)/8+dataSlack > uint64(len(s.data)) {
				return fmt.Errorf("column %d has %d bits a row from %d of %d bytes", i, width, off, len(s.data))
			}
			p, values, nullable := s.column(i), s.list[number].n, how&0x80 != 0
			if width == 0 && !nullable { // as long as one likes in no bytes
				if p.base == 0 || p.base > values {
					return fmt.Errorf("column %d has value %d of %d", i, p.base, values)
				}
				continue
			}
			for at := begin; at < end; at += uint32(len(ids)) {
				n := min(int(end-at), len(ids))
				for k := range n {
					ids[k] = at + uint32(k)
				}
				p.fill(ordinals[:n], ids[:n], begin)
				for _, o := range ordinals[:n] {
					if o > values || o == 0 && !nullable {
						return fmt.Errorf("column %d has value %d of %d", i, o, values)
					}
				}
				if uint64(at)+uint64(len(ids)) > math.MaxUint32 {
					break
				}
			}
		}
	}
	return nil
}

// openDays reads the activity of days, I5.
func (s *Segment) openDays(c *contents) error {
	r := &reader{b: c.section[secDays]}
	count := r.uvarint()
	if count > uint64(len(r.b)) {
		return fmt.Errorf("%d days", count)
	}
	day := int64(0)
	for i := range count {
		step, active, off := r.uvarint(), r.uvarint(), r.uvarint()
		if r.failed || step > math.MaxInt32 || i > 0 && step == 0 {
			return errors.New("days do not parse")
		}
		day += int64(step)
		set, err := bitmap.Open(c.section[secPostings], off, int(min(active, math.MaxInt32*2)), s.n)
		if err != nil {
			return fmt.Errorf("activity of day %d: %w", day, err)
		}
		s.days = append(s.days, segmentDay{day, set})
	}
	if len(r.b) > 0 || r.failed {
		return errors.New("days leave bytes over")
	}
	return nil
}
