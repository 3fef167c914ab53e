package httpcorpus

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/varvedb/varve/e2e/apistore"
	"github.com/varvedb/varve/e2e/harness"
	"github.com/varvedb/varve/e2e/remotecorpus"
)

// Storage is one content in two stores: one of Prometheus behind Prometheus'
// API in this process, and that of a running varve.
type Storage struct {
	*teststorage.TestStorage
	upstream http.Handler
	varve    *harness.Varve
	keep     *keeper
	merge    bool // flush and merge before a query
	dirty    bool // there is something to flush
}

// newStorage wraps a fresh server.
func newStorage(tb testing.TB, engine *promql.Engine, varve *harness.Varve, merge bool) *Storage {
	s := &Storage{TestStorage: promqltest.NewBuiltinTestStorage(tb), varve: varve, keep: &keeper{Engine: engine}, merge: merge}
	s.upstream = apistore.UpstreamWith(sorted{s.TestStorage}, s.keep, parser.NewParser(promqltest.TestParserOpts))
	return s
}

// AppenderV2 appends to both stores.
func (s *Storage) AppenderV2(ctx context.Context) storage.AppenderV2 {
	s.dirty = true
	return both{remotecorpus.NewAppender(ctx, s.varve.URL, labels.EmptyLabels()), s.TestStorage.AppenderV2(ctx)}
}

// settle merges what was appended, if that is asked for.
func (s *Storage) settle(tb testing.TB) {
	if s.merge && s.dirty {
		s.varve.Flush(tb)
		s.varve.Merge(tb)
	}
	s.dirty = false
}

// Close ends the server.
func (s *Storage) Close() error {
	s.varve.Kill()
	return s.TestStorage.Close()
}

// both appends to two stores.
type both struct{ varve, upstream storage.AppenderV2 }

func (b both) Append(ref storage.SeriesRef, ls labels.Labels, st, t int64, v float64,
	h *histogram.Histogram, fh *histogram.FloatHistogram, opts storage.AppendV2Options,
) (storage.SeriesRef, error) {
	if _, err := b.varve.Append(0, ls, st, t, v, h, fh, opts); err != nil { // it copies
		return 0, err
	}
	return b.upstream.Append(ref, ls, st, t, v, h, fh, opts)
}

func (b both) Commit() error { return errors.Join(b.varve.Commit(), b.upstream.Commit()) }

func (b both) Rollback() error { return errors.Join(b.varve.Rollback(), b.upstream.Rollback()) }

// sorted is a storage of Prometheus that yields series in label order whether or
// not that is asked for, as it does itself when it reads more than its head.
// Several sums, and the order of vectors, hang on it.
type sorted struct{ *teststorage.TestStorage }

func (s sorted) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := s.TestStorage.Querier(mint, maxt)
	return sortedQuerier{q}, err
}

type sortedQuerier struct{ storage.Querier }

func (q sortedQuerier) Select(ctx context.Context, _ bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	return q.Querier.Select(ctx, true, hints, matchers...)
}
