package part

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"path"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index/section"
)

// groups are the samples of a part since format 2: groups of up to 128 blocks,
// and a table with a row for each. A group is
//
//	body  the payloads of the blocks, back to back, then columns of times
//	page  the headers of the blocks, see package b1
//
// In the page a series counts from one before the first of the group, the offset
// of a payload from the begin of the group. A reference of times is an offset in
// the file.
type groups struct {
	p       *Part
	table   section.Table
	pages   cache[int, *groupPage]
	times   cache[uint64, []byte]
	pool    sync.Pool       // of *reader
	cursors sync.Pool       // of *groupCursor that were given back
	room    sync.Pool       // of *b1.RowsScratch
	checked []checkedBlocks // by group
	mapOnce sync.Once
	mapped  *mappedFile // see mapping
}

// Bytes of pages and of payloads of times that a part keeps.
const (
	cachedPageBytes = 2 << 20
	cachedTimeBytes = 512 << 10
)

// sharedBody is up to how many bytes a body has one checksum and is read as a
// whole, rather than having one for each payload.
const sharedBody = 16 << 10

// The columns of the table of groups. Times count from Meta's first sample.
const (
	groupOffset   = iota // of the body, ascending
	groupBody            // bytes of the body
	groupPageSize        // bytes of the page, which follows
	groupFirst           // series of the first block, ascending
	groupLast            // series of the last block, ascending
	groupRows            // blocks
	groupSamples         // of all blocks
	groupMinT            // least first time of a block
	groupMaxMinT         // greatest first time, less the least
	groupMinMaxT         // least last time, below the greatest
	groupMaxT            // greatest last time
	groupShared          // 1: the body has one checksum, 0: each payload its own
	groupCRC             // CRC-32C of the body if it is shared, else 0
	groupColumns
)

// groupPage is a group that was opened: all that finding a block takes and, if
// the body is shared, that.
type groupPage struct {
	rows   *b1.Rows
	first  uint32 // the series the rows call 1
	lo, hi uint32 // no other group has blocks of the series from lo to hi
	begin  int64  // of the group in the file
	at     int64  // of the page in the file
	shared bool
	single bool   // each of its series has one block
	body   []byte // if shared
	of     *groups
	kept   atomic.Pointer[pagePayloads]
	minis  atomic.Pointer[miniRows]
}

func loadGroups(p *Part) (*groups, error) {
	b, err := p.sections.Read(secGroups)
	if err != nil {
		return nil, p.locate(DataFile, err)
	}
	g := &groups{p: p}
	g.pages.limit, g.times.limit = cachedPageBytes, cachedTimeBytes
	if g.table, err = section.OpenTable(b, groupColumns); err == nil {
		err = g.check()
	}
	if err != nil {
		return nil, p.corrupt(DataFile, p.sections.Offset(secGroups), err)
	}
	g.checked = make([]checkedBlocks, g.table.Rows())
	return g, nil
}

// check holds the table to I1 to I3.
func (g *groups) check() error {
	end, meta := uint64(g.p.sections.SectionsBegin()), g.p.meta
	if uint64(g.table.Rows()) > end {
		return fmt.Errorf("%d groups in %d bytes", g.table.Rows(), end)
	}
	at, series, samples := uint64(section.HeaderSize), uint64(0), uint64(0)
	reach := uint64(meta.MaxT - meta.minSample)
	for i := range g.table.Rows() {
		body, page, blocks := g.at(groupBody, i), g.at(groupPageSize, i), g.at(groupRows, i)
		if g.at(groupOffset, i) != at || body > end-at || page > end-at-body {
			return fmt.Errorf("group %d is at %d for %d and %d bytes, want it at %d and to end by %d", i, g.at(groupOffset, i), body, page, at, end)
		}
		at += body + page
		first, last := g.at(groupFirst, i), g.at(groupLast, i)
		if first < series || last < first || last >= meta.Series {
			return fmt.Errorf("group %d has the series %d to %d of %d, the one before ends with %d", i, first, last, meta.Series, series)
		}
		series = last
		count := g.at(groupSamples, i)
		if blocks < 1 || blocks > b1.PageBlocks || count < blocks || count > blocks*b1.MaxSamples {
			return fmt.Errorf("group %d has %d blocks of %d samples", i, blocks, count)
		}
		samples += count
		minT, maxT := g.at(groupMinT, i), g.at(groupMaxT, i)
		if minT > maxT || maxT > reach || g.at(groupMaxMinT, i) > maxT-minT || g.at(groupMinMaxT, i) > maxT-minT {
			return fmt.Errorf("group %d reaches beyond the last time of the part", i)
		}
		if shared := g.at(groupShared, i); shared > 1 || shared == 1 && body > sharedBody {
			return fmt.Errorf("group %d has a body of %d bytes shared %d times", i, body, shared)
		}
	}
	if at != end {
		return fmt.Errorf("groups end at %d, want %d", at, end)
	}
	if samples != meta.Samples {
		return fmt.Errorf("samples: got %d, want %d", samples, meta.Samples)
	}
	return nil
}

