package index

import (
	"encoding/binary"
	"strings"
)

// Space is what the bytes of a stored segment are. They add up to its size.
type Space struct {
	Dictionaries uint64 // names and values of labels
	Postings     uint64 // which series have a value, and which were active on a day
	Columns      uint64 // which value a series has
	Frame        uint64 // checksums of pages, table of contents, room between sections
	Compressed   bool   // sections are zstd frames: Labels' bytes are of what is in them
	Labels       []LabelSpace
}

// LabelSpace is what a label has of a segment.
type LabelSpace struct {
	Name       string
	Values     int
	Series     int
	Dictionary uint64 // bytes of its values as they are stored, and of what finds them
	Columns    uint64 // bytes of its rows
}

// Space tells where the bytes of the segment are. It reads the tables alone.
func (s *Segment) Space() (Space, error) {
	var out Space
	c, end := contents{}, int64(len(s.file))
	length := int64(binary.LittleEndian.Uint32(s.file[end-footerSize:])) // Open compared it
	end -= footerSize + length
	if err := c.parse(end, s.file[end:end+length]); err != nil {
		return out, s.located(err)
	}
	sum := uint64(0)
	for id, e := range c.entries {
		if e == nil {
			continue
		}
		sum += e.stored
		out.Compressed = out.Compressed || e.how == howZstd
		switch id {
		case secNames, secText, secGroups:
			out.Dictionaries += e.stored
		case secPostings, secDays:
			out.Postings += e.stored
		case secRows, secColumns, secData:
			out.Columns += e.stored
		}
	}
	if sum > uint64(len(s.file)) {
		return Space{}, s.located(corrupt(end, "sections overlap"))
	}
	out.Frame = uint64(len(s.file)) - out.Dictionaries - out.Postings - out.Columns
	for _, l := range s.list {
		out.Labels = append(out.Labels, LabelSpace{Name: strings.Clone(l.name), Values: int(l.n), Series: int(l.count), Dictionary: uint64(len(l.text.b) + len(l.groups.b))})
	}
	s.columnSpace(out.Labels)
	return out, nil
}

// columnSpace adds up the rows of each label.
func (s *Segment) columnSpace(list []LabelSpace) {
	for g := range s.rowGroups() {
		begin, first := s.rowGroup(g)
		end, last := s.rowGroup(g + 1)
		for i := first; i < last; i++ {
			e := s.columns[columnEntry*i:][:columnEntry]
			number, width := binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint64(e[8:])&0x3f
			list[number].Columns += (uint64(end-begin)*width+7)/8 + columnEntry
		}
	}
}
