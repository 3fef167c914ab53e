package tsdb

import (
	"context"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// base is what the sample and the chunk querier share: label look-ups and the
// views to be closed in the end.
type base struct {
	db         *DB
	mint, maxt int64

	mu    sync.Mutex
	views []*View
}

func (q *base) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	values, err := q.db.LabelValues(ctx, name, q.mint, q.maxt, ms...)
	values, _ = hints.ApplyLimit(values)
	return values, nil, err
}

func (q *base) LabelNames(ctx context.Context, hints *storage.LabelHints, ms ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	names, err := q.db.LabelNames(ctx, q.mint, q.maxt, ms...)
	names, _ = hints.ApplyLimit(names)
	return names, nil, err
}

func (q *base) Close() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, v := range q.views {
		v.Close()
	}
	q.views = nil
	return nil
}

// view selects over the range of the querier, or the narrower one of hints.
func (q *base) view(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher) (v *View, mint, maxt int64, err error) {
	mint, maxt = q.mint, q.maxt
	if hints != nil && !hints.DisableTrimming {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}
	v, err = q.db.Select(ctx, mint, maxt, ms...)
	if err != nil {
		return nil, 0, 0, err
	}
	q.mu.Lock()
	q.views = append(q.views, v)
	q.mu.Unlock()
	return v, mint, maxt, nil
}

// warnings is what the view leaves out.
func (v *View) warnings() annotations.Annotations {
	var out annotations.Annotations
	if err := v.Damage(); err != nil {
		out.Add(err)
	}
	return out
}

// shown tells whether series i of v is in the shard that the hints ask for.
func shown(v *View, i int, hints *storage.SelectHints) bool {
	if hints == nil || hints.ShardCount == 0 {
		return true
	}
	return labels.StableHash(v.Labels(i))%hints.ShardCount == hints.ShardIndex
}

type querier struct{ base }

// Select returns the matching series in label order, whether asked to sort or
// not.
func (q *querier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	v, mint, maxt, err := q.view(ctx, hints, ms)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	return &seriesSet{ctx: ctx, view: v, hints: hints, mint: mint, maxt: maxt, at: -1}
}

type seriesSet struct {
	ctx        context.Context
	view       *View
	hints      *storage.SelectHints
	mint, maxt int64
	at         int
	err        error
}

func (s *seriesSet) Next() bool {
	for s.at++; s.at < s.view.Len(); s.at++ {
		if s.at%256 == 0 && s.ctx.Err() != nil {
			s.err = s.ctx.Err()
			return false
		}
		if shown(s.view, s.at, s.hints) {
			return true
		}
	}
	s.err = s.view.Err()
	return false
}

func (s *seriesSet) At() storage.Series {
	return &promSeries{view: s.view, i: s.at, mint: s.mint, maxt: s.maxt}
}

func (s *seriesSet) Err() error                        { return s.err }
func (s *seriesSet) Warnings() annotations.Annotations { return s.view.warnings() }

// promSeries is one series of a View.
type promSeries struct {
	view       *View
	i          int
	mint, maxt int64
}

func (s *promSeries) Labels() labels.Labels { return s.view.Labels(s.i) }

func (s *promSeries) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	c := s.view.Cursor(s.i, s.mint, s.maxt)
	if old, ok := it.(*sampleIterator); ok {
		*old = sampleIterator{cursor: c}
		return old
	}
	return &sampleIterator{cursor: c}
}
