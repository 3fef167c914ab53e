package corpus

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/tsdb"
)

// Options are what promqltest.NewTestEngine turns on, in promqlx's words.
func Options() promqlx.Options {
	return promqlx.Options{
		MaxSamples:   promqltest.DefaultMaxSamplesPerQuery,
		Timeout:      100 * time.Second,
		SubqueryStep: time.Minute,
		EnabledFeatures: []string{
			"promql-experimental-functions", "promql-binop-fill-modifiers", "promql-unquoted-utf8-names",
			"promql-delayed-name-removal", "use-start-timestamps", "promql-extended-range-selectors",
			"promql-duration-expr",
		},
	}
}

// Engine is a promqlx.Engine behind the interface of Prometheus' one. It counts
// the texts it is asked. A storage that settles is settled before each query,
// and the engine gets the *tsdb.Storage below it, as in production. It is safe
// for concurrent use.
type Engine struct {
	engine *promqlx.Engine

	mu    sync.Mutex
	asked map[string]int
}

// settler is a storage with something to do before its samples are read.
type settler interface {
	Settle(ctx context.Context) (*tsdb.Storage, error)
}

// NewEngine wraps an engine.
func NewEngine(e *promqlx.Engine) *Engine { return &Engine{engine: e, asked: map[string]int{}} }

// NewInstantQuery prepares a query for one time.
func (e *Engine) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, t time.Time) (promql.Query, error) {
	return e.prepare(ctx, q, text, func(q storage.Queryable) (promqlx.Query, error) {
		return e.engine.Instant(ctx, q, text, queryOptions(opts), t)
	}, parser.EvalStmt{Start: t, End: t})
}

// NewRangeQuery prepares a query for start, start+step, ... up to end.
func (e *Engine) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	return e.prepare(ctx, q, text, func(q storage.Queryable) (promqlx.Query, error) {
		return e.engine.Range(ctx, q, text, queryOptions(opts), start, end, step)
	}, parser.EvalStmt{Start: start, End: end, Interval: step})
}

// Executed counts of the given evals those that were asked for: a text that is
// n times among them counts n times only if it was asked so often.
func (e *Engine) Executed(evals []string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	want := map[string]int{}
	for _, text := range evals {
		want[text]++
	}
	n := 0
	for text, times := range want {
		n += min(times, e.asked[text])
	}
	return n
}

// Asked is the number of queries asked so far: of one eval there may be many.
func (e *Engine) Asked() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for _, times := range e.asked {
		n += times
	}
	return n
}

func (e *Engine) prepare(ctx context.Context, q storage.Queryable, text string,
	ask func(storage.Queryable) (promqlx.Query, error), stmt parser.EvalStmt,
) (promql.Query, error) {
	e.mu.Lock()
	e.asked[text]++
	e.mu.Unlock()
	if s, ok := q.(settler); ok {
		store, err := s.Settle(ctx)
		if err != nil {
			return nil, err
		}
		q = store
	}
	qry, err := ask(q)
	if err != nil {
		return nil, err
	}
	return &query{Query: qry, engine: e.engine, text: text, stmt: stmt}, nil
}

func queryOptions(o promql.QueryOpts) promqlx.QueryOptions {
	if o == nil {
		return promqlx.QueryOptions{}
	}
	return promqlx.QueryOptions{LookbackDelta: o.LookbackDelta(), PerStepStats: o.EnablePerStepStats(), UseStartTimestamps: o.UseStartTimestamps()}
}

// query is a promqlx.Query with what else a promql.Query has.
type query struct {
	promqlx.Query
	engine *promqlx.Engine
	text   string
	stmt   parser.EvalStmt // without the expression

	mu       sync.Mutex
	cancel   context.CancelFunc
	canceled bool
}

func (q *query) Exec(ctx context.Context) *promql.Result {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q.mu.Lock()
	if q.cancel = cancel; q.canceled {
		cancel()
	}
	q.mu.Unlock()
	return q.Query.Exec(ctx)
}

func (q *query) Cancel() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.canceled = true; q.cancel != nil {
		q.cancel()
	}
}

// Statement parses the text, which few ask for: a promqlx.Query does not have one,
// and to make it for each would be measured as what a query takes.
func (q *query) Statement() parser.Statement {
	expr, err := q.engine.ParseExpr(q.text)
	if err != nil {
		panic(err) // it was parsed before
	}
	stmt := q.stmt
	stmt.Expr = expr
	return &stmt
}

func (q *query) String() string { return q.text }

// Hidden is a storage of which nothing shows but the interface: an engine has
// to take the way it has for storages it does not know.
type Hidden struct{ storage.Storage }

// Querier hides the querier too.
func (s Hidden) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := s.Storage.Querier(mint, maxt)
	if err != nil {
		return nil, err
	}
	return hiddenQuerier{q}, nil
}

type hiddenQuerier struct{ storage.Querier }
