package apistore

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	upstreamtsdb "github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

// Storage is what Prometheus' API reads from.
type Storage interface {
	storage.Storage
	storage.ExemplarQueryable
}

// Upstream returns Prometheus' API over a storage, with an engine set up as
// Prometheus' server sets it up by default.
func Upstream(store Storage) http.Handler {
	p := parser.NewParser(parser.Options{})
	return UpstreamWith(store, promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: 2 * time.Minute, LookbackDelta: 5 * time.Minute,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Minute.Milliseconds() },
		EnableAtModifier:         true, EnableNegativeOffset: true, Parser: p,
	}), p)
}

// UpstreamWith returns Prometheus' API over a storage, with an engine and a
// parser of the caller's.
func UpstreamWith(store Storage, engine promql.QueryEngine, p parser.Parser) http.Handler {
	nothing := none{}
	api := v1.NewAPI(engine, store, nil, store,
		func(context.Context) v1.ScrapePoolsRetriever { return nothing },
		func(context.Context) v1.TargetRetriever { return nothing },
		func(context.Context) v1.AlertmanagerRetriever { return nothing },
		func() config.Config { return config.Config{} },
		map[string]string{}, v1.GlobalURLOptions{},
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		nothing, "", false, false, 0, slog.New(slog.DiscardHandler),
		func(context.Context) v1.RulesRetriever { return nothing },
		50_000_000, 10, 1<<20, false, regexp.MustCompile("^(?:.*)$"),
		func() (v1.RuntimeInfo, error) { return v1.RuntimeInfo{}, nil }, &v1.PrometheusVersion{},
		func() []notifications.Notification { return []notifications.Notification{} },
		func() (<-chan notifications.Notification, func(), bool) { return nil, nil, false },
		prometheus.NewRegistry(), prometheus.NewRegistry(), nil,
		false, nil, false, false, false, 5*time.Minute, false, false, nil,
		features.NewRegistry(), v1.OpenAPIOptions{}, p, false, 2*time.Minute)
	router := route.New()
	api.Register(router)
	mux := http.NewServeMux()
	mux.Handle("/api/v1/", http.StripPrefix("/api/v1", router))
	return mux
}

// none retrieves nothing: no targets, no rules, no alertmanagers, and a
// database without blocks.
type none struct{}

func (none) ScrapePools() []string                       { return []string{} }
func (none) TargetsActive() map[string][]*scrape.Target  { return nil }
func (none) TargetsDropped() map[string][]*scrape.Target { return nil }
func (none) TargetsDroppedCounts() map[string]int        { return map[string]int{} }
func (none) ScrapePoolConfig(pool string) (*config.ScrapeConfig, error) {
	return nil, fmt.Errorf("scrape pool %q not found", pool) // the words of scrape.Manager
}
func (none) Alertmanagers() []*url.URL                     { return nil }
func (none) DroppedAlertmanagers() []*url.URL              { return nil }
func (none) RuleGroups() []*rules.Group                    { return nil }
func (none) AlertingRules() []*rules.AlertingRule          { return nil }
func (none) CleanTombstones() error                        { return nil }
func (none) Snapshot(string, bool) error                   { return nil }
func (none) BlockMetas() ([]upstreamtsdb.BlockMeta, error) { return nil, nil }
func (none) WALReplayStatus() (upstreamtsdb.WALReplayStatus, error) {
	return upstreamtsdb.WALReplayStatus{}, nil
}
func (none) Delete(context.Context, int64, int64, ...*labels.Matcher) error { return nil }
func (none) Stats(string, int) (*upstreamtsdb.Stats, error) {
	return &upstreamtsdb.Stats{MinTime: math.MaxInt64, MaxTime: math.MinInt64}, nil
}
