package part

import (
	"errors"
	"fmt"
	"hash/crc32"
	"path"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/index/section"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// loaded is what a part reads at first use.
type loaded struct {
	index  *index.Segment
	pages  section.Table
	times  section.Table
	blocks section.Table
	series section.Table
}

func (p *Part) load() (*loaded, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.loaded != nil {
		return p.mu.loaded, nil
	}
	l := new(loaded)
	if err := p.loadIndex(l); err != nil {
		return nil, err
	}
	for _, t := range []struct {
		id      uint64
		table   *section.Table
		columns int
	}{{secPages, &l.pages, 2}, {secTimes, &l.times, 2}, {secBlocks, &l.blocks, 6}, {secSeries, &l.series, 1}} {
		b, err := p.sections.Read(t.id)
		if err != nil {
			return nil, p.locate(DataFile, err)
		}
		if *t.table, err = section.OpenTable(b, t.columns); err == nil {
			err = p.check(l, t.id)
		}
		if err != nil {
			return nil, p.corrupt(DataFile, p.sections.Offset(t.id), err)
		}
	}
	p.mu.loaded = l
	return l, nil
}

func (p *Part) loadIndex(l *loaded) error {
	b, err := p.readFile(IndexFile, p.meta.indexSize)
	if err != nil {
		return err
	}
	if got := uint64(crc32.Checksum(b, castagnoli)); got != p.meta.indexCRC {
		return p.corrupt(IndexFile, 0, fmt.Errorf("checksum: got %08x, want %08x", got, p.meta.indexCRC))
	}
	if l.index, err = index.Open(b); err != nil {
		return p.locate(IndexFile, err)
	}
	if got := uint64(l.index.Len()); got != p.meta.Series {
		return p.corrupt(IndexFile, 0, fmt.Errorf("series: got %d, want %d", got, p.meta.Series))
	}
	return nil
}

// readFile reads a file that must have the given size.
func (p *Part) readFile(name string, size uint64) (b []byte, err error) {
	f, err := p.openFile(name, size)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b = make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, fmt.Errorf("read %s: got %d of %d bytes: %w", path.Join(p.dir, name), n, size, err)
	}
	return b, nil
}

func (p *Part) openFile(name string, size uint64) (vfs.File, error) {
	f, err := p.fs.Open(path.Join(p.dir, name))
	if err != nil {
		return nil, fmt.Errorf("open file of part: %w", err)
	}
	got, err := f.Size()
	if err == nil && uint64(got) != size {
		err = p.corrupt(name, 0, fmt.Errorf("size: got %d, want %d", got, size))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// check verifies I1 to I3 of one table; the ones before it hold.
func (p *Part) check(l *loaded, id uint64) error {
	switch id {
	case secPages:
		return p.checkPages(&l.pages)
	case secTimes:
		return p.checkPages(&l.times)
	case secBlocks:
		return p.checkBlocks(l)
	}
	return p.checkSeries(l)
}

func (p *Part) checkPages(t *section.Table) error {
	end := uint64(p.sections.SectionsBegin())
	if uint64(t.Rows()) > end {
		return fmt.Errorf("%d pages in %d bytes", t.Rows(), end)
	}
	for i := range t.Rows() {
		if offset, length := t.At(columnOffset, i), t.At(columnLength, i); offset < section.HeaderSize || offset > end || length > end-offset {
			return fmt.Errorf("page %d reaches from %d for %d bytes, beyond %d", i, offset, length, end)
		}
	}
	return nil
}

func (p *Part) checkBlocks(l *loaded) error {
	if uint64(l.blocks.Rows()) > p.meta.Samples {
		return fmt.Errorf("%d blocks with %d samples", l.blocks.Rows(), p.meta.Samples)
	}
	if l.blocks.Rows() > 0 && (l.pages.Rows() == 0 || !l.blocks.Ascends(columnPage, uint64(l.pages.Rows()-1))) {
		return fmt.Errorf("blocks lie beyond the last of %d pages", l.pages.Rows())
	}
	samples := uint64(0)
	reach := uint64(p.meta.MaxT - p.meta.minSample)
	for i := range l.blocks.Rows() {
		begin, span := l.blocks.At(columnMinT, i), l.blocks.At(columnSpan, i)
		if begin > reach || span > reach-begin {
			return fmt.Errorf("block %d reaches beyond the last time of the part", i)
		}
		count, kind := l.blocks.At(columnCount, i), l.blocks.At(columnKind, i)
		if count < 1 || count > block.MaxSamples || kind < uint64(block.KindFloat) || kind > uint64(block.KindFloatHistogram) {
			return fmt.Errorf("block %d has %d samples of kind %d", i, count, kind)
		}
		samples += count
	}
	if samples != p.meta.Samples {
		return fmt.Errorf("samples: got %d, want %d", samples, p.meta.Samples)
	}
	return nil
}

func (p *Part) checkSeries(l *loaded) error {
	if uint64(l.series.Rows()) != p.meta.Series {
		return fmt.Errorf("series: got %d, want %d", l.series.Rows(), p.meta.Series)
	}
	if !l.series.Ascends(columnBlockEnd, uint64(l.blocks.Rows())) {
		return errors.New("blocks of a series reach beyond the table")
	}
	begin := 0
	for i := range l.series.Rows() {
		end := int(l.series.At(columnBlockEnd, i))
		for row := begin + 1; row < end; row++ {
			if l.blocks.At(columnMinT, row) <= l.blocks.At(columnMinT, row-1)+l.blocks.At(columnSpan, row-1) {
				return fmt.Errorf("block %d of series %d overlaps the one before", row, i)
			}
		}
		begin = end
	}
	if begin != l.blocks.Rows() {
		return fmt.Errorf("blocks: got %d with a series, want %d", begin, l.blocks.Rows())
	}
	return nil
}

// rows returns which blocks belong to a series.
func (l *loaded) rows(series uint32) (begin, end int) {
	if series > 0 {
		begin = int(l.series.At(columnBlockEnd, int(series)-1))
	}
	return begin, int(l.series.At(columnBlockEnd, int(series)))
}

// blockTimes returns the first and last time of a block.
func (p *Part) blockTimes(l *loaded, row int) (mint, maxt int64) {
	mint = p.meta.minSample + int64(l.blocks.At(columnMinT, row))
	return mint, mint + int64(l.blocks.At(columnSpan, row))
}
