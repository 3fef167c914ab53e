// Package api serves the Prometheus HTTP API, so that Grafana, promtool and
// everything else that speaks to a Prometheus speaks to varve: paths,
// parameters, status codes, error texts and JSON bytes are those of Prometheus
// 3.14, and the tests replay its answers.
//
// A request passes, from outside in: the route (404, 405), readiness (503),
// compression, CORS, the form (400, 413), the handler, and one of two writers:
// respond for an answer, respondError for the one place where an error becomes
// a status.
//
// Beside it stands the API of VictoriaMetrics 1.146 for the same things, in the files
// metricsql*.go: a request in the dialect MetricsQL passes the same doors, and gets
// arguments, error texts and bytes as there. Series are listed by whole days, and the
// metric's name comes first in a label set. It is here and not in a room of its own
// because only the last two steps differ: what is asked of the engine or the storage,
// and how the answer is written down.
//
// The API has no scraper, no rules and no notifier. The endpoints about them
// answer what Prometheus answers when none is configured.
//
// Handlers hold no state between requests. Nothing here opens files or logs.
package api
