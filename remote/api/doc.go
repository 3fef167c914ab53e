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
// The API has no scraper, no rules and no notifier. The endpoints about them
// answer what Prometheus answers when none is configured.
//
// Handlers hold no state between requests. Nothing here opens files or logs.
package api
