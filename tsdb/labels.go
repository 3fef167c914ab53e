package tsdb

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/head"
)

// LabelNames returns, sorted, the label names of the series that all matchers
// match and that may have samples inside [mint, maxt].
func (db *DB) LabelNames(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) ([]string, error) {
	names := map[string]struct{}{}
	err := db.visit(ctx, mint, maxt, ms,
		func(p *partView, ords []uint32) error {
			index, err := p.part.Index()
			if err != nil {
				return err
			}
			return index.Guard(func() error {
				for _, n := range index.LabelNames(bitmap.FromSorted(ords)) {
					names[n] = struct{}{}
				}
				return nil
			})
		},
		func(m *head.Matched) {
			for _, n := range m.LabelNames() {
				names[n] = struct{}{}
			}
		})
	return slices.Sorted(maps.Keys(names)), err
}

// LabelValues returns, sorted, the values that a label has in the series that
// all matchers match and that may have samples inside [mint, maxt].
func (db *DB) LabelValues(ctx context.Context, name string, mint, maxt int64, ms ...*labels.Matcher) ([]string, error) {
	values := map[string]struct{}{}
	err := db.visit(ctx, mint, maxt, ms,
		func(p *partView, ords []uint32) error {
			index, err := p.part.Index()
			if err != nil {
				return err
			}
			return index.Guard(func() error {
				for _, v := range index.LabelValues(name, bitmap.FromSorted(ords)) {
					values[v] = struct{}{}
				}
				return nil
			})
		},
		func(m *head.Matched) {
			for _, v := range m.LabelValues(name) {
				values[v] = struct{}{}
			}
		})
	return slices.Sorted(maps.Keys(values)), err
}

// visit calls inPart for every part with the matching ordinals and inHead with
// the matching series of the head.
func (db *DB) visit(ctx context.Context, mint, maxt int64, ms []*labels.Matcher,
	inPart func(*partView, []uint32) error, inHead func(*head.Matched),
) error {
	s, err := db.reading()
	if err != nil {
		return err
	}
	defer s.refs.release()
	mint = max(mint, db.oldest(time.Now()))
	for i := range s.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := &s.parts[i]
		ords, err := p.ordinals(mint, maxt, ms)
		if err != nil {
			return err
		}
		if len(ords) == 0 {
			continue
		}
		if err := inPart(p, ords); err != nil {
			return err
		}
	}
	m, err := db.head.Match(s.generations(), mint, maxt, ms, s.keeps(mint, maxt))
	if err != nil {
		return err
	}
	inHead(&m)
	return ctx.Err()
}

// keeps tells whether deletes leave something of a generation's range.
func (s *state) keeps(mint, maxt int64) func(*head.Generation, labels.Labels, int64, int64) bool {
	if len(s.tombstones) == 0 {
		return nil
	}
	return func(g *head.Generation, lset labels.Labels, lo, hi int64) bool {
		hidden := s.liveGen(g).hiddenOf(lset, s.tombstones)
		return !covers(hidden, max(lo, mint), min(hi, maxt))
	}
}
