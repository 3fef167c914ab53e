package exec

import (
	"context"
	"errors"
	"slices"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"

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
	// Trace is told the steps of the query; it may be nil.
	Trace *trace.Span
	// Stats counts the samples that are read. Its steps are not initialised yet.
	Stats *stats.QuerySamples
	// Workers bounds the goroutines that evaluate at once; at least 1.
	Workers int
}

// Run evaluates a plan. The value is a promql.Matrix, Vector, Scalar or String
// that belongs to the caller. Annotations are returned with an error too, where
// Prometheus' engine does so.
func Run(ctx context.Context, n plan.Node, p Params) (parser.Value, annotations.Annotations, error) {
	q := &query{Params: p, store: storeOf(p.Queryable)}
	p.Stats.InitStepTracking(p.Grid.Start, p.Grid.End(), p.Grid.Step)
	v, err := q.answer(ctx, n)
	if q.root != nil {
		q.root.free() // the answer is a copy
	}
	if err != nil {
		var warned warnedError
		if errors.As(err, &warned) {
			return nil, q.annos.Merge(warned.warnings), err
		}
		return nil, nil, err
	}
	return v, q.annos, nil
}

// query is one run of a plan.
type query struct {
	Params
	store  store
	annos  annotations.Annotations
	shared map[int]*table

	root     *table // rows of the plan's root
	expected bool   // Meter.Expect was called
}

// env returns what the kernels of a node know of its evaluation on a grid. When
// the node is done its annotations are to be given to note.
func (q *query) env(g row.Grid) *row.Env {
	return &row.Env{
		Grid: g, Lookback: q.Lookback, DelayedNames: q.DelayedNames,
		TypeAndUnit: q.TypeAndUnit, StartTimes: q.StartTimes,
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

// alive returns what ended the query, in the words of Prometheus' engine.
func alive(ctx context.Context) error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return promql.ErrQueryCanceled("expression evaluation")
	case errors.Is(err, context.DeadlineExceeded):
		return promql.ErrQueryTimeout("expression evaluation")
	default:
		return err
	}
}

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
	rows, err := q.rows(ctx, n, q.whole())
	if err != nil {
		return nil, err
	}
	if q.Instant {
		return q.vector(rows)
	}
	return q.series(rows, q.Grid)
}

// pointBytes and seriesBytes are the memory of a result.
const (
	pointBytes  = 16
	seriesBytes = 96
)

// rows evaluates the plan's root and keeps its rows, with their final names.
func (q *query) rows(ctx context.Context, n plan.Node, g scope) ([]*row.Row, error) {
	t := q.newTable(g.Grid)
	q.root = t
	g.kept = t.bytes() + int64(seriesBytes+pointBytes*g.N)
	if err := q.run(ctx, n, g, t.add); err != nil {
		return nil, err
	}
	if err := alive(ctx); err != nil {
		return nil, err
	}
	if !q.DelayedNames {
		return t.rows, nil
	}
	for _, r := range t.rows {
		if r.DropName {
			r.Labels = r.Labels.DropReserved(schema.IsMetadataLabel)
		}
	}
	rows, err := row.MergeSame(t.rows)
	if err != nil {
		return nil, warnedError{error: err} // the annotations are there by now
	}
	return rows, nil
}

func (q *query) vector(rows []*row.Row) (promql.Vector, error) {
	if err := q.Meter.Grow(int64(len(rows)) * seriesBytes); err != nil {
		return nil, err
	}
	out := make(promql.Vector, len(rows))
	for i, r := range rows {
		out[i] = promql.Sample{Metric: r.Labels, T: q.Grid.Start, DropName: r.DropName}
		if h := r.HAt(0); h != nil {
			out[i].H = h
		} else {
			out[i].F = r.F[0]
		}
	}
	return out, nil
}

// series makes a sorted matrix of rows.
func (q *query) series(rows []*row.Row, g row.Grid) (promql.Matrix, error) {
	slices.SortFunc(rows, byLabels)
	floats := 0
	for _, r := range rows {
		floats += r.Has.Count()
	}
	if err := q.Meter.Grow(int64(floats)*pointBytes + int64(len(rows))*seriesBytes); err != nil {
		return nil, err
	}
	slab := make([]promql.FPoint, 0, floats)
	out := make(promql.Matrix, len(rows))
	for k, r := range rows {
		s := promql.Series{Metric: r.Labels, DropName: r.DropName}
		from := len(slab)
		if r.Has.Count() == g.N {
			for i, f := range r.F {
				slab = append(slab, promql.FPoint{T: g.T(i), F: f})
			}
		} else {
			for i := r.Has.Next(0); i >= 0; i = r.Has.Next(i + 1) {
				slab = append(slab, promql.FPoint{T: g.T(i), F: r.F[i]})
			}
		}
		if len(slab) > from {
			s.Floats = slab[from:len(slab):len(slab)]
		}
		for i, h := range r.H {
			if h != nil {
				s.Histograms = append(s.Histograms, promql.HPoint{T: g.T(i), H: h})
			}
		}
		out[k] = s
	}
	return out, nil
}
