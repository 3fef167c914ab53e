package remote

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api"
	"github.com/varvedb/varve/tsdb"
)

// lateStore is the store as the API sees it: it may not be open yet. The API
// asks only when the door is ready, but for the state of the replay.
type lateStore struct{ db atomic.Pointer[tsdb.DB] }

var (
	_ api.Storage  = (*lateStore)(nil)
	_ api.Admin    = (*lateStore)(nil)
	_ api.Metadata = (*lateStore)(nil)
	_ api.Status   = (*lateStore)(nil)
	_ promqlx.Own  = (*lateStore)(nil)
)

// DB implements promqlx.Own.
func (s *lateStore) DB() *tsdb.DB { return s.db.Load() }

func (s *lateStore) open() (*tsdb.DB, error) {
	if db := s.db.Load(); db != nil {
		return db, nil
	}
	return nil, fmt.Errorf("not ready: %w", tsdb.ErrClosed)
}

func (s *lateStore) Querier(mint, maxt int64) (storage.Querier, error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	return tsdb.NewStorage(db).Querier(mint, maxt)
}

func (s *lateStore) ExemplarQuerier(ctx context.Context) (storage.ExemplarQuerier, error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	return tsdb.NewStorage(db).ExemplarQuerier(ctx)
}

func (s *lateStore) Delete(ctx context.Context, mint, maxt int64, ms ...*labels.Matcher) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	return db.Delete(ctx, mint, maxt, ms...)
}

func (s *lateStore) CleanTombstones(ctx context.Context) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	return db.CleanTombstones(ctx)
}

func (s *lateStore) Snapshot(ctx context.Context) (string, error) {
	db, err := s.open()
	if err != nil {
		return "", err
	}
	return db.Snapshot(ctx)
}

func (s *lateStore) ForceFlush(ctx context.Context) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	return db.ForceFlush(ctx)
}

func (s *lateStore) ForceMerge(ctx context.Context) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	return db.ForceMerge(ctx)
}

func (s *lateStore) Metadata(family string, limit int) map[string][]metadata.Metadata {
	db, err := s.open()
	if err != nil {
		return nil
	}
	return db.Metadata(family, limit)
}

// TSDB describes the series of the head's time range.
func (s *lateStore) TSDB(ctx context.Context, limit int) (api.TSDBStatus, error) {
	db, err := s.open()
	if err != nil {
		return api.TSDBStatus{}, err
	}
	stats := db.Stats()
	mint, maxt := stats.HeadMinT, stats.HeadMaxT
	if mint > maxt { // everything is flushed: the newest day stands for it
		if _, last, ok := db.TimeRange(); ok {
			mint, maxt = last-24*60*60*1000, last
		}
	}
	c, err := db.Cardinality(ctx, mint, maxt, limit)
	if err != nil {
		return api.TSDBStatus{}, err
	}
	return api.TSDBStatus{
		HeadStats: api.HeadStats{
			NumSeries: uint64(c.Series), NumLabelPairs: c.LabelPairs,
			ChunkCount: int64(stats.Parts), MinTime: mint, MaxTime: maxt,
		},
		SeriesCountByMetricName:     statRows(c.SeriesByMetric),
		LabelValueCountByLabelName:  statRows(c.ValuesByLabel),
		MemoryInBytesByLabelName:    statRows(c.BytesByLabel),
		SeriesCountByLabelValuePair: statRows(c.SeriesByPair),
	}, nil
}

func statRows(counts []tsdb.Count) []api.Stat {
	out := make([]api.Stat, len(counts))
	for i, c := range counts {
		out[i] = api.Stat{Name: c.Name, Value: c.Value}
	}
	return out
}

func (s *lateStore) Blocks(context.Context) ([]api.Block, error) {
	db, err := s.open()
	if err != nil {
		return nil, err
	}
	var out []api.Block
	for _, p := range db.Parts() {
		out = append(out, api.Block{
			ULID: fmt.Sprintf("%012d", p.ID), MinTime: p.MinT, MaxTime: p.MaxT, Version: 1,
			Stats:      api.BlockStats{NumSamples: p.Samples, NumSeries: p.Series},
			Compaction: api.BlockCompaction{Level: 1},
		})
	}
	return out, nil
}

// WALReplay is all zeros: the door learns of the store when the replay is done.
func (s *lateStore) WALReplay() (api.WALReplay, error) { return api.WALReplay{}, nil }
