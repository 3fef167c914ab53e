package oracle

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/corpus"
	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/tsdb"
)

// twice is an engine that asks the oracle and ours, has a judge compare, and
// gives the oracle's answer to the test of the corpus.
type twice struct {
	promql.QueryEngine // the oracle
	ours               promql.QueryEngine

	mu    sync.Mutex
	tally *Tally
}

func (e *twice) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, t time.Time) (promql.Query, error) {
	e.judge(ctx, q, Question{Text: text, Start: t.UnixMilli(), End: t.UnixMilli()})
	return e.QueryEngine.NewInstantQuery(ctx, q, opts, text, t)
}

func (e *twice) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	e.judge(ctx, q, Question{Text: text, Start: start.UnixMilli(), End: end.UnixMilli(), Step: step.Milliseconds()})
	return e.QueryEngine.NewRangeQuery(ctx, q, opts, text, start, end, step)
}

func (e *twice) judge(ctx context.Context, from storage.Queryable, q Question) {
	e.mu.Lock()
	defer e.mu.Unlock()
	q.Features, q.State = "all", "corpus"
	e.tally.Add(ctx, &Judge{Oracle: Engines{"all": e.QueryEngine}, Ours: Engines{"all": e.ours}, Stores: map[string]storage.Queryable{"corpus": from}}, q)
}

// TestCorpusExact judges every query that the corpus makes, on the corpus' own
// data: what promqltest holds to be equal up to a millionth is held to be equal.
func TestCorpusExact(t *testing.T) {
	t.Run("head", func(t *testing.T) {
		corpusExact(t, func(db *tsdb.DB) storage.Storage { return tsdb.NewStorage(db) })
	})
	t.Run("merged", func(t *testing.T) {
		if testing.Short() {
			t.Skip("one more state of the same data")
		}
		corpusExact(t, func(db *tsdb.DB) storage.Storage { return corpus.NewMerged(db) })
	})
}

func corpusExact(t *testing.T, wrap func(*tsdb.DB) storage.Storage) {
	e, err := promqlx.New(corpus.Options())
	require.NoError(t, err)
	ours := corpus.NewEngine(e)
	both := &twice{QueryEngine: promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery), ours: ours, tally: &Tally{}}
	if out := output(t); out != nil {
		both.tally.Out = out
	}
	promqltest.RunBuiltinTestsWithStorage(t, both, func(tb testing.TB) storage.Storage {
		db, err := tsdb.Open(tb.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
		require.NoError(tb, err)
		return wrap(db)
	})
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	require.Equal(t, len(exprs), ours.Executed(exprs))
	t.Logf("%d evals of %d: %s", ours.Executed(exprs), len(exprs), both.tally.Summary())
	if len(both.tally.Failures) > 0 {
		t.Logf("differences by the outermost function of the smallest expression:\n%s", both.tally.Report(20))
	}
	require.False(t, both.tally.Failed(strict()))
}
