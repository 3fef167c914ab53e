package promqlx

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/top"
)

// query is the life of one query around its Evaluation.
type query struct {
	engine *Engine
	req    *Request
	run    Evaluation
	client string
	trace  *Trace

	// While it is active:
	id      uint64
	began   time.Time
	running atomic.Bool
}

// prepare parses and plans; r has storage, text and times.
func (e *Engine) prepare(ctx context.Context, r *Request, opts QueryOptions) (Query, error) {
	if err := e.parse(r, opts.Trace); err != nil {
		return nil, err
	}
	r.Lookback = e.opts.LookbackDelta
	if opts.LookbackDelta > 0 {
		r.Lookback = opts.LookbackDelta
	}
	r.StartTimestamps = e.set[featStartTimestamps]
	if opts.UseStartTimestamps != nil {
		r.StartTimestamps = *opts.UseStartTimestamps
	}
	r.NoCache = opts.NoCache
	r.Meter = e.memory.Meter()
	r.Stats = &stats.Statistics{
		Timers:  stats.NewQueryTimers(),
		Samples: stats.NewQuerySamples(opts.PerStepStats && e.set[featPerStepStats]),
	}
	r.Trace = opts.Trace.Start("plan")
	timer := r.Stats.Timers.GetTimer(stats.QueryPreparationTime).Start()
	run, err := e.evaluator.Prepare(ctx, r)
	timer.Stop()
	r.Trace.Done()
	if err != nil {
		return nil, err
	}
	return &query{engine: e, req: r, run: run, client: opts.Client, trace: opts.Trace}, nil
}

// parse parses the text, unless it was asked before, and refuses what cannot be evaluated at several times.
func (e *Engine) parse(r *Request, t *Trace) (err error) {
	t = t.Start("parse %d bytes", len(r.Text))
	defer t.Done()
	expr, ok := e.parsed.get(r.Text)
	if !ok {
		r.Text = strings.Clone(r.Text) // which may be a part of a request, and the expression has parts of it
		if expr, err = e.parser.ParseExpr(r.Text); err != nil {
			return err
		}
		e.parsed.put(r.Text, expr, memoCost(r.Text))
	}
	r.Expr = expr
	if typ := r.Expr.Type(); r.Step != 0 && typ != parser.ValueTypeVector && typ != parser.ValueTypeScalar {
		return fmt.Errorf("invalid expression type %q for range query, must be Scalar or instant Vector", parser.DocumentedType(typ))
	}
	return nil
}

// Exec runs the query when it is its turn.
func (q *query) Exec(ctx context.Context) (res *Result) {
	ctx, cancel := context.WithTimeout(ctx, q.engine.opts.Timeout)
	defer cancel()
	total := q.timer(stats.ExecTotalTime).Start()
	q.engine.active.add(q)
	defer func() { // on a panic as well
		q.engine.active.remove(q)
		total.Stop()
		q.ended(res)
	}()
	if err := q.queue(ctx); err != nil {
		return &Result{Err: err}
	}
	defer q.engine.slots.free()
	defer q.req.Meter.Settle()
	return q.evaluate(ctx)
}

// queue waits for a slot.
func (q *query) queue(ctx context.Context) error {
	t, timer := q.trace.Start("wait for a slot"), q.timer(stats.ExecQueueTime).Start()
	defer func() {
		timer.Stop()
		t.Done()
	}()
	return q.engine.slots.take(ctx)
}

func (q *query) evaluate(ctx context.Context) *Result {
	timer, t := q.timer(stats.EvalTotalTime).Start(), q.trace.Start("evaluate")
	defer func() {
		timer.Stop()
		t.Donef("%d samples at its peak, %d bytes", q.req.Stats.Samples.PeakSamples, q.req.Meter.Peak())
	}()
	// Both may have come at once: a slot and the end.
	if err := contextError(ctx, "query execution"); err != nil {
		return &Result{Err: err}
	}
	q.running.Store(true)
	return q.run.Run(ctx, t)
}

func (q *query) timer(t stats.QueryTiming) *stats.Timer { return q.req.Stats.Timers.GetTimer(t) }

// ended tells the metrics, the ranks and the engine's owner. The result is nil
// after a panic.
func (q *query) ended(res *Result) {
	if res == nil {
		return
	}
	info := QueryInfo{
		Text: q.req.Text, Start: q.req.Start, End: q.req.End, Step: q.req.Step, Client: q.client,
		Began: q.began, Duration: time.Since(q.began), Queued: seconds(q.timer(stats.ExecQueueTime)),
		Samples: q.req.Stats.Samples.TotalSamples, PeakSamples: q.req.Stats.Samples.PeakSamples, Memory: q.req.Meter.Peak(), Err: res.Err,
	}
	q.engine.metrics.observe(q.req.Stats, q.running.Load())
	q.engine.last.Add(top.Query{
		Text: info.Text, Range: info.End.Sub(info.Start), At: info.Began.Add(info.Duration), Duration: info.Duration, Memory: info.Memory,
	})
	q.engine.opts.QueryEnded(info)
}

func seconds(t *stats.Timer) time.Duration {
	return time.Duration(t.Duration() * float64(time.Second))
}

// Close implements Query.
func (q *query) Close() {
	q.run.Close()
	q.req.Meter.Release()
}

// Stats implements Query.
func (q *query) Stats() *stats.Statistics { return q.req.Stats }

// Explain implements Explainer.
func (q *query) Explain() string {
	if x, ok := q.run.(Explainer); ok {
		return x.Explain()
	}
	return parser.Tree(q.req.Expr)
}
