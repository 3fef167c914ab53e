package promqlx

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/features"
)

// upstream is the Evaluator that borrows Prometheus' engine.
type upstream struct {
	engine *promql.Engine
}

func newUpstream(opts Options, set featureSet, p parser.Parser, reg features.Collector) *upstream {
	step := opts.SubqueryStep.Milliseconds()
	return &upstream{engine: promql.NewEngine(promql.EngineOpts{
		Logger:                   opts.Logger,
		Reg:                      opts.Registerer,
		MaxSamples:               opts.MaxSamples,
		Timeout:                  opts.Timeout,
		ActiveQueryTracker:       newSlots(opts.MaxConcurrent),
		LookbackDelta:            opts.LookbackDelta,
		NoStepSubqueryIntervalFn: func(int64) int64 { return step },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		EnablePerStepStats:       set[featPerStepStats],
		EnableDelayedNameRemoval: set[featDelayedNameRemoval],
		EnableTypeAndUnitLabels:  set[featTypeAndUnitLabels],
		UseStartTimestamps:       set[featStartTimestamps],
		FeatureRegistry:          reg,
		Parser:                   p,
	})}
}

func (u *upstream) Instant(ctx context.Context, q Queryable, query string, opts QueryOptions, t time.Time) (Query, error) {
	qry, err := u.engine.NewInstantQuery(ctx, q, opts.upstream(), query, t)
	if err != nil {
		return nil, err
	}
	return upstreamQuery{qry}, nil
}

func (u *upstream) Range(ctx context.Context, q Queryable, query string, opts QueryOptions, start, end time.Time, step time.Duration) (Query, error) {
	qry, err := u.engine.NewRangeQuery(ctx, q, opts.upstream(), query, start, end, step)
	if err != nil {
		return nil, err
	}
	return upstreamQuery{qry}, nil
}

func (o QueryOptions) upstream() promql.QueryOpts {
	return promql.NewPrometheusQueryOpts(o.PerStepStats, o.LookbackDelta, o.UseStartTimestamps)
}

// upstreamQuery tells the slots that evaluation begins.
type upstreamQuery struct {
	promql.Query
}

func (q upstreamQuery) Exec(ctx context.Context) *Result {
	return q.Query.Exec(withSlot(ctx))
}
