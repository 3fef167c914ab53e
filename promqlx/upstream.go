package promqlx

import (
	"context"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"
)

// upstream is the Evaluator that borrows Prometheus' engine. It parses the text
// anew and knows no Meter.
type upstream struct {
	engine *promql.Engine
}

func newUpstream(opts Options, set featureSet, p parser.Parser) *upstream {
	step := opts.SubqueryStep.Milliseconds()
	return &upstream{engine: promql.NewEngine(promql.EngineOpts{
		Logger:                   opts.Logger,
		MaxSamples:               opts.MaxSamples,
		Timeout:                  opts.Timeout,
		LookbackDelta:            opts.LookbackDelta,
		NoStepSubqueryIntervalFn: func(int64) int64 { return step },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       set[featPerStepStats],
		EnableDelayedNameRemoval: set[featDelayedNameRemoval],
		EnableTypeAndUnitLabels:  set[featTypeAndUnitLabels],
		UseStartTimestamps:       set[featStartTimestamps],
		Parser:                   p,
	})}
}

// Prepare implements Evaluator.
func (u *upstream) Prepare(ctx context.Context, r *Request) (Evaluation, error) {
	opts := promql.NewPrometheusQueryOpts(r.Stats.Samples.EnablePerStepStats, r.Lookback, &r.StartTimestamps)
	var q promql.Query
	var err error
	if r.Step == 0 {
		q, err = u.engine.NewInstantQuery(ctx, r.Storage, opts, r.Text, r.Start)
	} else {
		q, err = u.engine.NewRangeQuery(ctx, r.Storage, opts, r.Text, r.Start, r.End, r.Step)
	}
	if err != nil {
		return nil, err
	}
	return &upstreamEvaluation{q, r.Stats}, nil
}

// upstreamEvaluation is a query of Prometheus' engine, which has statistics of
// its own.
type upstreamEvaluation struct {
	query promql.Query
	stats *stats.Statistics
}

// Run implements Evaluation.
func (q *upstreamEvaluation) Run(ctx context.Context, _ *Trace) *Result {
	res := q.query.Exec(ctx)
	from := q.query.Stats()
	*q.stats.Samples = *from.Samples
	for _, t := range []stats.QueryTiming{stats.QueryPreparationTime, stats.InnerEvalTime, stats.ResultSortTime} {
		*q.stats.Timers.GetTimer(t) = *from.Timers.GetTimer(t)
	}
	return res
}

// Close implements Evaluation.
func (q *upstreamEvaluation) Close() { q.query.Close() }
