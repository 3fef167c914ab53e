// Package apitest holds what the tests of the HTTP API share, here and in the
// end-to-end module: a storage that is obviously right, data to put into it,
// and the reader of files of requests and answers. Nothing in it is served.
package apitest

import (
	"context"
	"slices"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// Storage is a storage over a list of series in label order: the obvious one.
type Storage struct {
	// Exemplars are returned as they are, for the series they name.
	Exemplars []exemplar.QueryResult
	// Err is what every read fails with when it is not nil.
	Err error

	series []series
}

type series struct {
	lset    labels.Labels
	samples []chunks.Sample
}

// Point is a sample at a time in ms: a float, or a histogram when there is one.
type Point struct {
	Time      int64
	Value     float64
	Histogram *histogram.FloatHistogram
}

// sample is a Point as storage iterators take it.
type sample struct{ p Point }

func (s sample) T() int64                      { return s.p.Time }
func (s sample) ST() int64                     { return 0 }
func (s sample) F() float64                    { return s.p.Value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return s.p.Histogram }
func (s sample) Copy() chunks.Sample           { return s }
func (s sample) Type() chunkenc.ValueType {
	if s.p.Histogram != nil {
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

// Add adds a series, which must be new, with its samples in the order of time.
func (d *Storage) Add(lset labels.Labels, points ...Point) {
	s := series{lset: lset}
	for _, p := range points {
		s.samples = append(s.samples, sample{p})
	}
	d.series = append(d.series, s)
	slices.SortFunc(d.series, func(a, b series) int { return labels.Compare(a.lset, b.lset) })
}

// Querier returns a querier that respects its range and every hint but the limit.
func (d *Storage) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{d, mint, maxt}, nil
}

// ExemplarQuerier returns d itself.
func (d *Storage) ExemplarQuerier(context.Context) (storage.ExemplarQuerier, error) { return d, d.Err }

// Select returns the exemplars of the series that match any of the sets.
func (d *Storage) Select(mint, maxt int64, sets ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	found := []exemplar.QueryResult{}
	for _, r := range d.Exemplars {
		if !slices.ContainsFunc(sets, func(set []*labels.Matcher) bool { return matches(r.SeriesLabels, set) }) {
			continue
		}
		in := exemplar.QueryResult{SeriesLabels: r.SeriesLabels}
		for _, e := range r.Exemplars {
			if e.Ts >= mint && e.Ts <= maxt {
				in.Exemplars = append(in.Exemplars, e)
			}
		}
		if len(in.Exemplars) > 0 {
			found = append(found, in)
		}
	}
	return found, nil
}

func matches(lset labels.Labels, set []*labels.Matcher) bool {
	for _, m := range set {
		if !m.Matches(lset.Get(m.Name)) {
			return false
		}
	}
	return true
}

type querier struct {
	*Storage
	mint, maxt int64
}

func (q *querier) Close() error { return nil }

func (q *querier) find(mint, maxt int64, set []*labels.Matcher) []series {
	var found []series
	for _, s := range q.series {
		in := series{lset: s.lset}
		for _, p := range s.samples {
			if p.T() >= mint && p.T() <= maxt {
				in.samples = append(in.samples, p)
			}
		}
		if len(in.samples) > 0 && matches(s.lset, set) {
			found = append(found, in)
		}
	}
	return found
}

func (q *querier) Select(_ context.Context, _ bool, hints *storage.SelectHints, set ...*labels.Matcher) storage.SeriesSet {
	if q.Err != nil {
		return storage.ErrSeriesSet(q.Err)
	}
	mint, maxt := q.mint, q.maxt
	if hints != nil {
		mint, maxt = max(mint, hints.Start), min(maxt, hints.End)
	}
	var list []storage.Series
	for _, s := range q.find(mint, maxt, set) {
		list = append(list, storage.NewListSeries(s.lset, s.samples))
	}
	return &listSet{list: list, i: -1}
}

type listSet struct {
	list []storage.Series
	i    int
}

func (s *listSet) Next() bool                        { s.i++; return s.i < len(s.list) }
func (s *listSet) At() storage.Series                { return s.list[s.i] }
func (s *listSet) Err() error                        { return nil }
func (s *listSet) Warnings() annotations.Annotations { return nil }

func (q *querier) LabelNames(_ context.Context, _ *storage.LabelHints, set ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var names []string
	for _, s := range q.find(q.mint, q.maxt, set) {
		s.lset.Range(func(l labels.Label) { names = append(names, l.Name) })
	}
	slices.Sort(names)
	return slices.Compact(names), nil, q.Err
}

func (q *querier) LabelValues(_ context.Context, name string, _ *storage.LabelHints, set ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	var values []string
	for _, s := range q.find(q.mint, q.maxt, set) {
		if v := s.lset.Get(name); v != "" {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	return slices.Compact(values), nil, q.Err
}
