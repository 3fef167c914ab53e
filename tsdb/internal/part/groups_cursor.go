package part

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// groupCursor reads the blocks of a series.
type groupCursor struct {
	g          *groups
	series     uint32
	mint, maxt int64
	how        reading

	group, groupEnd int        // the next one and the end
	page            *groupPage // of the rows
	opened          int        // of which group it is
	row, rowEnd     int
	r               *reader // nil before the first block and at the end
	span            block.Span
	err             error
}

func (g *groups) cursor(series uint32, mint, maxt int64, how reading) block.Cursor {
	c, ok := g.cursors.Get().(*groupCursor)
	if !ok {
		c = new(groupCursor)
	}
	*c = groupCursor{g: g, series: series, mint: mint, maxt: maxt, how: how}
	c.group, c.groupEnd = g.of(series)
	return c
}

// reset makes c one of another series that reads once, see reading.walk.
func (c *groupCursor) reset(g *groups, series uint32, mint, maxt int64) {
	if c.r != nil {
		c.r.release()
	}
	page, opened := c.page, c.opened
	*c = groupCursor{g: g, series: series, mint: mint, maxt: maxt, how: reading{lazy: true, walk: true}, page: page, opened: opened}
	c.group, c.groupEnd = g.of(series)
}

// open makes page that of a group.
func (c *groupCursor) open(group int) (err error) {
	if !c.how.walk {
		c.page, err = c.g.page(group)
		return err
	}
	if c.page == nil || c.opened != group {
		c.page, err = c.g.readPage(group)
		c.opened = group
	}
	return err
}

func (c *groupCursor) Span() *block.Span { return &c.span }

func (c *groupCursor) Err() error { return c.err }

func (c *groupCursor) Next() bool {
	for c.err == nil {
		for ; c.row < c.rowEnd; c.row++ {
			first, last := c.page.rows.Times(c.row)
			if first > c.maxt {
				c.group = c.groupEnd
				break
			}
			if last < c.mint || c.how.rest && c.g.p.damages.has(c.group-1, c.row) {
				continue
			}
			c.err = c.read(c.row)
			if c.err == nil && c.span.Count > 0 {
				c.row++
				return true
			}
			if c.err != nil {
				c.g.noteBlock(c.group-1, c.row, c.page, c.err)
				break
			}
		}
		if c.err != nil || !c.nextGroup() {
			break
		}
	}
	if c.r != nil {
		c.r.release()
		c.r = nil
	}
	c.row, c.rowEnd, c.group = 0, 0, c.groupEnd
	return false
}

// nextGroup goes on to the next group with times in the range.
func (c *groupCursor) nextGroup() bool {
	for ; c.group < c.groupEnd; c.group++ {
		if c.g.minT(c.group) > c.maxt || c.g.maxT(c.group) < c.mint {
			continue
		}
		if c.how.rest && c.g.p.damages.has(c.group, -1) {
			continue
		}
		if c.err = c.open(c.group); c.err != nil {
			c.g.noteGroup(c.group, c.err)
			return false
		}
		c.row, c.rowEnd = c.page.find(c.series)
		c.group++
		return true
	}
	return false
}

func (c *groupCursor) read(row int) error {
	if c.r == nil {
		c.r = c.g.reader()
		c.r.kept, c.r.lazy = !c.how.walk, c.how.lazy && !c.how.walk
	}
	if err := c.r.open(c.page, c.group-1, row); err != nil {
		return err
	}
	if err := c.r.span(&c.span, c.mint, c.maxt); err != nil || c.how.lazy || c.span.Count == 0 {
		return err
	}
	return c.span.Load()
}

// verify reads every group, its columns of times and its blocks.
func (g *groups) verify(report func(Problem)) error {
	r := g.reader()
	defer r.release()
	for group := range g.table.Rows() {
		page, err := g.readPage(group)
		g.noteGroup(group, err)
		if err := g.p.sift(err, report); err != nil {
			return err
		}
		if err != nil {
			continue
		}
		reported := int64(-1)
		for k := range page.rows.Len() {
			err := g.verifyBlock(r, page, group, k)
			g.noteBlock(group, k, page, err)
			var damage *block.CorruptionError
			if errors.As(err, &damage) {
				if damage.Offset == reported {
					continue // times that many have
				}
				reported = damage.Offset
			}
			if err := g.p.sift(err, report); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *groups) verifyBlock(r *reader, page *groupPage, group, k int) error {
	if err := r.open(page, group, k); err != nil {
		return err
	}
	var s block.Span
	if err := r.span(&s, math.MinInt64, math.MaxInt64); err != nil {
		return err
	}
	return s.Load()
}

func (g *groups) dump(w io.Writer, series uint32, samples bool) {
	r := g.reader()
	defer r.release()
	for group, end := g.of(series); group < end; group++ {
		page, err := g.page(group)
		if err != nil {
			fmt.Fprintf(w, "    damaged: %v\n", err)
			continue
		}
		row, rowEnd := page.find(series)
		for ; row < rowEnd; row++ {
			g.dumpBlock(w, r, page, group, row, samples)
		}
	}
}

func (g *groups) dumpBlock(w io.Writer, r *reader, page *groupPage, group, row int, samples bool) {
	err := r.open(page, group, row)
	if err != nil {
		fmt.Fprintf(w, "    damaged: %v\n", err)
		return
	}
	fmt.Fprintf(w, "  block\t%s\t%d samples\t%s to %s\tat %d for %d\n", r.h.Kind, r.h.Count,
		stamp(r.h.MinT), stamp(r.h.MaxT), page.begin+int64(r.h.Offset), r.h.Length)
	if !samples {
		return
	}
	var s block.Span
	if err = r.span(&s, math.MinInt64, math.MaxInt64); err == nil {
		err = s.Load()
	}
	if err != nil {
		fmt.Fprintf(w, "    damaged: %v\n", err)
		return
	}
	DumpSpan(w, &s)
}
