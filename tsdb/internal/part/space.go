package part

import (
	"errors"
	"fmt"
	"path"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// DataSpace is what the bytes of a data file are. They add up to its size.
type DataSpace struct {
	Payloads uint64 // of blocks: values; in format 1 headers and times on a grid too
	Times    uint64 // columns of times that are no grid
	Headers  uint64 // pages of headers
	Tables   uint64 // what finds the groups, the Meta and the frame
}

// DataSpace tells where the bytes of the data file are. What a group has whose
// headers are damaged counts as payloads. It needs no index.
func (p *Part) DataSpace() (DataSpace, error) {
	s, err := p.openSamples()
	if err != nil {
		return DataSpace{}, err
	}
	size, err := p.data.Size()
	if err != nil {
		return DataSpace{}, fmt.Errorf("size of %s: %w", path.Join(p.dir, DataFile), err)
	}
	space, err := s.space()
	space.Tables = uint64(size) - space.Payloads - space.Times - space.Headers
	return space, err
}

// IndexVersion returns the version of the index file. Of one of version 1 Index
// is a copy in the present version.
func (p *Part) IndexVersion() (uint32, error) { return p.indexVersion() }

func (g *groups) space() (d DataSpace, err error) {
	for group := range g.table.Rows() {
		body := g.at(groupBody, group)
		d.Headers += g.at(groupPageSize, group)
		page, err := g.readPage(group)
		if errors.Is(err, block.ErrCorrupt) {
			d.Payloads += body
			continue
		}
		if err != nil {
			return d, err
		}
		values := uint64(0)
		for k := range page.rows.Len() {
			_, length := page.rows.Place(k)
			values += uint64(length)
		}
		values = min(values, body) // more: payloads overlap
		d.Payloads += values
		d.Times += body - values
	}
	return d, nil
}

func (l *tables) space() (d DataSpace, err error) {
	for i := range l.pages.Rows() {
		d.Payloads += l.pages.At(columnLength, i)
	}
	for i := range l.times.Rows() {
		d.Times += l.times.At(columnLength, i)
	}
	if end := uint64(l.p.sections.SectionsBegin()); d.Payloads > end || d.Times > end-d.Payloads {
		return DataSpace{}, l.p.corrupt(DataFile, l.p.sections.Offset(secPages), errors.New("pages overlap"))
	}
	return d, nil
}
