package tsdb

import (
	"context"
	"math"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
)

// Storage lets Prometheus' own packages (its query engine, rules, scraper) run
// on a store. It stands on the store's public methods alone.
type Storage struct{ db *DB }

var (
	_ storage.Storage           = (*Storage)(nil)
	_ storage.ExemplarQueryable = (*Storage)(nil)
)

// NewStorage returns an adapter of db. Closing it closes db.
func NewStorage(db *DB) *Storage { return &Storage{db: db} }

// DB returns the store that s adapts, for who can do more with it than with a
// Queryable.
func (s *Storage) DB() *DB { return s.db }

// Querier returns a querier over [mint, maxt].
func (s *Storage) Querier(mint, maxt int64) (storage.Querier, error) {
	return &querier{base: base{db: s.db, mint: mint, maxt: maxt}}, nil
}

// ChunkQuerier returns a querier over [mint, maxt] that encodes samples into
// Prometheus' chunks.
func (s *Storage) ChunkQuerier(mint, maxt int64) (storage.ChunkQuerier, error) {
	return &chunkQuerier{base: base{db: s.db, mint: mint, maxt: maxt}}, nil
}

// ExemplarQuerier returns a querier of exemplars.
func (s *Storage) ExemplarQuerier(ctx context.Context) (storage.ExemplarQuerier, error) {
	return exemplarQuerier{ctx: ctx, db: s.db}, nil
}

// StartTime returns the time of the earliest sample, or the greatest possible
// time when there is none.
func (s *Storage) StartTime() (int64, error) {
	mint, _, ok := s.db.TimeRange()
	if !ok {
		return math.MaxInt64, nil
	}
	return mint, nil
}

// Close closes the store.
func (s *Storage) Close() error { return s.db.Close() }

type exemplarQuerier struct {
	ctx context.Context
	db  *DB
}

func (q exemplarQuerier) Select(start, end int64, matchers ...[]*labels.Matcher) ([]exemplar.QueryResult, error) {
	return q.db.Exemplars(q.ctx, start, end, matchers...)
}
