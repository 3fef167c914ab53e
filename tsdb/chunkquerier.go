package tsdb

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	promchunks "github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/tsdb/chunks"
)

type chunkQuerier struct{ base }

// Select returns the matching series in label order, whether asked to sort or
// not.
func (q *chunkQuerier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.ChunkSeriesSet {
	v, mint, maxt, err := q.view(ctx, hints, ms)
	if err != nil {
		return storage.ErrChunkSeriesSet(err)
	}
	return &chunkSeriesSet{seriesSet{ctx: ctx, view: v, hints: hints, mint: mint, maxt: maxt, at: -1}}
}

type chunkSeriesSet struct{ set seriesSet }

func (s *chunkSeriesSet) Next() bool                        { return s.set.Next() }
func (s *chunkSeriesSet) Err() error                        { return s.set.Err() }
func (s *chunkSeriesSet) Warnings() annotations.Annotations { return s.set.Warnings() }

func (s *chunkSeriesSet) At() storage.ChunkSeries {
	return &promChunks{view: s.set.view, i: s.set.at, mint: s.set.mint, maxt: s.set.maxt}
}

// promChunks is one series of a View as chunks.
type promChunks struct {
	view       *View
	i          int
	mint, maxt int64
}

func (s *promChunks) Labels() labels.Labels { return s.view.Labels(s.i) }

func (s *promChunks) Iterator(promchunks.Iterator) promchunks.Iterator {
	return &chunkIterator{enc: chunks.NewEncoder(s.view.Cursor(s.i, s.mint, s.maxt), chunks.Options{})}
}

type chunkIterator struct{ enc *chunks.Encoder }

func (it *chunkIterator) Next() bool { return it.enc.Next() }
func (it *chunkIterator) Err() error { return it.enc.Err() }

func (it *chunkIterator) At() promchunks.Meta {
	c := it.enc.At()
	return promchunks.Meta{Chunk: c.Chunk, MinTime: c.MinT, MaxTime: c.MaxT}
}
