package promqlx

import (
	"context"
	"fmt"
	"time"

	mql "github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/exec"
	"github.com/varvedb/varve/promqlx/internal/metricsql/eval"
	"github.com/varvedb/varve/promqlx/internal/top"
)

// Queryable is where an evaluator reads series from.
type Queryable = storage.Queryable

// Own is a Queryable over our own store: its blocks are read without the detour
// over Prometheus' interfaces, which is several times faster.
type Own = exec.Own

// Result is what a query yields: a promql.Matrix, Vector, Scalar or String,
// with the warnings and infos met on the way; or an error. It is valid until
// the query is closed.
type Result = promql.Result

// Query is one query, ready to run. It is not for concurrent use.
type Query interface {
	// Exec evaluates the query until it is done or ctx or the engine's timeout
	// ends it. It may be called once.
	Exec(ctx context.Context) *Result
	// Close takes the memory of the result back; nothing of it may be used after.
	Close()
	// Stats tells what the query cost so far: its samples, and with
	// QueryOptions.Timings its times; without, the timers are there but empty.
	Stats() *stats.Statistics
}

// Explainer is a Query that tells how it is evaluated, as text of several lines.
// The queries of an Engine are Explainers; they need not be executed for it.
type Explainer interface {
	Explain() string
}

// QueryOptions are what one query asks for beyond its text.
type QueryOptions struct {
	// LookbackDelta replaces the engine's when positive.
	LookbackDelta time.Duration
	// Timings asks for the timers of Query.Stats, which cost a small query a tenth of
	// its time. QueryInfo and the metrics have theirs in any case.
	Timings bool
	// PerStepStats asks for sample counts per step; they are given only when
	// the feature promql-per-step-stats is enabled.
	PerStepStats bool
	// UseStartTimestamps overrides the feature use-start-timestamps when not nil.
	UseStartTimestamps *bool
	// NoCache tells to evaluate all steps; see Options.CacheBytes.
	NoCache bool
	// Trace receives the steps of the query; nil records none.
	Trace *Trace
	// Client is who asks, for the list of active queries and QueryInfo.
	Client string
}

// Engine parses and evaluates PromQL. It is safe for concurrent use.
type Engine struct {
	evaluator Evaluator
	parser    boundedParser
	parsed    memo[string, parser.Expr]
	// Those of the other dialect.
	parsedMetricsQL memo[string, *eval.Prepared]
	shapesMetricsQL memo[string, mql.Expr] // of metricsql.Cut
	memoryMetricsQL eval.Memory
	opts            Options
	set             featureSet
	features        features.Collector

	slots   slots
	memory  *budget.Pool
	gate    *budget.Gate
	active  activeQueries
	last    *top.Recorder
	metrics *metrics
}

// New returns an engine, or an error that names every mistake in opts.
// The metrics are registered with Options.Registerer at once.
func New(opts Options) (*Engine, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	opts = opts.withDefaults()
	set := parseFeatures(opts.EnabledFeatures)
	e := &Engine{
		parser:          boundedParser{parser.NewParser(set.parserOptions()), opts.MaxQueryBytes},
		parsed:          memo[string, parser.Expr]{max: memoBytes},
		parsedMetricsQL: memo[string, *eval.Prepared]{max: memoBytes},
		shapesMetricsQL: memo[string, mql.Expr]{max: memoBytes / 4},
		opts:            opts,
		set:             set,
		features:        features.NewRegistry(),
		slots:           newSlots(opts.MaxConcurrent),
		gate:            budget.NewGate(workers()),
		memory: budget.NewPool(budget.Limits{
			Memory: opts.MaxMemory, QueryMemory: opts.MaxQueryMemory, Samples: int64(opts.MaxSamples),
		}),
		last: top.NewRecorder(0),
	}
	set.register(e.features)
	e.parser.RegisterFeatures(e.features)
	e.metrics = newMetrics(e)
	e.evaluator = newOwn(opts, set, e.gate)
	return e, nil
}

// Instant prepares a query for the time t.
func (e *Engine) Instant(ctx context.Context, q Queryable, text string, opts QueryOptions, t time.Time) (Query, error) {
	return e.prepare(ctx, &query{req: Request{Storage: q, Text: text, Start: t, End: t}}, opts)
}

// MinStep is the finest step of a query over a range: times are milliseconds.
const MinStep = time.Millisecond

// Range prepares a query for start, start+step, ... up to end. The step is at least
// MinStep.
func (e *Engine) Range(ctx context.Context, q Queryable, text string, opts QueryOptions, start, end time.Time, step time.Duration) (Query, error) {
	if step < MinStep {
		return nil, fmt.Errorf("step must be at least %s, got %s", MinStep, step)
	}
	return e.prepare(ctx, &query{req: Request{Storage: q, Text: text, Start: start, End: end, Step: step}}, opts)
}

// memoBytes bounds a generation of remembered expressions, and one of plans.
const memoBytes = 2 << 20

// memoCost is about what an expression or a plan takes, and not less.
func memoCost(text string) int { return 512 + 32*len(text) }

// ParseExpr parses an expression with the engine's features.
func (e *Engine) ParseExpr(query string) (parser.Expr, error) {
	return e.parser.ParseExpr(query)
}

// ParseMetricSelector parses one series selector, as found in match[].
func (e *Engine) ParseMetricSelector(selector string) ([]*labels.Matcher, error) {
	return e.parser.ParseMetricSelector(selector)
}

// ParseMetricSelectors parses several series selectors; the first bad one is the error.
func (e *Engine) ParseMetricSelectors(selectors []string) ([][]*labels.Matcher, error) {
	return e.parser.ParseMetricSelectors(selectors)
}

// LookbackDelta is the look-back of queries that do not bring their own.
func (e *Engine) LookbackDelta() time.Duration { return e.opts.LookbackDelta }

// Features lists what this engine understands, by category and name, in the
// words of Prometheus' /api/v1/features. The map belongs to the caller.
func (e *Engine) Features() map[string]map[string]bool { return e.features.Get() }
