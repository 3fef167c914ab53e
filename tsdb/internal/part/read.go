package part

import (
	"math"

	"github.com/varvedb/varve/tsdb/internal/b1"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// AppendFloats appends to into what Cursor, or with rest set CursorOfRest, yields,
// as a run; it decodes into the columns of into. ok is false for a series with
// histograms in the range, of which some samples may have been appended, as after
// an error.
//
// Cost: a hundred nanoseconds for a block and one or two for a sample; it allocates
// nothing once pages are cached and the columns are large enough.
func (p *Part) AppendFloats(series uint32, mint, maxt int64, rest bool, into *block.Floats) (ok bool, err error) {
	l, err := p.load()
	if err != nil {
		return false, err
	}
	into.Begin()
	g, grouped := l.samples.(*groups)
	if grouped && uint64(series) < p.meta.Series {
		return g.appendFloats(series, mint, maxt, rest, into)
	}
	c := p.cursor(series, mint, maxt, reading{rest: rest})
	for c.Next() {
		s := c.Span()
		if s.Kind != block.KindFloat {
			return false, nil
		}
		into.AppendSpan(s)
	}
	return c.Err() == nil, c.Err()
}

func (g *groups) appendFloats(series uint32, mint, maxt int64, rest bool, into *block.Floats) (ok bool, err error) {
	r := g.reader()
	r.kept = true
	ok, err = r.appendSeries(series, mint, maxt, rest, into)
	r.release()
	return ok, err
}

// AppendNarrow appends to dst what AppendFloats would decode, as it is kept decoded:
// in the order of time, shared and not to be changed. ok is false if it is not kept, and
// not to be kept from now on, or in another form; what was appended is to be dropped
// then. See Part.UseMinis.
//
// Cost: some ten nanoseconds for a block that is kept.
func (p *Part) AppendNarrow(series uint32, mint, maxt int64, rest bool, dst []block.Narrow) (out []block.Narrow, ok bool) {
	l, err := p.load()
	if err != nil {
		return dst, false
	}
	g, grouped := l.samples.(*groups)
	if !grouped || p.minis == nil || uint64(series) >= p.meta.Series {
		return dst, false
	}
	r := g.reader()
	r.kept, r.asNarrow, r.narrow = true, true, dst
	ok, err = r.appendSeries(series, mint, maxt, rest, nil)
	out = r.narrow
	r.release()
	return out, ok && err == nil
}

// appendSeries appends the samples of a series. Mostly the page is that of the
// series before.
func (r *reader) appendSeries(series uint32, mint, maxt int64, rest bool, into *block.Floats) (ok bool, err error) {
	g := r.g
	if last := r.last; last != nil && last.lo <= series && series <= last.hi && !(rest && g.p.damages.has(r.lastGroup, -1)) {
		ok, _, err = r.appendGroup(last, r.lastGroup, series, mint, maxt, rest, into)
		return ok, err
	}
	for group, end := g.of(series); group < end; group++ {
		if g.minT(group) > maxt || g.maxT(group) < mint || rest && g.p.damages.has(group, -1) {
			continue
		}
		page, err := g.page(group)
		if err != nil {
			g.noteGroup(group, err)
			return false, err
		}
		r.last, r.lastGroup = page, group
		if ok, more, err := r.appendGroup(page, group, series, mint, maxt, rest, into); !more || err != nil {
			return ok, err
		}
	}
	return true, nil
}

// appendGroup appends what a group has of a series; ok as in Part.AppendFloats, more
// says that there may be more in the next group.
func (r *reader) appendGroup(page *groupPage, group int, series uint32, mint, maxt int64, rest bool, into *block.Floats) (ok, more bool, err error) {
	g := r.g
	for row, rowEnd := page.find(series); row < rowEnd; row++ {
		first, last := page.rows.Times(row)
		if first > maxt {
			return true, false, nil
		}
		if last < mint || rest && g.p.damages.has(group, row) {
			continue
		}
		if r.asNarrow {
			if !r.appendNarrow(page, group, row, mint, maxt) {
				return false, false, nil
			}
			continue
		}
		if r.appendKept(page, row, mint, maxt, into) {
			continue
		}
		if err := r.open(page, group, row); err != nil {
			g.noteBlock(group, row, page, err)
			return false, false, err
		}
		if r.h.Kind != block.KindFloat {
			return false, false, nil
		}
		if err := r.appendFloats(mint, maxt, into); err != nil {
			g.noteBlock(group, row, page, err)
			return false, false, err
		}
	}
	return true, true, nil
}

// appendFloats appends the samples of the block inside [mint, maxt].
func (r *reader) appendFloats(mint, maxt int64, into *block.Floats) error {
	i, j, err := r.clip(mint, maxt)
	if err != nil || i == j {
		return err
	}
	if err := r.ready(); err != nil {
		return err
	}
	t, v := into.Grow(j - i)
	if r.h.IsGrid() {
		codec.FillGrid(t, r.h.MinT, r.h.Step, i)
	} else {
		copy(t, r.times[i:j])
	}
	if err := r.block.Floats(v, i); err != nil {
		return r.located(err)
	}
	if r.h.Flags&(b1.FlagHasStale|b1.FlagSpecial) != 0 {
		into.MayBeStale = true
	}
	if r.h.Flags&b1.FlagStartTimes != 0 {
		var s block.Span
		if err := r.loadStarts(&s, i, j); err != nil {
			return r.located(err)
		}
		into.SetStarts(s.StartTimes)
	}
	r.keepMinis(i, j)
	return nil
}

// clip returns which samples of the block are inside [mint, maxt]. Times that are
// no grid are decoded.
func (r *reader) clip(mint, maxt int64) (i, j int, err error) {
	s := block.Span{Count: r.h.Count, Start: r.h.MinT, Step: r.h.Step}
	if !r.h.IsGrid() {
		if err := r.loadTimes(); err != nil {
			return 0, 0, err
		}
		s.Start, s.Step, s.Times = 0, 0, r.times
	}
	i, j = 0, s.Count
	if r.h.MinT < mint {
		i = s.Search(mint)
	}
	if r.h.MaxT > maxt && maxt < math.MaxInt64 {
		j = s.Search(maxt + 1)
	}
	return i, max(i, j), nil
}

// LastFloat returns the last sample that AppendFloats would append, found being
// false if there is none. It looks at the headers from behind and decodes no more
// than the mini-block of the sample. ok is false if that is a histogram.
func (p *Part) LastFloat(series uint32, mint, maxt int64, rest bool) (s block.Sample, found, ok bool, err error) {
	l, err := p.load()
	if err != nil {
		return s, false, false, err
	}
	g, grouped := l.samples.(*groups)
	if !grouped || uint64(series) >= p.meta.Series {
		return s, false, false, nil
	}
	r := g.reader()
	r.kept = true
	s, found, ok, err = r.lastFloat(series, mint, maxt, rest)
	r.release()
	return s, found, ok, err
}

// lastFloat is Part.LastFloat. Mostly the page is that of the series before.
func (r *reader) lastFloat(series uint32, mint, maxt int64, rest bool) (s block.Sample, found, ok bool, err error) {
	g := r.g
	if last := r.last; last != nil && last.lo <= series && series <= last.hi && !(rest && g.p.damages.has(r.lastGroup, -1)) {
		s, found, ok, _, err = r.lastOfGroup(last, r.lastGroup, series, mint, maxt, rest)
		return s, found, ok, err
	}
	begin, group := g.of(series)
	for group--; group >= begin; group-- {
		if g.minT(group) > maxt || g.maxT(group) < mint || rest && g.p.damages.has(group, -1) {
			continue
		}
		page, err := g.page(group)
		if err != nil {
			g.noteGroup(group, err)
			return s, false, false, err
		}
		r.last, r.lastGroup = page, group
		if s, found, ok, more, err := r.lastOfGroup(page, group, series, mint, maxt, rest); !more {
			return s, found, ok, err
		}
	}
	return s, false, true, nil
}

// lastOfGroup is lastFloat of one group; more says that it may be in the one before.
func (r *reader) lastOfGroup(page *groupPage, group int, series uint32, mint, maxt int64, rest bool) (s block.Sample, found, ok, more bool, err error) {
	g := r.g
	first, row := page.find(series)
	for row--; row >= first; row-- {
		begins, ends := page.rows.Times(row)
		if begins > maxt || rest && g.p.damages.has(group, row) {
			continue
		}
		if ends < mint {
			return s, false, true, false, nil
		}
		if s, found, ok = page.lastKept(row, mint, maxt); ok {
			return s, found, true, false, nil
		}
		if s, found, ok, err = r.lastOf(page, group, row, mint, maxt); err != nil {
			g.noteBlock(group, row, page, err)
		}
		return s, found, ok, false, err
	}
	return s, false, true, true, nil
}

// lastOf is lastFloat of one block, which begins before maxt.
func (r *reader) lastOf(page *groupPage, group, row int, mint, maxt int64) (s block.Sample, found, ok bool, err error) {
	if err := r.open(page, group, row); err != nil || r.h.Kind != block.KindFloat {
		return s, false, false, err
	}
	i, j, err := r.clip(mint, maxt)
	if err != nil || i == j {
		return s, false, err == nil, err
	}
	s.T = r.timeOf(j - 1)
	if s.F, err = r.value(j - 1); err != nil {
		return s, false, false, err
	}
	if r.h.Flags&b1.FlagStartTimes != 0 {
		var span block.Span
		if err = r.ready(); err == nil {
			err = r.loadStarts(&span, j-1, j)
		}
		if err != nil {
			return s, false, false, r.located(err)
		}
		s.ST = span.StartTimes[0]
	}
	r.keepMinis(j-1, j)
	return s, true, true, nil
}

// value returns that of sample i.
func (r *reader) value(i int) (float64, error) {
	if i == r.h.Count-1 {
		if x, exact := r.h.Stat(block.StatLast); exact {
			return x, nil
		}
	}
	if err := r.ready(); err != nil {
		return 0, err
	}
	if x, exact := r.block.Stat(block.StatLast, i, i+1); exact {
		return x, nil
	}
	var v [1]float64
	err := r.block.Floats(v[:], i)
	return v[0], r.located(err)
}
