package api

import (
	"fmt"
	"net/http"
	"net/http/pprof"
	"strings"
)

// healthy answers while the process lives.
func (a *API) healthy(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(w, "%s is Healthy.\n", a.opts.AppName)
}

// ready answers once the storage serves; before, whenReady does.
func (a *API) ready(w http.ResponseWriter, _ *http.Request) {
	_, _ = fmt.Fprintf(w, "%s is Ready.\n", a.opts.AppName)
}

// health is VictoriaMetrics' form of healthy, and InfluxDB's for InfluxDB's
// client libraries and whoever asks for JSON.
func (a *API) health(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.UserAgent(), "influxdb-client") || strings.Contains(r.Header.Get("Accept"), "application/json") {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"name":"influxdb","message":"ready for queries and writes","status":"pass","checks":[]}`))
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte("OK"))
}

// reload re-reads the configuration and answers when that is done.
func (a *API) reload(w http.ResponseWriter, _ *http.Request) {
	if a.opts.Reload == nil {
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("Lifecycle API is not enabled."))
		return
	}
	if err := a.opts.Reload(); err != nil {
		http.Error(w, fmt.Sprintf("failed to reload config: %s", err), http.StatusInternalServerError)
	}
}

// serveProfile serves /debug/pprof/.
func serveProfile(w http.ResponseWriter, r *http.Request) {
	switch strings.TrimPrefix(r.URL.Path, "/debug/pprof/") {
	case "cmdline":
		pprof.Cmdline(w, r)
	case "profile":
		pprof.Profile(w, r)
	case "symbol":
		pprof.Symbol(w, r)
	case "trace":
		pprof.Trace(w, r)
	default:
		pprof.Index(w, r)
	}
}
