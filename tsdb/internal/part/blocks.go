package part

import (
	"errors"
	"math"
	"path"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
)

// BlockInfo is what is known of a block without its samples.
type BlockInfo struct {
	Series     uint32
	Kind       block.Kind
	Samples    int
	MinT, MaxT int64
	Offset     int64 // in the data file, of the payload; in format 1 of its page
	Bytes      int   // of the payload; in format 1 its share of the page, by samples

	// Header is nil in format 1. It is valid until the call it was given to
	// returns.
	Header *b1.Header
}

// Loss is samples that cannot be read.
type Loss struct {
	First, Last uint32 // series; some between may have lost nothing
	MinT, MaxT  int64
	Samples     uint64
	Problem     Problem
}

// EachBlock calls f with every block of the given series, which ascend, of all if
// there is no list: series after series and ascending in time, out of the headers
// alone. lost is told what has no header that can be read. It goes without the
// index. An error of f ends it; others are of reading.
func (p *Part) EachBlock(series []uint32, f func(*BlockInfo) error, lost func(Loss)) error {
	s, err := p.openSamples()
	if err != nil {
		return err
	}
	return s.walk(series, f, lost)
}

// EachLoss decodes every block and calls lost with what cannot be: what Verify
// reports of the data file is the places of, and the series that have them. One
// place may have many.
func (p *Part) EachLoss(lost func(Loss)) error {
	s, err := p.openSamples()
	if err != nil {
		return err
	}
	return s.walk(nil, func(b *BlockInfo) error {
		c := s.cursor(b.Series, b.MinT, b.MaxT, reading{})
		for c.Next() {
		}
		err := c.Err()
		if !errors.Is(err, block.ErrCorrupt) {
			return err
		}
		lost(Loss{First: b.Series, Last: b.Series, MinT: b.MinT, MaxT: b.MaxT, Samples: uint64(b.Samples), Problem: p.problem(err)})
		return nil
	}, lost)
}

// BlocksAt calls f with every block whose BlockInfo has an offset, and a cursor
// over its samples. In format 2 at most one of them is not empty, in format 1 they
// are a page. It returns how many there are.
func (p *Part) BlocksAt(offset int64, f func(*BlockInfo, block.Cursor) error) (blocks int, err error) {
	s, err := p.openSamples()
	if err != nil {
		return 0, err
	}
	err = s.walk(nil, func(b *BlockInfo) error {
		if b.Offset != offset {
			return nil
		}
		blocks++
		return f(b, s.cursor(b.Series, b.MinT, b.MaxT, reading{}))
	}, func(Loss) {})
	return blocks, err
}

// openSamples returns what finds blocks. Unlike load it needs no index.
func (p *Part) openSamples() (samples, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.loaded != nil {
		return p.mu.loaded.samples, nil
	}
	return p.loadSamples()
}

// problem says where an error of a damaged file is.
func (p *Part) problem(err error) Problem {
	var c *block.CorruptionError
	if errors.As(err, &c) {
		return Problem{File: c.File, Offset: c.Offset, Cause: c.Cause}
	}
	return Problem{File: path.Join(p.dir, DataFile), Cause: err}
}

// among tells whether any of a list of ascending series lies in a range; all do if
// there is no list.
func among(series []uint32, first, last uint32) bool {
	at, found := slices.BinarySearch(series, first)
	return series == nil || found || at < len(series) && series[at] <= last
}

func (g *groups) walk(only []uint32, f func(*BlockInfo) error, lost func(Loss)) error {
	var h b1.Header
	for group := range g.table.Rows() {
		if !among(only, uint32(g.at(groupFirst, group)), uint32(g.at(groupLast, group))) {
			continue
		}
		page, err := g.readPage(group)
		if errors.Is(err, block.ErrCorrupt) {
			lost(Loss{
				First: uint32(g.at(groupFirst, group)), Last: uint32(g.at(groupLast, group)), MinT: g.minT(group), MaxT: g.maxT(group),
				Samples: g.at(groupSamples, group), Problem: g.p.problem(err),
			})
			continue
		}
		if err != nil {
			return err
		}
		for k := range page.rows.Len() {
			series := page.first + page.rows.Series(k) - 1
			if !among(only, series, series) {
				continue
			}
			mint, maxt := page.rows.Times(k)
			if err := page.rows.Header(k, &h); err != nil {
				lost(Loss{
					First: series, Last: series, MinT: mint, MaxT: maxt, Samples: uint64(page.rows.Count(k)),
					Problem: g.p.problem(g.p.pageError(page.at, err)),
				})
				continue
			}
			b := BlockInfo{
				Series: series, Kind: h.Kind, Samples: h.Count, MinT: mint, MaxT: maxt,
				Offset: page.begin + int64(h.Offset), Bytes: int(h.Length), Header: &h,
			}
			if err := f(&b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *tables) walk(only []uint32, f func(*BlockInfo) error, _ func(Loss)) error {
	samples := make([]uint64, l.pages.Rows())
	for row := range l.blocks.Rows() {
		samples[l.blocks.At(columnPage, row)] += l.blocks.At(columnCount, row)
	}
	for series := range l.series.Rows() {
		begin, end := l.rows(uint32(series))
		if !among(only, uint32(series), uint32(series)) {
			continue
		}
		for row := begin; row < end; row++ {
			number, count := int(l.blocks.At(columnPage, row)), l.blocks.At(columnCount, row)
			b := BlockInfo{
				Series: uint32(series), Kind: block.Kind(l.blocks.At(columnKind, row)), Samples: int(count),
				Offset: int64(l.pages.At(columnOffset, number)),
				Bytes:  int(math.Round(float64(l.pages.At(columnLength, number)) * float64(count) / float64(samples[number]))),
			}
			b.MinT, b.MaxT = l.blockTimes(row)
			if err := f(&b); err != nil {
				return err
			}
		}
	}
	return nil
}

// ExemplarsAt returns the series with exemplars in the section at an offset of
// the exemplar file, ascending; none if the file does not open.
func (p *Part) ExemplarsAt(offset int64) []uint32 {
	if p.meta.Exemplars == 0 {
		return nil
	}
	f, err := p.openExemplars()
	if err != nil {
		return nil
	}
	var out []uint32
	for row := range f.table.Rows() {
		if f.sections.Offset(firstChunk+f.table.At(1, row)) == offset {
			out = append(out, uint32(f.table.At(0, row)))
		}
	}
	return out
}
