package promqlx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/cache"
	"github.com/varvedb/varve/promqlx/internal/exec"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/promql"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// own is the Evaluator of this module: PromQL to a plan, and the plan over the
// stored blocks.
type own struct {
	step    time.Duration // of a subquery that names none
	workers int
	set     featureSet
	logger  *slog.Logger
	memory  *exec.Memory
	gate    *budget.Gate
	cache   *cache.Cache // of range queries; nil if there is none
	now     func() time.Time
	plans   memo[planKey, planned]
}

// planKey is what the plan of a timeless expression depends on.
type planKey struct {
	text       string
	span       int64 // from the first to the last time asked for, milliseconds
	step       time.Duration
	noMetadata bool
}

// planned is a plan, and its key in the cache of answers if they may be kept.
type planned struct {
	plan plan.Node
	key  string
}

func newOwn(opts Options, set featureSet, gate *budget.Gate) *own {
	return &own{
		step: opts.SubqueryStep, workers: workers(), set: set, logger: opts.Logger,
		memory: &exec.Memory{}, gate: gate, cache: newCache(opts), now: time.Now,
		plans: memo[planKey, planned]{max: memoBytes},
	}
}

// workers is how many goroutines evaluate at once: one processor is left to those who
// write, if there are two.
func workers() int { return max(1, runtime.GOMAXPROCS(0)-1) }

// Prepare implements Evaluator.
func (o *own) Prepare(_ context.Context, r *Request) (Evaluation, error) {
	e := &evaluation{own: o, req: r, noMetadata: exec.NoMetadata(r.Storage), meter: r.Meter}
	e.answers = e.first[:0]
	if err := e.prepare(); err != nil {
		return nil, err
	}
	return e, nil
}

// evaluation is one plan, ready to run.
type evaluation struct {
	own        *own
	req        *Request
	plan       plan.Node
	key        string // of the plan, if answers may be kept; see cached
	meter      exec.Meter
	hints      *atomic.Bool
	noMetadata bool           // the plan relies on it
	answers    []*exec.Answer // what the result takes

	// What most have one of lives with the evaluation.
	result Result
	first  [1]*exec.Answer
}

func (e *evaluation) prepare() (err error) {
	r := e.req
	key := planKey{r.Text, r.End.UnixMilli() - r.Start.UnixMilli(), r.Step, e.noMetadata}
	remember := whole(r.Start) && whole(r.End)
	p, ok := e.own.plans.get(key)
	if !ok || !remember {
		if p, err = e.planned(); err != nil {
			return err
		}
		if remember && promql.Timeless(r.Expr) {
			e.own.plans.put(key, p, memoCost(r.Text))
		}
	}
	if e.plan = p.plan; e.keeps() {
		e.key = p.key
	}
	return nil
}

// whole tells whether a time has whole milliseconds, and so few that they can be
// added to and subtracted from.
func whole(t time.Time) bool {
	return t.Nanosecond()%1e6 == 0 && max(t.Unix(), -t.Unix()) < 1<<40
}

func (e *evaluation) planned() (p planned, err error) {
	r := e.req
	n, err := promql.Plan(r.Expr, promql.Options{
		Start: r.Start, End: r.End, Step: r.Step,
		SubqueryStep: func(int64) int64 { return e.own.step.Milliseconds() },
	})
	if err != nil {
		return p, err
	}
	if e.own.cache != nil && r.Step != 0 {
		p.key = plan.Key(n) // as it is before rewrites
	}
	p.plan = plan.Optimize(n, plan.Config{
		Instant:      r.Step == 0,
		DelayedNames: e.own.set[featDelayedNameRemoval], TypeAndUnit: e.own.set[featTypeAndUnitLabels],
		NoMetadata: e.noMetadata, StatsWindow: statsWindow,
	})
	return p, nil
}

// Run implements Evaluation.
func (e *evaluation) Run(ctx context.Context, t *Trace) (res *Result) {
	defer e.recovered(&res)
	v, annos, err := e.answer(ctx, t)
	e.req.Stats.Samples.UpdatePeak(int(e.req.Meter.PeakSamples()))
	e.result = Result{Value: v, Warnings: annos, Err: err}
	return &e.result
}

// answer evaluates the plan, or takes what is kept of its answers.
func (e *evaluation) answer(ctx context.Context, t *Trace) (parser.Value, annotations.Annotations, error) {
	if q := e.cached(t); q != nil {
		a, err := e.own.cache.Run(ctx, q)
		if err != nil {
			return nil, a.Annotations, err
		}
		return a.Matrix, a.Annotations, nil
	}
	return e.evaluate(ctx, e.grid(), t)
}

// evaluate runs the plan on a grid, which may be a part of the query's.
func (e *evaluation) evaluate(ctx context.Context, g row.Grid, t *Trace) (parser.Value, annotations.Annotations, error) {
	v, answer, annos, err := exec.Run(ctx, e.plan, e.params(g, t))
	if errors.Is(err, exec.ErrMetadata) {
		e.noMetadata = false
		if err = e.prepare(); err == nil {
			v, answer, annos, err = exec.Run(ctx, e.plan, e.params(g, t))
		}
	}
	e.answers = append(e.answers, answer)
	return v, annos, err
}

// grid returns the steps of the query.
func (e *evaluation) grid() row.Grid {
	r := e.req
	if r.Step == 0 {
		return row.GridOf(r.Start.UnixMilli(), r.Start.UnixMilli(), 1)
	}
	return row.GridOf(r.Start.UnixMilli(), r.End.UnixMilli(), r.Step.Milliseconds())
}

func (e *evaluation) params(g row.Grid, t *Trace) exec.Params {
	r := e.req
	return exec.Params{
		Queryable: r.Storage, Grid: g, Instant: r.Step == 0, Lookback: r.Lookback.Milliseconds(),
		DelayedNames: e.own.set[featDelayedNameRemoval], TypeAndUnit: e.own.set[featTypeAndUnitLabels],
		NoMetadata: e.noMetadata, StartTimes: r.StartTimestamps, Meter: e.meter, Memory: e.own.memory, Gate: e.own.gate, Trace: t, Stats: r.Stats.Samples, Workers: e.own.workers,
		Hints: e.hints,
	}
}

// statsWindow is the length of a window, in milliseconds, from which on statistics
// of blocks may pay: a mini-block of samples a second apart and some more. What
// pays is found out series by series.
const statsWindow = 15 * 60 * 1000

// recovered makes an error of a panic: a mistake of ours costs one query.
func (e *evaluation) recovered(res **Result) {
	v := recover()
	if v == nil {
		return
	}
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	if p, ok := v.(*exec.Panic); ok {
		stack = p.Stack
	}
	e.own.logger.Error("runtime panic during query evaluation", "expr", e.req.Text, "err", v, "stacktrace", string(stack))
	*res = &Result{Err: fmt.Errorf("unexpected error: %v", v)}
}

// Explain implements Explainer.
func (e *evaluation) Explain() string { return plan.Explain(e.plan) }

// Close implements Evaluation.
func (e *evaluation) Close() {
	for _, a := range e.answers {
		a.Free()
	}
}
