package promqlx

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"
)

// Parsing and planning know no deadline, and take long for some texts: those of
// many operators, and those of regular expressions with counted repetitions, of
// which a kilobyte can take a tenth of a second and 64 KiB several. Therefore
// only texts of at most quickBytes, which take some 30 ms at the worst, or of
// knownBytes that were parsed before, are prepared at once by who asks. Others
// are prepared by a goroutine of their own that has a slot: see prepareApart.
const (
	quickBytes = 256
	knownBytes = 4096
)

// prepare parses and plans; q has storage, text and times.
func (e *Engine) prepare(ctx context.Context, q *query, opts QueryOptions) (Query, error) {
	q.asks(e, opts)
	r := &q.req
	expr, known := e.parsed.get(r.Text)
	if r.Expr = expr; !known {
		if err := e.parser.check(r.Text); err != nil {
			return nil, err
		}
		r.Text = strings.Clone(r.Text) // which may be a part of a request, and the expression has parts of it
	}
	if n := len(r.Text); n > knownBytes || n > quickBytes && !known {
		return e.prepareApart(ctx, q)
	}
	if err := q.plan(ctx); err != nil {
		return nil, err
	}
	return q, nil
}

// asks resolves what is asked for beyond the text.
func (q *query) asks(e *Engine, opts QueryOptions) {
	r := &q.req
	r.Lookback = e.opts.LookbackDelta
	if opts.LookbackDelta > 0 {
		r.Lookback = opts.LookbackDelta
	}
	r.StartTimestamps = e.set[featStartTimestamps]
	if opts.UseStartTimestamps != nil {
		r.StartTimestamps = *opts.UseStartTimestamps
	}
	r.NoCache = opts.NoCache
	e.memory.Join(&q.meter)
	r.Meter, r.Stats = &q.meter, &q.stats
	q.engine, q.client, q.trace, q.timed = e, opts.Client, opts.Trace, opts.Timings
	q.stats.Samples = &q.samples
	q.samples.EnablePerStepStats = opts.PerStepStats && e.set[featPerStepStats]
	if q.timed {
		q.stats.Timers = stats.NewQueryTimers()
	}
}

// prepareApart prepares while it holds a slot (I1), and returns as soon as ctx or the
// engine's timeout ends (I2). What was begun cannot be broken off: it keeps its slot
// until it is done, so that no more texts than there are slots are worked on at a
// time. Exec waits for a slot anew, since who has prepared need not execute; the time
// that is spent here is taken off its timeout.
func (e *Engine) prepareApart(ctx context.Context, q *query) (Query, error) {
	q.began = time.Now()
	ctx, cancel := context.WithTimeout(ctx, e.opts.Timeout)
	defer cancel()
	e.active.add(q)
	t := q.trace.Start("wait for a slot to prepare")
	err := e.slots.take(ctx)
	t.Done()
	if err != nil {
		e.active.remove(q)
		return nil, err
	}
	done, gone := make(chan error), make(chan struct{})
	defer close(gone)
	go func() { // it alone has q until it is done
		q.running.Store(true)
		err := contextError(ctx, "query preparation")
		if err == nil {
			err = q.planSafely(ctx)
		}
		q.running.Store(false)
		e.active.remove(q)
		e.slots.free()
		select {
		case done <- err:
		case <-gone:
			if err == nil {
				q.Close()
			}
		}
	}()
	select {
	case err = <-done:
	case <-ctx.Done():
		return nil, contextError(ctx, "query preparation")
	}
	if err != nil {
		return nil, err
	}
	q.apart = time.Since(q.began)
	return q, nil
}

// planSafely is plan; a panic, which would end the process here, is an error.
func (q *query) planSafely(ctx context.Context) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := make([]byte, 64<<10)
			q.engine.opts.Logger.Error("runtime panic during query preparation", "expr", q.req.Text, "err", v,
				"stacktrace", string(stack[:runtime.Stack(stack, false)]))
			err = fmt.Errorf("unexpected error: %v", v)
		}
	}()
	return q.plan(ctx)
}

// plan parses the text, if that was not done before, and plans it.
func (q *query) plan(ctx context.Context) error {
	r, e := &q.req, q.engine
	if err := e.parse(r, q.trace); err != nil {
		return err
	}
	r.Trace = q.trace.Start("plan")
	q.start(stats.QueryPreparationTime)
	began := time.Now()
	run, err := e.evaluator.Prepare(ctx, r)
	q.took.prepare = time.Since(began)
	q.stop(stats.QueryPreparationTime)
	r.Trace.Done()
	q.run = run
	return err
}

// parse parses the text, unless its expression is known, and refuses what cannot be
// evaluated at several times.
func (e *Engine) parse(r *Request, t *Trace) (err error) {
	if t.Enabled() {
		t = t.Start("parse %d bytes", len(r.Text))
		defer t.Done()
	}
	if r.Expr == nil {
		if r.Expr, err = e.parser.ParseExpr(r.Text); err != nil {
			return err
		}
		e.parsed.put(r.Text, r.Expr, memoCost(r.Text))
	}
	if typ := r.Expr.Type(); r.Step != 0 && typ != parser.ValueTypeVector && typ != parser.ValueTypeScalar {
		return fmt.Errorf("invalid expression type %q for range query, must be Scalar or instant Vector", parser.DocumentedType(typ))
	}
	return nil
}
