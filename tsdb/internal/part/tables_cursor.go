package part

import (
	"errors"
	"fmt"
	"sync"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/block/v1"
)

// cachedPages is how many pages of several blocks a part keeps decompressed, of
// each sort: neighbouring series are mostly read one after the other.
const cachedPages = 4

// columnShift is where the number of a page begins in a TimesRef.
const columnShift = 16

// pageCache keeps the pages used last, newest first.
type pageCache struct {
	mu struct {
		sync.Mutex
		pages, times []cachedPage
	}
}

type cachedPage struct {
	number uint64
	page   *v1.Page
}

func find(list []cachedPage, number uint64) *v1.Page {
	for i, c := range list {
		if c.number == number {
			copy(list[1:], list[:i])
			list[0] = c
			return c.page
		}
	}
	return nil
}

func insert(list []cachedPage, number uint64, page *v1.Page) []cachedPage {
	if len(list) < cachedPages {
		list = append(list, cachedPage{})
	}
	copy(list[1:], list)
	list[0] = cachedPage{number, page}
	return list
}

// tablesCursor reads the blocks of a series.
type tablesCursor struct {
	l          *tables
	row, end   int
	mint, maxt int64

	page   *v1.Page // of number, nil before the first
	number uint64
	own    *v1.Page // reused for pages that are not cached
	stored []byte
	times  []int64 // of ref
	ref    v1.TimesRef
	buf    v1.Buffer
	span   block.Span
	err    error
}

// cursor has all its spans loaded: pages are decoded as a whole.
func (l *tables) cursor(series uint32, mint, maxt int64, _ reading) block.Cursor {
	c := &tablesCursor{l: l, mint: mint, maxt: maxt}
	c.row, c.end = l.rows(series)
	return c
}

func (c *tablesCursor) Span() *block.Span { return &c.span }

func (c *tablesCursor) Err() error { return c.err }

func (c *tablesCursor) Next() bool {
	for c.err == nil && c.row < c.end {
		row := c.row
		c.row++
		first, last := c.l.blockTimes(row)
		if first > c.maxt {
			c.row = c.end
			return false
		}
		if last < c.mint {
			continue
		}
		if c.err = c.read(row); c.err != nil {
			return false
		}
		if c.span = c.span.Clip(c.mint, c.maxt); c.span.Count > 0 {
			return true
		}
	}
	return false
}

// read decodes a block into the span and compares it with its table row.
func (c *tablesCursor) read(row int) error {
	number := c.l.blocks.At(columnPage, row)
	if err := c.open(number); err != nil {
		return err
	}
	inner := int(c.l.blocks.At(columnInner, row))
	offset := int64(c.l.pages.At(columnOffset, int(number)))
	if err := c.page.Decode(inner, &c.span, &c.buf, c.shared); err != nil {
		var damage *block.CorruptionError
		if errors.As(err, &damage) {
			return damage // of the times, with its place
		}
		if !errors.Is(err, block.ErrCorrupt) {
			return err
		}
		return c.l.p.pageError(offset, err)
	}
	first, last := c.l.blockTimes(row)
	s := &c.span
	if uint64(s.Count) != c.l.blocks.At(columnCount, row) || uint64(s.Kind) != c.l.blocks.At(columnKind, row) || s.MinT() != first || s.MaxT() != last {
		return c.l.p.corrupt(DataFile, offset, fmt.Errorf("block %d: got %d samples of kind %s from %d to %d, table says %d from %d to %d",
			inner, s.Count, s.Kind, s.MinT(), s.MaxT(), c.l.blocks.At(columnCount, row), first, last))
	}
	return nil
}

// open makes the page with a number the current one.
func (c *tablesCursor) open(number uint64) error {
	if c.page != nil && c.number == number {
		return nil
	}
	cache := &c.l.cache
	cache.mu.Lock()
	page := find(cache.mu.pages, number)
	cache.mu.Unlock()
	if page == nil {
		if c.own == nil {
			c.own = new(v1.Page)
		}
		page, c.page = c.own, nil
		var err error
		if c.stored, err = c.l.readPage(&c.l.pages, number, page, c.stored); err != nil {
			return err
		}
		if page.Len() > 1 {
			c.own = nil // now shared
			cache.mu.Lock()
			cache.mu.pages = insert(cache.mu.pages, number, page)
			cache.mu.Unlock()
		}
	}
	c.page, c.number = page, number
	return nil
}

// shared returns a column of times.
func (c *tablesCursor) shared(ref v1.TimesRef) ([]int64, error) {
	if c.times != nil && c.ref == ref {
		return c.times, nil
	}
	times, err := c.l.column(ref)
	if err != nil {
		return nil, err
	}
	c.times, c.ref = times, ref
	return times, nil
}

// column decodes a column of times.
func (l *tables) column(ref v1.TimesRef) ([]int64, error) {
	number, inner := uint64(ref)>>columnShift, int(ref&(1<<columnShift-1))
	if number >= uint64(l.times.Rows()) {
		return nil, fmt.Errorf("%w: page of times %d of %d", block.ErrCorrupt, number, l.times.Rows())
	}
	l.cache.mu.Lock()
	page := find(l.cache.mu.times, number)
	l.cache.mu.Unlock()
	if page == nil {
		page = new(v1.Page)
		if _, err := l.readPage(&l.times, number, page, nil); err != nil {
			return nil, err
		}
		l.cache.mu.Lock()
		l.cache.mu.times = insert(l.cache.mu.times, number, page)
		l.cache.mu.Unlock()
	}
	times, err := page.Times(inner)
	if err != nil {
		return nil, l.p.pageError(int64(l.times.At(columnOffset, int(number))), err)
	}
	return times, nil
}
