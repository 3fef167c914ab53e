package exec

import (
	"context"
	"errors"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/tsdb"
)

// store opens the series of a selector. There are two: our own, and whatever
// implements Prometheus' storage interface.
type store interface {
	open(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher) (series, error)
}

// series is what a selector found, in label order. Its methods may be called
// by several goroutines at once, each with samples of its own.
type series interface {
	len() int
	labels(i int) labels.Labels
	// read appends the samples of series i inside [mint, maxt].
	read(i int, mint, maxt int64, into *tsdb.Samples) error
	// last sets into to the last sample of series i inside [mint, maxt], a
	// staleness marker too, if there is one.
	last(i int, mint, maxt int64, into *tsdb.Samples) error
	// column returns the values of a label as numbers; ok is false if they are to
	// be had by labels alone.
	column(name string) (c tsdb.Column, ok bool)
	// metadata tells whether any series of the store may have a label that goes
	// with the name: __type__ or __unit__.
	metadata() bool
	warnings() annotations.Annotations
	// failure returns the damage that labels or column met.
	failure() error
	close() error
}

// Own is a Queryable over our own store, which is read without the detour over
// Prometheus' interfaces. DB returns nil while the store is not open.
type Own interface{ DB() *tsdb.DB }

// DBOf returns our own store if q is over one, else nil.
func DBOf(q storage.Queryable) *tsdb.DB {
	if s, ok := q.(Own); ok {
		return s.DB()
	}
	return nil
}

func storeOf(q storage.Queryable) store {
	if db := DBOf(q); db != nil {
		return ownStore{db}
	}
	return anyStore{q}
}

// NoMetadata tells whether no series of q has a label __type__ or __unit__, as
// far as that is known: a plan may then be made that relies on it.
func NoMetadata(q storage.Queryable) bool {
	db := DBOf(q)
	if db == nil {
		return false
	}
	for _, name := range []string{model.MetricTypeLabel, model.MetricUnitLabel} {
		if has, err := db.HasLabel(name); has || err != nil {
			return false
		}
	}
	return true
}

// ErrMetadata is what Run returns if a plan relies on what was written since: the
// first series with a label __type__ or __unit__. The query is to be planned anew.
var ErrMetadata = errors.New("a series with metadata labels came since the query was planned")

// ownStore reads our own store.
type ownStore struct{ db *tsdb.DB }

func (s ownStore) open(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher) (series, error) {
	v, err := s.db.Select(ctx, hints.Start, hints.End, ms...)
	if err != nil {
		return nil, err
	}
	return ownSeries{v}, nil
}

// momentStore reads it as of one moment.
type momentStore struct{ moment *tsdb.Moment }

func (s momentStore) open(ctx context.Context, hints *storage.SelectHints, ms []*labels.Matcher) (series, error) {
	v, err := s.moment.Select(ctx, hints.Start, hints.End, ms...)
	if err != nil {
		return nil, err
	}
	return ownSeries{v}, nil
}

type ownSeries struct{ view *tsdb.View }

func (s ownSeries) len() int                   { return s.view.Len() }
func (s ownSeries) labels(i int) labels.Labels { return s.view.Labels(i) }

func (s ownSeries) read(i int, mint, maxt int64, into *tsdb.Samples) error {
	return s.view.Read(i, mint, maxt, into)
}

func (s ownSeries) last(i int, mint, maxt int64, into *tsdb.Samples) error {
	t, f, h, st, ok, err := s.view.Last(i, mint, maxt)
	switch {
	case err != nil || !ok:
		return err
	case h != nil:
		into.HT, into.H = append(into.HT, t), append(into.H, h)
		if into.WithST {
			into.HST = append(into.HST, st)
		}
	default:
		into.T, into.F = append(into.T, t), append(into.F, f)
		if into.WithST {
			into.ST = append(into.ST, st)
		}
	}
	return nil
}

func (s ownSeries) column(name string) (tsdb.Column, bool) { return s.view.Column(name), true }

func (s ownSeries) metadata() bool {
	return s.view.HasLabel(model.MetricTypeLabel) || s.view.HasLabel(model.MetricUnitLabel)
}

func (s ownSeries) warnings() annotations.Annotations {
	var out annotations.Annotations
	if err := s.view.Damage(); err != nil {
		out.Add(err)
	}
	return out
}

func (s ownSeries) failure() error { return s.view.Err() }

func (s ownSeries) close() error {
	s.view.Close()
	return nil
}
