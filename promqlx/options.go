package promqlx

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Defaults of Options, those of Prometheus.
const (
	DefaultTimeout       = 2 * time.Minute
	DefaultMaxSamples    = 50_000_000
	DefaultMaxConcurrent = 20
	DefaultLookbackDelta = 5 * time.Minute
	DefaultSubqueryStep  = time.Minute
	DefaultMaxQueryBytes = 64 << 10
	// DefaultMaxMemory is what Prometheus has no limit for.
	DefaultMaxMemory = 1 << 30
)

// Options configure an Engine. The zero value works and means the defaults.
type Options struct {
	// Timeout ends a query that is prepared, waits and runs longer; 0 means
	// DefaultTimeout. Preparation of a short text, of milliseconds, is not counted.
	Timeout time.Duration
	// MaxSamples bounds the samples one query holds in memory; 0 means DefaultMaxSamples.
	MaxSamples int
	// MaxConcurrent bounds the queries that evaluate, or of which a long text is
	// parsed and planned, at once; further ones wait until their deadline. 0 means
	// DefaultMaxConcurrent.
	MaxConcurrent int
	// MaxMemory bounds the bytes that all queries hold at a time, results that are
	// not closed included; 0 means DefaultMaxMemory. A query that needs more than is
	// left waits before it begins, until its deadline; if it is already running it
	// fails with a *MemoryError.
	MaxMemory int64
	// MaxQueryMemory bounds the bytes of one query, which fails with a *MemoryError
	// beyond that; 0 means half of MaxMemory.
	MaxQueryMemory int64
	// LookbackDelta is how old a sample an instant selector still takes; 0 means
	// DefaultLookbackDelta.
	LookbackDelta time.Duration
	// MaxQueryBytes bounds the text of a query, or of all selectors of one call; 0
	// means DefaultMaxQueryBytes.
	MaxQueryBytes int
	// SubqueryStep is the step of a subquery that names none; 0 means DefaultSubqueryStep.
	SubqueryStep time.Duration
	// CacheBytes bounds the memory in which answers of range queries are kept, by
	// stretches of their steps; 0 keeps none. Answers are the same either way, and
	// see every sample that was acknowledged. Only answers out of a *tsdb.Storage, or
	// what has its method DB, are kept. This memory is not part of MaxMemory.
	CacheBytes int64
	// EnabledFeatures are names as --enable-feature takes them, also several in
	// one string, separated by commas. Names that LookupFeature does not call
	// FeatureEngine change nothing here.
	EnabledFeatures []string
	// Registerer receives the engine's metrics; nil registers none.
	Registerer prometheus.Registerer
	// QueryEnded is told of each query that was executed, when its evaluation
	// ended; nil is told nothing. It is called from many goroutines.
	QueryEnded func(QueryInfo)
	// Logger receives what there is to say, such as a recovered panic;
	// nil discards it.
	Logger *slog.Logger
}

// Validate names every mistake in o.
func (o Options) Validate() error {
	var errs []error
	for _, d := range []struct {
		name string
		v    int64
	}{
		{"timeout", int64(o.Timeout)},
		{"max samples", int64(o.MaxSamples)},
		{"max concurrent queries", int64(o.MaxConcurrent)},
		{"max query bytes", int64(o.MaxQueryBytes)},
		{"max memory of queries", o.MaxMemory},
		{"max memory of a query", o.MaxQueryMemory},
		{"memory of kept answers", o.CacheBytes},
		{"lookback delta", int64(o.LookbackDelta)},
		{"subquery step", int64(o.SubqueryStep)},
	} {
		if d.v < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative, got %d", d.name, d.v))
		}
	}
	if o.SubqueryStep > 0 && o.SubqueryStep < MinStep {
		errs = append(errs, fmt.Errorf("subquery step must be at least %s, got %s", MinStep, o.SubqueryStep))
	}
	if d := o.withDefaults(); d.MaxMemory > 0 && d.MaxQueryMemory > d.MaxMemory {
		errs = append(errs, fmt.Errorf("max memory of a query, %d bytes, must not exceed that of all queries, %d", d.MaxQueryMemory, d.MaxMemory))
	}
	return errors.Join(errs...)
}

func (o Options) withDefaults() Options {
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	if o.MaxSamples == 0 {
		o.MaxSamples = DefaultMaxSamples
	}
	if o.MaxConcurrent == 0 {
		o.MaxConcurrent = DefaultMaxConcurrent
	}
	if o.LookbackDelta == 0 {
		o.LookbackDelta = DefaultLookbackDelta
	}
	if o.MaxQueryBytes == 0 {
		o.MaxQueryBytes = DefaultMaxQueryBytes
	}
	if o.MaxMemory == 0 {
		o.MaxMemory = DefaultMaxMemory
	}
	if o.MaxQueryMemory == 0 {
		o.MaxQueryMemory = max(1, o.MaxMemory/2)
	}
	if o.SubqueryStep == 0 {
		o.SubqueryStep = DefaultSubqueryStep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
