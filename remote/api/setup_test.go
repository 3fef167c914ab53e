package api

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api/apitest"
)

// recorder is the Admin, Metadata and Status of the tests; it notes what it is told to do.
type recorder struct {
	deletes []deletion
	calls   []string
	err     error
}

type deletion struct {
	mint, maxt int64
	matchers   string
}

func (r *recorder) Delete(_ context.Context, mint, maxt int64, matchers ...*labels.Matcher) error {
	text := ""
	for _, m := range matchers {
		text += m.String() + ";"
	}
	r.deletes = append(r.deletes, deletion{mint, maxt, text})
	return r.err
}

func (r *recorder) call(name string) error {
	r.calls = append(r.calls, name)
	return r.err
}

func (r *recorder) CleanTombstones(context.Context) error { return r.call("clean") }
func (r *recorder) ForceFlush(context.Context) error      { return r.call("flush") }
func (r *recorder) ForceMerge(context.Context) error      { return r.call("merge") }
func (r *recorder) Snapshot(context.Context) (string, error) {
	return "20231114T221320Z-0123456789abcdef", r.call("snapshot")
}

func (r *recorder) Metadata(family string, limit int) map[string][]metadata.Metadata {
	all := map[string][]metadata.Metadata{
		"b_total": {{Type: model.MetricTypeCounter, Help: "Bytes <read>.", Unit: "bytes"}, {Type: model.MetricTypeGauge, Help: "old"}},
		"a":       {{Type: model.MetricTypeGauge, Help: "A."}},
		"c":       {{Type: model.MetricTypeUnknown}},
	}
	if family == "" {
		return all
	}
	found := map[string][]metadata.Metadata{}
	if m, ok := all[family]; ok {
		found[family] = m
	}
	return found
}

func (r *recorder) TSDB(_ context.Context, limit int) (TSDBStatus, error) {
	rows := []Stat{{"big", 9}, {"mid", 5}, {"small", 1}}
	return TSDBStatus{
		HeadStats:               HeadStats{NumSeries: 42, NumLabelPairs: 7, ChunkCount: 3, MinTime: apitest.Base, MaxTime: apitest.Base + 1},
		SeriesCountByMetricName: rows[:min(limit, 3)],
		// One that ignores the limit is cut.
		LabelValueCountByLabelName: rows,
	}, r.err
}

func (r *recorder) Blocks(context.Context) ([]Block, error) {
	return []Block{{ULID: "p1", MinTime: 1, MaxTime: 2, Stats: BlockStats{NumSamples: 3}, Compaction: BlockCompaction{Level: 1}, Version: 1}}, r.err
}

func (r *recorder) WALReplay() (WALReplay, error) { return WALReplay{1, 5, 3}, r.err }

var errDouble = errors.New("disk on fire")

// newAPI returns an API over testData whose clock stands 1000 s after apitest.Base.
func newAPI(t testing.TB, change ...func(*Options)) *API {
	t.Helper()
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(t, err)
	rec := &recorder{}
	opts := Options{
		Engine: engine, Storage: apitest.Data(), Admin: rec, Metadata: rec, Status: rec,
		Gatherer: prometheus.NewRegistry(), Features: engine.Features(),
	}
	for _, f := range change {
		f(&opts)
	}
	a, err := New(opts)
	require.NoError(t, err)
	a.now = func() time.Time { return time.UnixMilli(apitest.Base + 1000_000) }
	return a
}

func serve(a *API) http.Handler {
	mux := http.NewServeMux()
	a.Register(mux, "")
	return mux
}

// blocking is a storage whose reads last until their context ends.
type blocking struct {
	*apitest.Storage
	entered chan struct{} // receives one token per read
}

func (b *blocking) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := b.Storage.Querier(mint, maxt)
	return &blockingQuerier{q, b}, err
}

// baseQuerier only keeps the field from being named like the method.
type baseQuerier = storage.Querier

type blockingQuerier struct {
	baseQuerier
	b *blocking
}

func (q *blockingQuerier) Select(ctx context.Context, _ bool, _ *storage.SelectHints, _ ...*labels.Matcher) storage.SeriesSet {
	q.b.entered <- struct{}{}
	<-ctx.Done()
	return storage.ErrSeriesSet(ctx.Err())
}
