package promqlx

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/trace"
)

// Evaluator is the seam between the life of a query, which is the Engine's
// business, and its evaluation. It may be called at once from many goroutines.
type Evaluator interface {
	// Prepare plans a query and reads no samples. An error is the text's fault.
	Prepare(ctx context.Context, r *Request) (Evaluation, error)
}

// Evaluation is a planned query. It is run at most once and closed in any case,
// by one goroutine. One that is an Explainer as well explains its plan.
type Evaluation interface {
	// Run evaluates the query within ctx and tells t its steps. It says by
	// Request.Meter what it holds and is about to hold: by Admit, once, when it
	// knows what it will need, by Grow and Shrink, and by Samples. It fills in
	// Request.Stats: the samples; the timers are the Engine's.
	Run(ctx context.Context, t *Trace) *Result
	// Close takes the memory of the result back.
	Close()
}

// Request is a query as an Evaluator gets it: parsed, with every option resolved.
type Request struct {
	Storage Queryable
	Text    string
	Expr    parser.Expr // shared with other queries of that text, not to be changed
	// Start, End and Step are when it is evaluated: at Start alone if Step is 0, else
	// at Start, Start+Step, ... up to End.
	Start, End time.Time
	Step       time.Duration
	// Lookback is how old a sample an instant selector still takes.
	Lookback time.Duration
	// StartTimestamps tells that functions look at the start times of samples.
	StartTimestamps bool
	// NoCache tells to evaluate all steps, whatever is known from earlier queries.
	NoCache bool

	Meter *Meter
	Trace *Trace            // what Prepare does
	Stats *stats.Statistics // its timers are nil if nobody asked for them
}

// Meter counts what one query holds; see budget.Meter.
type Meter = budget.Meter

// Trace is a step of a query and those it consists of; a nil one records nothing.
// See trace.Span.
type Trace = trace.Span

// NewTrace begins a trace, or returns nil if it is not wanted.
func NewTrace(on bool, format string, args ...any) *Trace { return trace.New(on, format, args...) }

// MemoryError says that a query needs more memory than it may have.
type MemoryError = budget.MemoryError

// QueueError says that a query's time ran out while it waited for memory.
type QueueError = budget.QueueError
