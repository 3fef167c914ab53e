package part

import (
	"errors"
	"fmt"
	"io"
	"math"
	"path"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/block/v1"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// tables are the samples of a part of format 1: pages of blocks, and tables
// that find them. Such parts are read, no longer written.
type tables struct {
	p      *Part
	cache  pageCache
	pages  section.Table
	times  section.Table
	blocks section.Table
	series section.Table
}

func loadTables(p *Part) (*tables, error) {
	l := &tables{p: p}
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
			err = l.check(t.id)
		}
		if err != nil {
			return nil, p.corrupt(DataFile, p.sections.Offset(t.id), err)
		}
	}
	return l, nil
}

// check verifies I1 to I3 of one table; the ones before it hold.
func (l *tables) check(id uint64) error {
	switch id {
	case secPages:
		return l.checkPages(&l.pages)
	case secTimes:
		return l.checkPages(&l.times)
	case secBlocks:
		return l.checkBlocks()
	}
	return l.checkSeries()
}

func (l *tables) checkPages(t *section.Table) error {
	end := uint64(l.p.sections.SectionsBegin())
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

func (l *tables) checkBlocks() error {
	if uint64(l.blocks.Rows()) > l.p.meta.Samples {
		return fmt.Errorf("%d blocks with %d samples", l.blocks.Rows(), l.p.meta.Samples)
	}
	if l.blocks.Rows() > 0 && (l.pages.Rows() == 0 || !l.blocks.Ascends(columnPage, uint64(l.pages.Rows()-1))) {
		return fmt.Errorf("blocks lie beyond the last of %d pages", l.pages.Rows())
	}
	samples := uint64(0)
	reach := uint64(l.p.meta.MaxT - l.p.meta.minSample)
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
	if samples != l.p.meta.Samples {
		return fmt.Errorf("samples: got %d, want %d", samples, l.p.meta.Samples)
	}
	return nil
}

func (l *tables) checkSeries() error {
	if uint64(l.series.Rows()) != l.p.meta.Series {
		return fmt.Errorf("series: got %d, want %d", l.series.Rows(), l.p.meta.Series)
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
func (l *tables) rows(series uint32) (begin, end int) {
	if series > 0 {
		begin = int(l.series.At(columnBlockEnd, int(series)-1))
	}
	return begin, int(l.series.At(columnBlockEnd, int(series)))
}

// blockTimes returns the first and last time of a block.
func (l *tables) blockTimes(row int) (mint, maxt int64) {
	mint = l.p.meta.minSample + int64(l.blocks.At(columnMinT, row))
	return mint, mint + int64(l.blocks.At(columnSpan, row))
}

func (l *tables) bounds(series uint32) (mint, maxt int64, ok bool) {
	begin, end := l.rows(series)
	if begin == end {
		return 0, 0, false
	}
	mint, _ = l.blockTimes(begin)
	_, maxt = l.blockTimes(end - 1)
	return mint, maxt, true
}

func (l *tables) reaching(uint32, int64, int64) (lo, hi uint32) { return 1, 0 }

func (l *tables) overlap(series []uint32, mint, maxt int64) ([]uint32, error) {
	out := series[:0]
	for _, o := range series {
		begin, end := l.rows(o)
		for row := begin; row < end; row++ {
			if first, last := l.blockTimes(row); first <= maxt && last >= mint {
				out = append(out, o)
				break
			}
		}
	}
	return out, nil
}

// readPage reads and opens a page into dst. buf is for the stored bytes.
func (l *tables) readPage(t *section.Table, number uint64, dst *v1.Page, buf []byte) ([]byte, error) {
	offset, length := int64(t.At(columnOffset, int(number))), int(t.At(columnLength, int(number)))
	if cap(buf) < length {
		buf = make([]byte, length)
	}
	buf = buf[:length]
	if n, err := l.p.data.ReadAt(buf, offset); n < length {
		if errors.Is(err, io.EOF) {
			return buf, l.p.corrupt(DataFile, offset, io.ErrUnexpectedEOF)
		}
		return buf, fmt.Errorf("read page of %s at %d: got %d of %d bytes: %w", path.Join(l.p.dir, DataFile), offset, n, length, err)
	}
	if err := dst.Open(buf); err != nil {
		return buf, l.p.pageError(offset, err)
	}
	return buf, nil
}

func (l *tables) verify(report func(Problem)) error {
	for i := range l.times.Rows() {
		var page v1.Page
		_, err := l.readPage(&l.times, uint64(i), &page, nil)
		for k := 0; err == nil && k < page.Len(); k++ {
			if _, bad := page.Times(k); bad != nil {
				err = l.p.pageError(int64(l.times.At(columnOffset, i)), bad)
			}
		}
		if err := l.p.sift(err, report); err != nil {
			return err
		}
	}
	c := &tablesCursor{l: l}
	damaged := uint64(math.MaxUint64) // page already reported
	for row := range l.blocks.Rows() {
		number := l.blocks.At(columnPage, row)
		if number == damaged {
			continue
		}
		err := c.read(row)
		if errors.Is(err, block.ErrCorrupt) {
			damaged = number
		}
		if err := l.p.sift(err, report); err != nil {
			return err
		}
	}
	return nil
}

func (l *tables) dump(w io.Writer, series uint32, samples bool) {
	c := &tablesCursor{l: l}
	begin, end := l.rows(series)
	for row := begin; row < end; row++ {
		mint, maxt := l.blockTimes(row)
		number := l.blocks.At(columnPage, row)
		fmt.Fprintf(w, "  block\t%s\t%d samples\t%s to %s\tpage at %d for %d\tnumber %d\n", block.Kind(l.blocks.At(columnKind, row)), l.blocks.At(columnCount, row),
			stamp(mint), stamp(maxt), l.pages.At(columnOffset, int(number)), l.pages.At(columnLength, int(number)), l.blocks.At(columnInner, row))
		if !samples {
			continue
		}
		if err := c.read(row); err != nil {
			fmt.Fprintf(w, "    damaged: %v\n", err)
			continue
		}
		DumpSpan(w, &c.span)
	}
}
