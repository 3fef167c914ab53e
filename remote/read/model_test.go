package read_test

import (
	"cmp"
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/remote/read"
	"github.com/varvedb/varve/tsdb/chunks"
)

// model is the obvious store: all spans of all series in a list.
type model struct {
	series []modelSeries
	err    error // of Select
}

type modelSeries struct {
	lset  labels.Labels
	spans []chunks.Span
	err   error // of the cursor, at its end
}

func (m *model) add(lset labels.Labels, spans ...chunks.Span) {
	m.series = append(m.series, modelSeries{lset: lset, spans: spans})
	slices.SortFunc(m.series, func(a, b modelSeries) int { return labels.Compare(a.lset, b.lset) })
}

func (m *model) Select(_ context.Context, _, _ int64, matchers ...*labels.Matcher) (read.View, error) {
	v := &modelView{}
	for _, s := range m.series {
		if matches(s.lset, matchers) {
			v.series = append(v.series, s)
		}
	}
	return v, m.err
}

func matches(lset labels.Labels, matchers []*labels.Matcher) bool {
	for _, m := range matchers {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

type modelView struct{ series []modelSeries }

func (v *modelView) Len() int                   { return len(v.series) }
func (v *modelView) Labels(i int) labels.Labels { return v.series[i].lset }
func (v *modelView) Close()                     {}
func (v *modelView) Cursor(i int, mint, maxt int64) chunks.Cursor {
	c := &modelCursor{err: v.series[i].err}
	for _, s := range v.series[i].spans {
		if s := s.Clip(mint, maxt); s.Count > 0 {
			c.spans = append(c.spans, s)
		}
	}
	slices.SortFunc(c.spans, func(a, b chunks.Span) int { return cmp.Compare(a.MinT(), b.MinT()) })
	return c
}

type modelCursor struct {
	spans []chunks.Span
	i     int
	err   error
}

func (c *modelCursor) Next() bool         { c.i++; return c.i <= len(c.spans) }
func (c *modelCursor) Span() *chunks.Span { return &c.spans[c.i-1] }
func (c *modelCursor) Err() error         { return c.err }
