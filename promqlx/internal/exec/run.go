package exec

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/trace"
)

// Meter counts what a query holds. Its methods may be called by several
// goroutines; an error of theirs ends the query.
type Meter interface {
	// Expect tells that the query may come to hold n bytes, and waits until they are
	// free. It is called at most once.
	Expect(ctx context.Context, n int64) error
	// Grow tells of n more bytes held.
	Grow(n int64) error
	// Shrink tells of n bytes let go.
	Shrink(n int64)
	// Samples tells that n more samples are held, or fewer if n is negative.
	Samples(n int64) error
}

// Params are what a plan is run with.
type Params struct {
	Queryable storage.Queryable
	Grid      row.Grid
	// Instant tells that the query is for one time; its answer is then a vector,
	// a scalar, a string or a range vector. Otherwise it is a matrix.
	Instant  bool
	Lookback int64 // milliseconds

	DelayedNames bool
	TypeAndUnit  bool
	NoMetadata   bool // what the plan was made with, see plan.Config
	StartTimes   bool

	Meter Meter
	// Memory and Gate are those of the engine; without a Gate nobody waits.
	Memory *Memory
	Gate   *budget.Gate
	// Trace is told the steps of the query; it may be nil.
	Trace *trace.Span
	// Stats counts the samples that are read. Its steps are not initialised yet.
	Stats *stats.QuerySamples
	// Hints is set if the answer may hang on the hints of counter resets of
	// histograms, which can be others if less before or between them is read; it may
	// be nil.
	Hints *atomic.Bool
	// eager asks statistics of blocks even where reading costs less, as tests want.
	eager bool
	// Workers bounds the goroutines that evaluate at once; at least 1.
	Workers int
}

// Run evaluates a plan. The value is a promql.Matrix, Vector, Scalar or String; it
// is valid until the Answer is freed, which is not nil. Annotations are returned
// with an error too, where Prometheus' engine does so.
func Run(ctx context.Context, n plan.Node, p Params) (parser.Value, *Answer, annotations.Annotations, error) {
	q := &query{Params: p, ended: func() error { return budget.Alive(ctx) }, store: storeOf(p.Queryable), freed: Answer{memory: p.Memory}, pass: p.Gate.Pass()}
	v, err := q.bounded(ctx, n)
	if err == nil {
		return v, &q.freed, q.annos, nil
	}
	q.freed.Free()
	var warned warnedError
	if errors.As(err, &warned) {
		return nil, &q.freed, q.annos.Merge(warned.warnings), err
	}
	return nil, &q.freed, nil, err
}

// fewSteps is how many steps need not be counted: as many as an API allows.
const fewSteps = 1 << 14

// bounded counts what any evaluation on a grid of many steps takes.
func (q *query) bounded(ctx context.Context, n plan.Node) (parser.Value, error) {
	if q.Grid.N > fewSteps {
		bytes := stepsBytes(q.Grid.N, stepBytes)
		if err := q.Meter.Grow(bytes); err != nil {
			return nil, err
		}
		defer q.Meter.Shrink(bytes)
	}
	q.Stats.InitStepTracking(q.Grid.Start, q.Grid.End(), q.Grid.Step)
	return q.gated(ctx, n)
}

func (q *query) gated(ctx context.Context, n plan.Node) (v parser.Value, err error) {
	if err := q.pass.Take(ctx); err != nil {
		return nil, err
	}
	defer q.pass.Leave()
	defer q.closeAll()
	if err := q.openTogether(ctx, n); err != nil {
		return nil, err
	}
	return q.answer(ctx, n)
}

// closeAll closes what a panic left open, and what no leaf came to. Until a series
// is closed, its files stay on disk.
func (q *query) closeAll() {
	for _, s := range q.open {
		_ = s.close() // the panic is what went wrong
	}
	q.open = nil
	q.closeAhead()
}

// pause is called now and then: it ends the query when it is to end, and lets
// others go first when they should.
func (q *query) pause(ctx context.Context) error {
	if err := budget.Alive(ctx); err != nil {
		return err
	}
	return q.pass.Yield(ctx)
}

// query is one run of a plan.
type query struct {
	Params
	ended  func() error // tells what ended the query, nil as long as nothing did
	pass   budget.Pass
	store  store
	annos  annotations.Annotations
	shared map[int]*table
	open   []series  // that are not closed yet
	ahead  []*opened // before the plan runs

	freed    Answer // what the answer takes
	expected bool   // Meter.Expect was called
	rows     int    // how many rows the answer may have, if that is known
}

// env returns what the kernels of a node know of its evaluation on a grid. When
// the node is done its annotations are to be given to note.
func (q *query) env(g row.Grid) *row.Env {
	env := q.environment(g)
	return &env
}

func (q *query) environment(g row.Grid) row.Env {
	return row.Env{
		Grid: g, Lookback: q.Lookback, DelayedNames: q.DelayedNames,
		TypeAndUnit: q.TypeAndUnit, StartTimes: q.StartTimes, Ended: q.ended, Grow: q.Meter.Grow,
	}
}

// note takes the annotations of a node over. Of those with one text the last
// counts, for it tells a position: so they are to come in the order in which
// Prometheus' engine evaluates, a node after its children.
func (q *query) note(env *row.Env) { q.annos.Merge(env.Annos) }

// aside runs f, and returns what adds the annotations that came up, for those of
// another part to come first.
func (q *query) aside(f func() error) (add func(), err error) {
	before := q.annos
	q.annos = nil
	err = f()
	apart := q.annos
	q.annos = before
	return func() { q.annos.Merge(apart) }, err
}

// whole is the scope of the query itself.
func (q *query) whole() scope { return scope{Grid: q.Grid, stats: q.Stats, trace: q.Trace} }

func (q *query) answer(ctx context.Context, n plan.Node) (parser.Value, error) {
	switch x := n.(type) {
	case *plan.Text:
		return promql.String{V: x.Value, T: q.Grid.Start}, nil
	case *plan.Matrix:
		return q.matrix(ctx, x)
	case *plan.Subquery:
		return q.subqueryAnswer(ctx, x)
	}
	if n.Type() == parser.ValueTypeScalar && q.Instant {
		vals, err := q.scalar(ctx, n, q.whole())
		if err != nil {
			return nil, err
		}
		return promql.Scalar{V: vals[0], T: q.Grid.Start}, nil
	}
	if q.Instant {
		return q.vector(ctx, n, q.whole())
	}
	return q.series(ctx, n, q.whole())
}
