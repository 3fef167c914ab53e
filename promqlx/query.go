package promqlx

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/top"
)

// query is the life of one query around its Evaluation, and in one allocation what
// lives as long.
type query struct {
	engine *Engine
	run    Evaluation
	client string
	trace  *Trace
	timed  bool // the timers in stats are asked for
	took   phases
	apart  time.Duration // what prepareApart took of the timeout

	req      Request
	meter    Meter
	stats    stats.Statistics
	samples  stats.QuerySamples
	deadline deadline

	// While it is active:
	id            uint64
	began         time.Time
	running       atomic.Bool
	before, after *query
}

// phases are how long the parts of a query took.
type phases struct{ prepare, queue, eval time.Duration }

// Exec runs the query when it is its turn.
func (q *query) Exec(ctx context.Context) (res *Result) {
	q.began = time.Now()
	ctx = q.deadline.within(ctx, q.began.Add(q.engine.opts.Timeout-q.apart))
	q.start(stats.ExecTotalTime, stats.ExecQueueTime)
	q.engine.active.add(q)
	defer func() { // on a panic as well
		q.deadline.end()
		q.engine.active.remove(q)
		q.stop(stats.ExecTotalTime)
		q.ended(res)
	}()
	t := q.trace.Start("wait for a slot")
	err := q.engine.slots.take(ctx)
	q.took.queue = time.Since(q.began)
	q.stop(stats.ExecQueueTime)
	t.Done()
	if err != nil {
		return &Result{Err: err}
	}
	defer q.engine.slots.free()
	defer q.req.Meter.Settle()
	return q.evaluate(ctx)
}

func (q *query) evaluate(ctx context.Context) *Result {
	q.start(stats.EvalTotalTime, stats.InnerEvalTime)
	t := q.trace.Start("evaluate")
	defer func() {
		q.took.eval = time.Since(q.began) - q.took.queue
		q.stop(stats.InnerEvalTime, stats.EvalTotalTime)
		if t.Enabled() {
			t.Donef("%d samples at its peak, %d bytes", q.samples.PeakSamples, q.meter.Peak())
		}
	}()
	// Both may have come at once: a slot and the end.
	if err := contextError(ctx, "query execution"); err != nil {
		return &Result{Err: err}
	}
	q.running.Store(true)
	return q.run.Run(ctx, t)
}

// start starts timers if anybody asked for them: each costs more than what it measures
// of a small query.
func (q *query) start(timers ...stats.QueryTiming) {
	if q.timed {
		for _, t := range timers {
			q.stats.Timers.GetTimer(t).Start()
		}
	}
}

// stop stops what start started.
func (q *query) stop(timers ...stats.QueryTiming) {
	if q.timed {
		for _, t := range timers {
			q.stats.Timers.GetTimer(t).Stop()
		}
	}
}

// ended tells the metrics, the ranks and the engine's owner. The result is nil
// after a panic.
func (q *query) ended(res *Result) {
	if res == nil {
		return
	}
	took := q.took.queue + q.took.eval
	at := q.began.Add(took)
	q.engine.metrics.observe(at, &q.samples, &q.took, q.running.Load())
	q.engine.last.Add(top.Query{
		Text: q.req.Text, Range: q.req.End.Sub(q.req.Start), At: at, Duration: took, Memory: q.meter.Peak(),
	})
	if q.engine.opts.QueryEnded != nil {
		q.engine.opts.QueryEnded(QueryInfo{
			Text: q.req.Text, Start: q.req.Start, End: q.req.End, Step: q.req.Step, Client: q.client,
			Began: q.began, Duration: took, Queued: q.took.queue,
			Samples: q.samples.TotalSamples, PeakSamples: q.samples.PeakSamples, Memory: q.meter.Peak(), Err: res.Err,
		})
	}
}

// Close implements Query.
func (q *query) Close() {
	q.run.Close()
	q.req.Meter.Release()
}

// Stats implements Query.
func (q *query) Stats() *stats.Statistics {
	if q.stats.Timers == nil {
		q.stats.Timers = stats.NewQueryTimers() // which callers need not ask for
	}
	return &q.stats
}

// Explain implements Explainer.
func (q *query) Explain() string {
	if x, ok := q.run.(Explainer); ok {
		return x.Explain()
	}
	return parser.Tree(q.req.Expr)
}
