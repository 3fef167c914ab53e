package api

import (
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	apiPath = "/api/v1"
	// labelValuesPath names the one route with a variable part.
	labelValuesPath = apiPath + "/label/{name}/values"
)

// labelOfPath cuts the label name out of /api/v1/label/<name>/values.
func labelOfPath(path string) (string, bool) {
	rest, ok := strings.CutPrefix(path, apiPath+"/label/")
	if !ok {
		return "", false
	}
	name, ok := strings.CutSuffix(rest, "/values")
	return name, ok && name != ""
}

// addRoutes is the table of everything served.
func (a *API) addRoutes() {
	const get, post, put = http.MethodGet, http.MethodPost, http.MethodPut
	v1 := func(path string, f handler, methods ...string) {
		a.add(apiPath+path, a.whenReady(a.wrap(f)), methods...)
	}
	root := func(path string, f http.HandlerFunc, methods ...string) {
		a.add(path, f, methods...)
	}

	both := func(path string, f handler, m vmHandler, methods ...string) {
		a.add(apiPath+path, a.whenReady(a.inDialects(f, m, a.opts.Dialect)), methods...)
	}
	query := func(path string, f handler, m vmHandler) {
		both(path, f, m, get, post)
		a.queries[path] = a.opts.Instrument(apiPath+path, a.whenReady(a.inDialects(f, m, MetricsQL)))
	}

	query("/query", a.query, a.vmQuery)
	query("/query_range", a.queryRange, a.vmQueryRange)
	v1("/query_exemplars", a.queryExemplars, get, post)
	v1("/format_query", a.formatQuery, get, post)
	v1("/parse_query", a.parseQuery, get, post)
	both("/series", a.series, a.vmSeries, get, post)
	both("/labels", a.labelNames, a.vmLabelNames, get, post)
	both("/label/{name}/values", a.labelValues, a.vmLabelValues, get, post)
	both("/metadata", a.metadata, a.vmMetadata, get)

	v1("/status/config", a.statusConfig, get)
	v1("/status/flags", a.statusFlags, get)
	v1("/status/runtimeinfo", a.statusRuntime, get)
	v1("/status/buildinfo", a.statusBuild, get)
	both("/status/tsdb", a.statusTSDB, a.vmTSDB, get)
	v1("/status/tsdb/blocks", a.statusBlocks, get)
	v1("/status/self_metrics", a.statusSelfMetrics, get)
	both("/status/active_queries", a.activeQueries, a.vmActiveQueries, get)
	both("/status/top_queries", a.topQueries, a.vmTopQueries, get)
	a.add(apiPath+"/status/walreplay", a.wrap(a.statusWALReplay), get)
	v1("/features", a.features, get)

	v1("/scrape_pools", a.scrapePools, get)
	v1("/scrape_pools/config", a.scrapePoolConfig, get)
	v1("/targets", a.targets, get)
	v1("/targets/metadata", a.targetMetadata, get)
	v1("/targets/relabel_steps", a.targetRelabelSteps, get)
	v1("/rules", a.rules, get)
	v1("/alerts", a.alerts, get)
	v1("/alertmanagers", a.alertmanagers, get)
	a.add(apiPath+"/notifications", a.wrap(a.notifications), get)
	a.add(apiPath+"/notifications/live", a.wrap(a.notificationsLive), get)

	v1("/admin/tsdb/delete_series", a.deleteSeries, post, put)
	v1("/admin/tsdb/snapshot", a.snapshot, post, put)
	v1("/admin/tsdb/clean_tombstones", a.cleanTombstones, post, put)

	// VictoriaMetrics' own.
	a.add(apiPath+"/series/count", a.whenReady(a.onlyVM(a.seriesCount)), get, post)
	a.add(apiPath+"/status/metric_names_stats", a.whenReady(a.onlyVM(a.metricNamesStats)), get, post)
	a.add("/prettify-query", a.onlyVM(a.prettify), get, post)
	a.add("/expand-with-exprs", a.onlyVM(a.expand), get, post)

	a.add("/federate", a.whenReady(a.compress(http.HandlerFunc(a.federateEither))), get)
	a.add("/metrics", promhttp.HandlerFor(a.opts.Gatherer, promhttp.HandlerOpts{}), get)
	root("/-/healthy", a.healthy, get)
	a.add("/-/ready", a.whenReady(http.HandlerFunc(a.ready)), get)
	root("/-/reload", a.reload, post, put)
	root("/health", a.health, get, post)
	a.add("/internal/force_flush", a.whenReady(http.HandlerFunc(a.forceFlush)), get, post)
	a.add("/internal/force_merge", a.whenReady(http.HandlerFunc(a.forceMerge)), get, post)
	root("/debug/pprof/", serveProfile, get, post)
}
