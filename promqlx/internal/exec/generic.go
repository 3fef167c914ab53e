package exec

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/tsdb"
)

// anyStore reads any storage.Queryable.
type anyStore struct{ q storage.Queryable }

func (s anyStore) open(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher) (series, error) {
	q, err := s.q.Querier(hints.Start, hints.End)
	if err != nil {
		return nil, err
	}
	set := q.Select(ctx, true, hints, ms...)
	out := &anySeries{querier: q}
	for set.Next() {
		if err := ctx.Err(); err != nil {
			return nil, closeAfter(q, err)
		}
		out.list = append(out.list, set.At())
	}
	out.warned = set.Warnings()
	if err := set.Err(); err != nil {
		return nil, warnedError{closeAfter(q, err), out.warned}
	}
	return out, nil
}

func closeAfter(q storage.Querier, err error) error {
	if closeErr := q.Close(); err == nil {
		return closeErr
	}
	return err
}

// warnedError is an error with the warnings met before it.
type warnedError struct {
	error
	warnings annotations.Annotations
}

func (e warnedError) Unwrap() error { return e.error }

type anySeries struct {
	querier storage.Querier
	list    []storage.Series
	warned  annotations.Annotations
}

func (s *anySeries) len() int                          { return len(s.list) }
func (s *anySeries) labels(i int) labels.Labels        { return s.list[i].Labels() }
func (s *anySeries) column(string) (tsdb.Column, bool) { return tsdb.Column{}, false }
func (s *anySeries) metadata() bool                    { return true }
func (s *anySeries) warnings() annotations.Annotations { return s.warned }
func (s *anySeries) failure() error                    { return nil }
func (s *anySeries) close() error                      { return s.querier.Close() }

func (s *anySeries) last(i int, mint, maxt int64, into *tsdb.Samples) error {
	return s.read(i, mint, maxt, into)
}

func (s *anySeries) read(i int, mint, maxt int64, into *tsdb.Samples) error {
	it := s.list[i].Iterator(nil)
	for kind := it.Seek(mint); kind != chunkenc.ValNone; kind = it.Next() {
		t := it.AtT()
		if t > maxt {
			return nil
		}
		switch kind {
		case chunkenc.ValFloat:
			_, f := it.At()
			if !into.WithStale && value.IsStaleNaN(f) {
				continue
			}
			into.T, into.F = append(into.T, t), append(into.F, f)
			if into.WithST {
				into.ST = append(into.ST, it.AtST())
			}
		default:
			_, h := it.AtFloatHistogram(nil)
			if !into.WithStale && value.IsStaleNaN(h.Sum) {
				continue
			}
			into.HT, into.H = append(into.HT, t), append(into.H, h)
			if into.WithST {
				into.HST = append(into.HST, it.AtST())
			}
		}
	}
	return it.Err()
}
