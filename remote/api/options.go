package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/promqlx"
)

// Engine evaluates and parses queries; *promqlx.Engine is one.
type Engine interface {
	Instant(ctx context.Context, q promqlx.Queryable, query string, opts promqlx.QueryOptions, t time.Time) (promqlx.Query, error)
	Range(ctx context.Context, q promqlx.Queryable, query string, opts promqlx.QueryOptions, start, end time.Time, step time.Duration) (promqlx.Query, error)
	ActiveQueries() []promqlx.ActiveQuery
	TopQueries(n int, maxAge time.Duration) promqlx.QueryRanks
	MetricsQL(ctx context.Context, q promqlx.Queryable, m promqlx.MetricsQLQuery) *promqlx.MetricsQLResult
	ParseExpr(query string) (parser.Expr, error)
	ParseMetricSelector(selector string) ([]*labels.Matcher, error)
	ParseMetricSelectors(selectors []string) ([][]*labels.Matcher, error)
}

// Storage is where series and exemplars are read from.
type Storage interface {
	storage.Queryable
	storage.ExemplarQueryable
}

// Admin changes or tidies what is stored. Times are inclusive milliseconds.
type Admin interface {
	Delete(ctx context.Context, mint, maxt int64, matchers ...*labels.Matcher) error
	CleanTombstones(ctx context.Context) error
	// Snapshot returns the snapshot's name within the snapshot folder.
	Snapshot(ctx context.Context) (name string, err error)
	ForceFlush(ctx context.Context) error
	ForceMerge(ctx context.Context) error
}

// Metadata knows type, help and unit of metric families.
type Metadata interface {
	// Metadata returns the metadata of one family, or of all when family is
	// empty, of at most limit families when limit is positive.
	Metadata(family string, limit int) map[string][]metadata.Metadata
}

// Status describes the storage to status/tsdb, status/tsdb/blocks and status/walreplay.
type Status interface {
	// TSDB returns the head's figures and the limit biggest entries of each table.
	TSDB(ctx context.Context, limit int) (TSDBStatus, error)
	// Blocks lists the immutable parts.
	Blocks(ctx context.Context) ([]Block, error)
	// WALReplay tells how far the replay of the log is. It must work before Ready.
	WALReplay() (WALReplay, error)
}

// Options are what an API stands on. Engine, Storage, Admin, Metadata and
// Status are required; everything else has a default.
type Options struct {
	Engine   Engine
	Storage  Storage
	Admin    Admin
	Metadata Metadata
	Status   Status

	// Ready reports whether the storage serves yet; nil means always.
	Ready func() bool
	// Reload re-reads the configuration for /-/reload; nil answers 403.
	Reload func() error
	// Config returns the running configuration as YAML for status/config.
	Config func() string
	// Runtime returns what only the process knows of status/runtimeinfo; the
	// fields it leaves empty are filled in.
	Runtime func() RuntimeInfo
	// BuildInfo answers status/buildinfo. Its Version is the Prometheus version
	// whose API this is, because Grafana switches on it; "" means APIVersion.
	BuildInfo BuildInfo
	// Flags answers status/flags.
	Flags map[string]string
	// Features is added to what /api/v1/features says of the API itself.
	Features map[string]map[string]bool

	// Dialect is that of requests that name none, by a path below /metricsql or the
	// argument dialect; "" means PromQL.
	Dialect Dialect
	// LatencyOffset is how young samples are that a query of MetricsQL does not see
	// yet, unless it says so itself by latency_offset; 0 shows all.
	LatencyOffset time.Duration
	// LookbackDelta is how old a sample /federate still exports; 0 means that of promqlx.
	LookbackDelta time.Duration
	// ExternalLabels are attached to what /federate exports.
	ExternalLabels labels.Labels
	// EnableAdminAPI opens delete_series, snapshot and clean_tombstones.
	EnableAdminAPI bool
	// CORSOrigin is a regular expression that must match the whole Origin; "" means ".*".
	CORSOrigin string
	// MaxFormBytes bounds the body of a form; 0 means DefaultMaxFormBytes.
	MaxFormBytes int64
	// AppName speaks in /-/healthy and /-/ready; "" means "varve".
	AppName string

	// Gatherer is what /metrics and status/self_metrics show; nil shows nothing.
	Gatherer prometheus.Gatherer
	// Instrument wraps the handler of each route, for metrics and traces; nil wraps nothing.
	Instrument func(route string, h http.Handler) http.Handler
	// OnError is told what could not be told to the client: an answer that broke
	// off while it was written. It may be nil and is called from many goroutines.
	OnError func(r *http.Request, err error)
}

const (
	// APIVersion is the Prometheus version this API follows.
	APIVersion = "3.14.0"
	// DefaultMaxFormBytes bounds a form's body as net/http does.
	DefaultMaxFormBytes = 10 << 20
)

// Validate names every mistake in o.
func (o Options) Validate() error {
	var errs []error
	for _, d := range []struct {
		name    string
		missing bool
	}{
		{"engine", o.Engine == nil},
		{"storage", o.Storage == nil},
		{"admin", o.Admin == nil},
		{"metadata", o.Metadata == nil},
		{"status", o.Status == nil},
	} {
		if d.missing {
			errs = append(errs, fmt.Errorf("%s is missing", d.name))
		}
	}
	if o.LookbackDelta < 0 {
		errs = append(errs, fmt.Errorf("lookback delta must not be negative, got %s", o.LookbackDelta))
	}
	if o.LatencyOffset < 0 {
		errs = append(errs, fmt.Errorf("latency offset must not be negative, got %s", o.LatencyOffset))
	}
	switch o.Dialect {
	case "", PromQL, MetricsQL:
	default:
		errs = append(errs, fmt.Errorf("dialect must be %s or %s, got %q", PromQL, MetricsQL, o.Dialect))
	}
	if o.MaxFormBytes < 0 {
		errs = append(errs, fmt.Errorf("max form bytes must not be negative, got %d", o.MaxFormBytes))
	}
	if _, err := o.corsOrigin(); err != nil {
		errs = append(errs, fmt.Errorf("compile CORS origin %q: %w", o.CORSOrigin, err))
	}
	return errors.Join(errs...)
}

func (o Options) corsOrigin() (*regexp.Regexp, error) {
	origin := o.CORSOrigin
	if origin == "" {
		origin = ".*"
	}
	return regexp.Compile("^(?:" + origin + ")$")
}

func (o Options) withDefaults() Options {
	if o.Ready == nil {
		o.Ready = func() bool { return true }
	}
	if o.Config == nil {
		o.Config = func() string { return "" }
	}
	if o.Runtime == nil {
		o.Runtime = func() RuntimeInfo { return RuntimeInfo{} }
	}
	if o.BuildInfo.Version == "" {
		o.BuildInfo.Version = APIVersion
	}
	if o.Flags == nil {
		o.Flags = map[string]string{}
	}
	if o.Dialect == "" {
		o.Dialect = PromQL
	}
	if o.LookbackDelta == 0 {
		o.LookbackDelta = promqlx.DefaultLookbackDelta
	}
	if o.MaxFormBytes == 0 {
		o.MaxFormBytes = DefaultMaxFormBytes
	}
	if o.AppName == "" {
		o.AppName = "varve"
	}
	if o.Gatherer == nil {
		o.Gatherer = prometheus.NewRegistry()
	}
	if o.Instrument == nil {
		o.Instrument = func(_ string, h http.Handler) http.Handler { return h }
	}
	if o.OnError == nil {
		o.OnError = func(*http.Request, error) {}
	}
	return o
}
