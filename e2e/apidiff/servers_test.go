package apidiff

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/common/route"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api"
	"github.com/varvedb/varve/remote/api/apitest"
)

// flags are what status/flags shows on both sides.
func flags() map[string]string { return map[string]string{"web.b": "<x>", "a": "1"} }

// nothing is the scraper, rules, notifier and administration of a Prometheus
// that has none configured.
type nothing struct{}

func (nothing) ScrapePools() []string                       { return []string{} }
func (nothing) TargetsActive() map[string][]*scrape.Target  { return nil }
func (nothing) TargetsDropped() map[string][]*scrape.Target { return nil }
func (nothing) TargetsDroppedCounts() map[string]int        { return map[string]int{} }
func (nothing) ScrapePoolConfig(pool string) (*config.ScrapeConfig, error) {
	return nil, fmt.Errorf("scrape pool %q not found", pool) // the words of scrape.Manager
}
func (nothing) Alertmanagers() []*url.URL                                      { return nil }
func (nothing) DroppedAlertmanagers() []*url.URL                               { return nil }
func (nothing) RuleGroups() []*rules.Group                                     { return nil }
func (nothing) AlertingRules() []*rules.AlertingRule                           { return nil }
func (nothing) CleanTombstones() error                                         { return nil }
func (nothing) Delete(context.Context, int64, int64, ...*labels.Matcher) error { return nil }
func (nothing) Snapshot(string, bool) error                                    { return nil }
func (nothing) Stats(string, int) (*tsdb.Stats, error)                         { return &tsdb.Stats{}, nil }
func (nothing) BlockMetas() ([]tsdb.BlockMeta, error)                          { return []tsdb.BlockMeta{}, nil }
func (nothing) WALReplayStatus() (tsdb.WALReplayStatus, error) {
	return tsdb.WALReplayStatus{Min: 1, Max: 5, Current: 3}, nil
}

// samplesOnly is a storage for an API that asks for chunks in remote read only.
type samplesOnly struct{ *apitest.Storage }

func (samplesOnly) ChunkQuerier(int64, int64) (storage.ChunkQuerier, error) {
	return nil, errors.New("no chunks here")
}

// prometheusAPI mounts Prometheus' API; a nil engine is its own.
func prometheusAPI(engine promql.QueryEngine, s *apitest.Storage) http.Handler {
	p := parser.NewParser(parser.Options{})
	if engine == nil {
		engine = promql.NewEngine(promql.EngineOpts{
			MaxSamples: 50_000_000, Timeout: 2 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
			NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }, Parser: p,
		})
	}
	a := v1.NewAPI(engine, samplesOnly{s}, nil, s,
		func(context.Context) v1.ScrapePoolsRetriever { return nothing{} },
		func(context.Context) v1.TargetRetriever { return nothing{} },
		func(context.Context) v1.AlertmanagerRetriever { return nothing{} },
		func() config.Config { return config.DefaultConfig }, flags(), v1.GlobalURLOptions{},
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		nothing{}, "", false, false, 0, promslog.NewNopLogger(),
		func(context.Context) v1.RulesRetriever { return nothing{} },
		1, 1, 1, false, regexp.MustCompile("^(?:.*)$"),
		func() (v1.RuntimeInfo, error) { return v1.RuntimeInfo{}, nil },
		&v1.PrometheusVersion{}, func() []notifications.Notification { return []notifications.Notification{} },
		func() (<-chan notifications.Notification, func(), bool) { return nil, nil, false },
		prometheus.NewRegistry(), prometheus.NewRegistry(), nil, false, nil, false, false, false,
		5*time.Minute, false, false, nil, nil, v1.OpenAPIOptions{}, p, false, 2*time.Minute)
	r := route.New()
	a.Register(r)
	return http.StripPrefix("/api/v1", r)
}

// idle is varve's side of nothing.
type idle struct{}

func (idle) Delete(context.Context, int64, int64, ...*labels.Matcher) error { return nil }
func (idle) CleanTombstones(context.Context) error                          { return nil }
func (idle) Snapshot(context.Context) (string, error)                       { return "", nil }
func (idle) ForceFlush(context.Context) error                               { return nil }
func (idle) ForceMerge(context.Context) error                               { return nil }
func (idle) Metadata(string, int) map[string][]metadata.Metadata            { return nil }
func (idle) TSDB(context.Context, int) (api.TSDBStatus, error)              { return api.TSDBStatus{}, nil }
func (idle) Blocks(context.Context) ([]api.Block, error)                    { return nil, nil }
func (idle) WALReplay() (api.WALReplay, error)                              { return api.WALReplay{Min: 1, Max: 5, Current: 3}, nil }

// varveAPI mounts varve's API; a nil engine is its own.
func varveAPI(t testing.TB, engine api.Engine, s *apitest.Storage, change ...func(*api.Options)) http.Handler {
	t.Helper()
	if engine == nil {
		var err error
		engine, err = promqlx.New(promqlx.Options{})
		require.NoError(t, err)
	}
	opts := api.Options{Engine: engine, Storage: s, Admin: idle{}, Metadata: idle{}, Status: idle{}, Flags: flags()}
	for _, f := range change {
		f(&opts)
	}
	a, err := api.New(opts)
	require.NoError(t, err)
	mux := http.NewServeMux()
	a.Register(mux, "")
	return mux
}