func (g *groups) at(column, group int) uint64 { return g.table.At(column, group) }

// minT and maxT bound the times of a group.
func (g *groups) minT(group int) int64 { return g.p.meta.minSample + int64(g.at(groupMinT, group)) }
func (g *groups) maxT(group int) int64 { return g.p.meta.minSample + int64(g.at(groupMaxT, group)) }

// of returns the groups that have blocks of a series, or could have.
func (g *groups) of(series uint32) (begin, end int) {
	n := g.table.Rows()
	begin = sort.Search(n, func(i int) bool { return g.at(groupLast, i) >= uint64(series) })
	for end = begin; end < n && g.at(groupFirst, end) <= uint64(series); {
		end++
	}
	return begin, end
}

// page returns an opened group.
func (g *groups) page(group int) (*groupPage, error) {
	if page, ok := g.pages.get(group); ok {
		return page, nil
	}
	page, err := g.readPage(group)
	if err != nil {
		return nil, err
	}
	g.pages.put(group, page, page.rows.Size()+len(page.body)+64)
	return page, nil
}

func (g *groups) readPage(group int) (*groupPage, error) {
	begin, body, size := int64(g.at(groupOffset, group)), int(g.at(groupBody, group)), int(g.at(groupPageSize, group))
	page := &groupPage{of: g, first: uint32(g.at(groupFirst, group)), begin: begin, at: begin + int64(body), shared: g.at(groupShared, group) == 1}
	page.lo, page.hi = g.own(group)
	skip := body
	if page.shared {
		skip = 0
	}
	b := make([]byte, body-skip+size)
	if err := g.read(b, begin+int64(skip)); err != nil {
		return nil, err
	}
	headers := b
	if page.shared {
		page.body, headers = b[:body:body], b[body:]
		if got, want := uint64(crc32.Checksum(page.body, castagnoli)), g.at(groupCRC, group); got != want {
			return nil, g.p.corrupt(DataFile, begin, fmt.Errorf("checksum of the blocks: got %08x, want %08x", got, want))
		}
	}
	scratch, ok := g.room.Get().(*b1.RowsScratch)
	if !ok {
		scratch = new(b1.RowsScratch)
	}
	var err error
	if page.rows, err = b1.OpenRows(headers, scratch); err == nil {
		err = g.checkRows(group, page)
	}
	g.room.Put(scratch)
	if err != nil {
		return nil, g.p.pageError(page.at, err)
	}
	return page, nil
}

// checkRows holds the headers of a group to its row and to I1 and I2.
func (g *groups) checkRows(group int, page *groupPage) error {
	rows, body := page.rows, g.at(groupBody, group)
	if uint64(rows.Len()) != g.at(groupRows, group) {
		return fmt.Errorf("blocks: got %d, want %d", rows.Len(), g.at(groupRows, group))
	}
	samples, series, last := uint64(0), uint32(1), int64(math.MinInt64)
	minT, maxT := g.minT(group), g.maxT(group)
	page.single = true
	for k := range rows.Len() {
		mint, maxt := rows.Times(k)
		now := rows.Series(k)
		page.single = page.single && now == uint32(k)+1
		switch {
		case now < series || k == 0 && now != 1:
			return fmt.Errorf("block %d of series %d comes behind one of %d", k, now, series)
		case now > series:
			last = math.MinInt64
		}
		if mint > maxt || mint < minT || maxt > maxT || mint <= last && last != math.MinInt64 {
			return fmt.Errorf("block %d has the times %d to %d", k, mint, maxt)
		}
		offset, length := rows.Place(k)
		if offset > body || uint64(length) > body-offset {
			return fmt.Errorf("block %d is at %d for %d bytes of %d", k, offset, length, body)
		}
		series, last = now, maxt
		samples += uint64(rows.Count(k))
	}
	if uint64(series)-1 != g.at(groupLast, group)-g.at(groupFirst, group) {
		return fmt.Errorf("last series: got %d, want %d", series, g.at(groupLast, group))
	}
	if samples != g.at(groupSamples, group) {
		return fmt.Errorf("samples: got %d, want %d", samples, g.at(groupSamples, group))
	}
	return nil
}

