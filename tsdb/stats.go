package tsdb

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// Stats is what the store holds at the moment. Times are milliseconds.
type Stats struct {
	HeadSeries   int   // registered series
	HeadSamples  int64 // samples in memory
	HeadBytes    int64 // their memory
	HeadMinT     int64 // their range, deleted ones included;
	HeadMaxT     int64 // HeadMinT > HeadMaxT when there are none
	Parts        int
	PartSamples  uint64
	PartBytes    uint64
	LogBytes     int64
	Tombstones   int
	SamplesTotal uint64 // accepted since the store was opened
	Replayed     uint64 // read from the log when it was opened
	Scrub        ScrubStats
}

// Stats returns figures that are cheap to find.
func (db *DB) Stats() Stats {
	s := db.acquire()
	defer s.refs.release()
	out := Stats{
		HeadSeries: db.head.SeriesCount(), Parts: len(s.parts), Tombstones: len(s.tombstones),
		SamplesTotal: db.stats.samples.Load(), Replayed: db.stats.replayed.Load(),
	}
	db.scrub.mu.Lock()
	out.Scrub = db.scrub.mu.stats
	db.scrub.mu.Unlock()
	out.HeadMinT, out.HeadMaxT = s.headRange()
	out.HeadBytes = db.head.Bytes()
	for _, g := range s.gens {
		out.HeadSamples += g.gen.Samples()
	}
	for _, p := range s.parts {
		out.PartSamples += p.info.Samples
		out.PartBytes += p.info.Bytes
	}
	_, out.LogBytes = db.log.SizeBytes()
	return out
}

func (s *state) headRange() (mint, maxt int64) {
	mint, maxt = math.MaxInt64, math.MinInt64
	for _, g := range s.gens {
		lo, hi := g.gen.TimeRange()
		mint, maxt = min(mint, lo), max(maxt, hi)
	}
	return mint, maxt
}

// TimeRange returns bounds of the times of all samples; ok is false when there
// are none. Deleted samples may count.
func (db *DB) TimeRange() (mint, maxt int64, ok bool) {
	s := db.acquire()
	defer s.refs.release()
	mint, maxt = s.headRange()
	for _, p := range s.parts {
		mint, maxt = min(mint, p.info.MinT), max(maxt, p.info.MaxT)
	}
	return mint, maxt, mint <= maxt
}

// PartInfo describes a part. Times are milliseconds.
type PartInfo struct {
	ID              uint64
	MinT, MaxT      int64
	Samples, Series uint64
	Bytes           uint64
}

// Parts lists the live parts by time.
func (db *DB) Parts() []PartInfo {
	s := db.acquire()
	defer s.refs.release()
	out := make([]PartInfo, 0, len(s.parts))
	for _, p := range s.parts {
		out = append(out, PartInfo{ID: p.info.ID, MinT: p.info.MinT, MaxT: p.info.MaxT,
			Samples: p.info.Samples, Series: p.info.Series, Bytes: p.info.Bytes})
	}
	slices.SortFunc(out, func(a, b PartInfo) int { return cmp.Or(cmp.Compare(a.MinT, b.MinT), cmp.Compare(a.ID, b.ID)) })
	return out
}

// Count is a name with a number of series, values or bytes.
type Count struct {
	Name  string
	Value uint64
}

// Cardinality tells where the series come from; each list has the largest first.
type Cardinality struct {
	Series         int
	LabelPairs     int
	SeriesByMetric []Count
	ValuesByLabel  []Count
	BytesByLabel   []Count
	SeriesByPair   []Count
}

// Cardinality counts the series with samples inside [mint, maxt]; each list has
// at most limit entries. It looks at every such series.
func (db *DB) Cardinality(ctx context.Context, mint, maxt int64, limit int) (Cardinality, error) {
	v, err := db.Select(ctx, mint, maxt)
	if err != nil {
		return Cardinality{}, err
	}
	defer v.Close()
	metrics, pairs := map[string]uint64{}, map[labels.Label]uint64{}
	for i := range v.Len() {
		lset := v.Labels(i)
		metrics[lset.Get(labels.MetricName)]++
		lset.Range(func(l labels.Label) { pairs[l]++ })
	}
	if err := v.Err(); err != nil {
		return Cardinality{}, err
	}
	values, bytes, byPair := map[string]uint64{}, map[string]uint64{}, map[string]uint64{}
	for l, n := range pairs {
		values[l.Name]++
		bytes[l.Name] += uint64(len(l.Value))
		byPair[l.Name+"="+l.Value] = n
	}
	return Cardinality{
		Series: v.Len(), LabelPairs: len(pairs),
		SeriesByMetric: top(metrics, limit), ValuesByLabel: top(values, limit),
		BytesByLabel: top(bytes, limit), SeriesByPair: top(byPair, limit),
	}, nil
}

func top(counts map[string]uint64, limit int) []Count {
	out := make([]Count, 0, len(counts))
	for name, n := range counts {
		out = append(out, Count{Name: name, Value: n})
	}
	slices.SortFunc(out, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Value, a.Value), cmp.Compare(a.Name, b.Name))
	})
	return out[:min(limit, len(out))]
}
