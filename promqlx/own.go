package promqlx

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"time"

	"github.com/prometheus/prometheus/util/stats"

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
	gate    *exec.Gate
}

func newOwn(opts Options, set featureSet) *own {
	logger := opts.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	// One processor is left to those who write, if there are two.
	workers := max(1, runtime.GOMAXPROCS(0)-1)
	return &own{
		step: opts.SubqueryStep, workers: workers, set: set, logger: logger,
		memory: &exec.Memory{}, gate: exec.NewGate(workers),
	}
}

// Prepare implements Evaluator.
func (o *own) Prepare(_ context.Context, r *Request) (Evaluation, error) {
	e := &evaluation{own: o, req: r, noMetadata: exec.NoMetadata(r.Storage)}
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
	noMetadata bool // the plan relies on it
	answer     *exec.Answer
}

func (e *evaluation) prepare() error {
	r := e.req
	n, err := promql.Plan(r.Expr, promql.Options{
		Start: r.Start, End: r.End, Step: r.Step,
		SubqueryStep: func(int64) int64 { return e.own.step.Milliseconds() },
	})
	if err != nil {
		return err
	}
	e.plan = plan.Optimize(n, plan.Config{
		Instant: r.Step == 0,
		Start:   r.Start.UnixMilli(), End: r.End.UnixMilli(), Lookback: r.Lookback.Milliseconds(),
		DelayedNames: e.own.set[featDelayedNameRemoval], TypeAndUnit: e.own.set[featTypeAndUnitLabels],
		NoMetadata: e.noMetadata,
	})
	return nil
}

// Run implements Evaluation.
func (e *evaluation) Run(ctx context.Context, t *Trace) (res *Result) {
	timer := e.req.Stats.Timers.GetTimer(stats.InnerEvalTime).Start()
	defer timer.Stop()
	defer e.recovered(&res)
	v, answer, annos, err := exec.Run(ctx, e.plan, e.params(t))
	if errors.Is(err, exec.ErrMetadata) {
		e.noMetadata = false
		if err = e.prepare(); err == nil {
			v, answer, annos, err = exec.Run(ctx, e.plan, e.params(t))
		}
	}
	e.answer = answer
	e.req.Stats.Samples.UpdatePeak(int(e.req.Meter.PeakSamples()))
	return &Result{Value: v, Warnings: annos, Err: err}
}

func (e *evaluation) params(t *Trace) exec.Params {
	r := e.req
	grid := row.GridOf(r.Start.UnixMilli(), r.Start.UnixMilli(), 1)
	if r.Step != 0 {
		grid = row.GridOf(r.Start.UnixMilli(), r.End.UnixMilli(), r.Step.Milliseconds())
	}
	return exec.Params{
		Queryable: r.Storage, Grid: grid, Instant: r.Step == 0, Lookback: r.Lookback.Milliseconds(),
		DelayedNames: e.own.set[featDelayedNameRemoval], TypeAndUnit: e.own.set[featTypeAndUnitLabels],
		NoMetadata: e.noMetadata, StartTimes: r.StartTimestamps, Meter: r.Meter, Memory: e.own.memory, Gate: e.own.gate, Trace: t, Stats: r.Stats.Samples, Workers: e.own.workers,
	}
}

// recovered makes an error of a panic: a mistake of ours costs one query.
func (e *evaluation) recovered(res **Result) {
	v := recover()
	if v == nil {
		return
	}
	stack := make([]byte, 64<<10)
	stack = stack[:runtime.Stack(stack, false)]
	e.own.logger.Error("runtime panic during query evaluation", "expr", e.req.Text, "err", v, "stacktrace", string(stack))
	*res = &Result{Err: fmt.Errorf("unexpected error: %v", v)}
}

// Explain implements Explainer.
func (e *evaluation) Explain() string { return plan.Explain(e.plan) }

// Close implements Evaluation.
func (e *evaluation) Close() { e.answer.Free() }
