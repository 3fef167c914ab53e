package head

import (
	"cmp"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/tail"
)

// Contents are all series of a sealed generation in label order, four bytes for
// each and eight for each value of a label. They are valid until the generation is
// dropped.
type Contents struct {
	generation *Generation
	catalog    *catalog
	rows       *index.HeadRows
	order      []uint32 // ordinals
}

// Contents returns what a sealed generation holds.
func (h *Head) Contents(g *Generation) *Contents {
	c := &Contents{generation: g, catalog: h.registry.catalog.Load()}
	var found bitmap.Builder
	for ordinal := range uint32(c.catalog.index.Len()) {
		if r, _, _ := c.record(ordinal); r != nil {
			found.Add(ordinal)
		}
	}
	c.rows = c.catalog.index.Rows(found.Set())
	c.order = c.rows.Order()
	return c
}

// record returns what the generation holds of a series: it has none under the
// number of another one, see Head.oldest.
func (c *Contents) record(ordinal uint32) (*record, uint32, *holdings) {
	ref := c.catalog.at(ordinal)
	if ref == 0 {
		return nil, 0, nil
	}
	s := c.generation.shards[shardOf(ref.Slot())]
	r, number := s.find(ref.Slot())
	return r, number, s
}

// Terms returns what the rows of entries are made of.
func (c *Contents) Terms() index.Terms { return c.rows }

// Periods returns the periods of the given length, counted from time 0, that
// samples or exemplars lie in, ascending.
func (c *Contents) Periods(length int64) []int64 {
	seen := map[int64]struct{}{}
	var floats tail.Cursor
	for _, ordinal := range c.order {
		r, number, s := c.record(ordinal)
		switch {
		case r.mint > r.maxt:
		case r.mint/length == r.maxt/length:
			seen[r.mint/length] = struct{}{}
		default:
			snap := s.snapshot(c.generation, r, number)
			for cur := snap.drain(&floats); cur.Next(); {
				addPeriods(seen, cur.Span(), length)
			}
		}
		for _, x := range s.exemplars(r, number) {
			seen[x.Ts/length] = struct{}{}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func addPeriods(seen map[int64]struct{}, s *block.Span, length int64) {
	for i := 0; i < s.Count; {
		p := s.Time(i) / length
		seen[p] = struct{}{}
		i = s.Search((p + 1) * length)
	}
}

// Entry is one series of a sealed generation; its samples are read before the
// next one comes.
type Entry struct {
	Row       index.Row
	ordinal   uint32
	Samples   block.Cursor        // nil if there are none
	Exemplars []exemplar.Exemplar // by time, without duplicates
}

// Each calls fn with what the series have inside [mint, maxt], in label order,
// until it returns an error. Entries have samples or exemplars; the samples may
// be none after all.
func (c *Contents) Each(mint, maxt int64, fn func(e *Entry) error) error {
	var floats tail.Cursor
	var snap snapshot
	var e Entry
	for _, ordinal := range c.order {
		r, number, s := c.record(ordinal)
		e.Samples, e.Exemplars = nil, sortedExemplars(s.exemplars(r, number), mint, maxt)
		if r.mint <= maxt && r.maxt >= mint {
			snap = s.snapshot(c.generation, r, number)
			e.Samples = snap.drain(&floats)
			if r.mint < mint || r.maxt > maxt {
				e.Samples = block.Clip(e.Samples, mint, maxt)
			}
		}
		if e.Samples == nil && len(e.Exemplars) == 0 {
			continue
		}
		e.ordinal = ordinal
		e.Row = c.rows.Append(e.Row[:0], ordinal)
		if err := fn(&e); err != nil {
			return err
		}
	}
	return nil
}

func sortedExemplars(xs []exemplar.Exemplar, mint, maxt int64) []exemplar.Exemplar {
	if len(xs) == 0 {
		return nil
	}
	inside := slices.DeleteFunc(slices.Clone(xs), func(x exemplar.Exemplar) bool { return x.Ts < mint || x.Ts > maxt })
	slices.SortStableFunc(inside, func(a, b exemplar.Exemplar) int { return cmp.Compare(a.Ts, b.Ts) })
	return slices.CompactFunc(inside, exemplar.Exemplar.Equals)
}
