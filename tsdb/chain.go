package tsdb

import "github.com/varvedb/varve/tsdb/internal/block"

// chain is a cursor over the places of a series, opened one after the other where
// they follow each other in time, as the parts of days do. Neighbours in the order
// of writing that overlap are merged. It hands out what merging all of them would.
type chain struct {
	v          *View
	refs       []seriesRef
	ends       []int // of the stretches of refs that overlap
	begin      int   // of the next one
	mint, maxt int64
	lazy       bool
	now        block.Cursor // nil between two
	of         *partSeries  // that now is to be given back to, nil if it is not
}

// stretch is places that overlap, or stand between such.
type stretch struct {
	mint, maxt int64
	begin, end int // in refs
}

// chained returns a cursor over places that have series.
func (v *View) chained(refs []seriesRef, mint, maxt int64, lazy bool) block.Cursor {
	var room [8]stretch
	list := room[:0]
	for i, ref := range refs {
		s := stretch{begin: i, end: i + 1}
		s.mint, s.maxt = v.places[ref.place].bounds(int(ref.k))
		for n := len(list); n > 0 && list[n-1].maxt >= s.mint; n-- {
			top := list[n-1]
			s.mint, s.maxt, s.begin = min(s.mint, top.mint), max(s.maxt, top.maxt), top.begin
			list = list[:n-1]
		}
		list = append(list, s)
	}
	if len(list) == 1 {
		return v.mergedPlaces(refs, mint, maxt, lazy)
	}
	c := &chain{v: v, mint: mint, maxt: maxt, lazy: lazy, refs: refs}
	for _, s := range list {
		if s.maxt < mint {
			c.begin = s.end
		} else if s.mint <= maxt {
			c.ends = append(c.ends, s.end)
		}
	}
	return c
}

func (v *View) mergedPlaces(refs []seriesRef, mint, maxt int64, lazy bool) block.Cursor {
	if len(refs) == 1 {
		return block.Merge(v.places[refs[0].place].cursors(int(refs[0].k), mint, maxt, lazy))
	}
	var cs []block.Cursor
	for _, ref := range refs {
		cs = append(cs, v.places[ref.place].cursors(int(ref.k), mint, maxt, lazy)...)
	}
	return block.Merge(cs)
}

func (c *chain) Span() *block.Span { return c.now.Span() }

func (c *chain) Err() error {
	if c.now == nil {
		return nil
	}
	return c.now.Err()
}

func (c *chain) Next() bool {
	for {
		if c.now == nil {
			if len(c.ends) == 0 {
				return false
			}
			c.open(c.refs[c.begin:c.ends[0]])
			c.begin, c.ends = c.ends[0], c.ends[1:]
		}
		if c.now.Next() {
			return true
		}
		if c.now.Err() != nil {
			return false
		}
		if c.of != nil {
			c.of.part.part.Release(c.now)
		}
		c.now, c.of = nil, nil
	}
}

// open turns to the next places. Mostly that is one part.
func (c *chain) open(refs []seriesRef) {
	p, ok := c.v.places[refs[0].place].(*partSeries)
	if !ok || len(refs) > 1 || p.part.hidden != nil {
		c.now = c.v.mergedPlaces(refs, c.mint, c.maxt, c.lazy)
		return
	}
	c.of, c.now = p, p.cursor(int(refs[0].k), c.mint, c.maxt, c.lazy)
}