// read fills b from offset on.
func (g *groups) read(b []byte, offset int64) error {
	n, err := g.p.data.ReadAt(b, offset)
	switch {
	case n == len(b):
		return nil
	case errors.Is(err, io.EOF):
		return g.p.corrupt(DataFile, offset, io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read %s at %d: got %d of %d bytes: %w", path.Join(g.p.dir, DataFile), offset, n, len(b), err)
}

// find returns the rows of a page that are of a series of the part.
func (page *groupPage) find(series uint32) (begin, end int) {
	if series < page.first {
		return 0, 0
	}
	if page.single {
		n := page.rows.Len()
		begin = min(int(series-page.first), n)
		return begin, min(begin+1, n)
	}
	return page.rows.Find(series - page.first + 1)
}

func (g *groups) bounds(series uint32) (mint, maxt int64, ok bool) {
	mint, maxt = math.MaxInt64, math.MinInt64
	for begin, end := g.of(series); begin < end; begin++ {
		first, last, found := g.boundsIn(begin, series)
		if found {
			mint, maxt, ok = min(mint, first), max(maxt, last), true
		}
	}
	return mint, maxt, ok
}

// boundsIn is bounds for one group. Of a group that cannot be read the series may
// be anywhere in its range: whoever looks for it there meets the error.
func (g *groups) boundsIn(group int, series uint32) (mint, maxt int64, ok bool) {
	if g.uniform(group) {
		return g.minT(group), g.maxT(group), true
	}
	page, err := g.page(group)
	if err != nil {
		return g.minT(group), g.maxT(group), true
	}
	row, end := page.find(series)
	if row == end {
		return 0, 0, false
	}
	mint, _ = page.rows.Times(row)
	_, maxt = page.rows.Times(end - 1)
	return mint, maxt, true
}

// uniform tells whether every series of a group has one block there and all
// begin and end together, so that the page need not be looked at.
func (g *groups) uniform(group int) bool {
	return g.at(groupMaxMinT, group) == 0 && g.at(groupMinMaxT, group) == 0 &&
		g.at(groupLast, group)-g.at(groupFirst, group)+1 == g.at(groupRows, group)
}

// own returns the series of a group of which no other one has blocks.
func (g *groups) own(group int) (lo, hi uint32) {
	lo, hi = uint32(g.at(groupFirst, group)), uint32(g.at(groupLast, group))
	if group > 0 && g.at(groupLast, group-1) == uint64(lo) {
		lo++
	}
	if group+1 < g.table.Rows() && g.at(groupFirst, group+1) == uint64(hi) {
		hi--
	}
	return lo, hi
}

// reaching answers for the group of the series if all its blocks reach into the range
// and each of its series has one.
func (g *groups) reaching(series uint32, mint, maxt int64) (lo, hi uint32) {
	group, end := g.of(series)
	if group == end || g.at(groupLast, group)-g.at(groupFirst, group)+1 != g.at(groupRows, group) ||
		g.minT(group)+int64(g.at(groupMaxMinT, group)) > maxt || g.maxT(group)-int64(g.at(groupMinMaxT, group)) < mint {
		return 1, 0
	}
	if !g.uniform(group) {
		if page, err := g.page(group); err != nil || !page.single {
			return 1, 0
		}
	}
	return g.own(group)
}

func (g *groups) overlap(series []uint32, mint, maxt int64) ([]uint32, error) {
	out := series[:0]
	for _, o := range series {
		found, err := g.overlaps(o, mint, maxt)
		if err != nil {
			return nil, err
		}
		if found {
			out = append(out, o)
		}
	}
	return out, nil
}

func (g *groups) overlaps(series uint32, mint, maxt int64) (bool, error) {
	for group, end := g.of(series); group < end; group++ {
		if g.minT(group) > maxt || g.maxT(group) < mint {
			continue
		}
		if g.uniform(group) {
			return true, nil
		}
		page, err := g.page(group)
		switch {
		case errors.Is(err, block.ErrCorrupt):
			return true, nil // reading it tells
		case err != nil:
			return false, err
		}
		row, rows := page.find(series)
		for ; row < rows; row++ {
			if first, last := page.rows.Times(row); first <= maxt && last >= mint {
				return true, nil
			}
		}
	}
	return false, nil
}
