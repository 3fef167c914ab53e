package remote

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api"
	"github.com/varvedb/varve/remote/importer"
	"github.com/varvedb/varve/remote/influx"
	"github.com/varvedb/varve/remote/internal/status"
	"github.com/varvedb/varve/remote/read"
	"github.com/varvedb/varve/remote/write"
	"github.com/varvedb/varve/tsdb"
)

// Options say what a Door serves. Engine is required.
type Options struct {
	Engine *promqlx.Engine

	// MaxRequestBytes bounds the decompressed body of a remote write request, 32
	// MiB if 0; line protocol and imports may be twice as large.
	MaxRequestBytes int64
	// Dialect is that of queries that name none; PromQL if empty.
	Dialect api.Dialect
	// LatencyOffset is how young samples are that MetricsQL does not see yet.
	LatencyOffset time.Duration
	// LookbackDelta is how old a sample /federate still exports.
	LookbackDelta time.Duration
	// EnableAdminAPI opens deletes and snapshots to HTTP.
	EnableAdminAPI bool
	// CORSOrigin is a regular expression of allowed origins, any if empty.
	CORSOrigin string
	// Reload answers /-/reload; nil means 403.
	Reload func() error
	// Build, Flags, Retention and Features describe the process.
	Build     api.BuildInfo
	Flags     map[string]string
	Retention string
	Features  map[string]map[string]bool
	// Registry is shown at /metrics and gets the door's own metrics.
	Registry *prometheus.Registry
	// OnError is told of answers that broke off.
	OnError func(r *http.Request, err error)
}

// Door is the handler of everything that varve serves.
type Door struct {
	opts      Options
	mux       *http.ServeMux
	queries   map[string]http.Handler // by their whole path, past the mux
	store     *lateStore
	protocols atomic.Pointer[http.ServeMux] // nil until Open
}

// maxFrameBytes bounds a frame of streamed remote read. Prometheus' client takes
// every frame for a series of its own, so one series ought to fit.
const maxFrameBytes = 16 << 20

// apiPaths are the endpoints of the protocols below /api/v1/.
var apiPaths = []struct {
	path    string
	methods []string
}{
	{"write", []string{http.MethodPost}},
	{"push", []string{http.MethodPost}},
	{"read", []string{http.MethodPost}},
	{"import", []string{http.MethodPost, http.MethodPut}},
	{"import/csv", []string{http.MethodPost, http.MethodPut}},
	{"export", []string{http.MethodGet, http.MethodPost}},
	{"export/csv", []string{http.MethodGet, http.MethodPost}},
}

// protocolPaths are those with paths of their own below them.
var protocolPaths = []string{"/api/v1/import/prometheus/", "/api/v1/influx/"}

// New returns a Door that is not ready yet.
func New(opts Options) (*Door, error) {
	if opts.Registry == nil {
		opts.Registry = prometheus.NewRegistry()
	}
	d := &Door{opts: opts, mux: http.NewServeMux(), store: &lateStore{}}
	meter := newMeter(opts.Registry)
	a, err := api.New(api.Options{
		Engine: opts.Engine, Storage: d.store, Admin: d.store, Metadata: d.store, Status: d.store,
		Ready: d.ready, Reload: opts.Reload, BuildInfo: opts.Build, Flags: opts.Flags, Features: opts.Features,
		Runtime: func() api.RuntimeInfo {
			return api.RuntimeInfo{StorageRetention: opts.Retention, ReloadConfigSuccess: true}
		},
		Dialect: opts.Dialect, LatencyOffset: opts.LatencyOffset,
		LookbackDelta: opts.LookbackDelta, EnableAdminAPI: opts.EnableAdminAPI, CORSOrigin: opts.CORSOrigin,
		Gatherer: opts.Registry, Instrument: meter.instrument, OnError: opts.OnError,
	})
	if err != nil {
		return nil, fmt.Errorf("set up API: %w", err)
	}
	for _, p := range apiPaths {
		a.Handle(p.path, http.HandlerFunc(d.protocol), p.methods...)
	}
	a.Register(d.mux, "")
	a.Register(d.mux, prometheusPrefix)
	d.queries = a.Queries("")
	maps.Copy(d.queries, a.Queries(prometheusPrefix))
	protocol := meter.instrument("protocol", http.HandlerFunc(d.protocol))
	for _, path := range protocolPaths {
		for _, p := range []string{path, strings.TrimSuffix(path, "/")} { // else the mux redirects
			d.mux.Handle(p, protocol)
			d.mux.Handle(prometheusPrefix+p, protocol)
		}
	}
	d.mux.Handle("/", protocol)
	return d, nil
}

// Open lets the door serve db. It is called once.
func (d *Door) Open(db *tsdb.DB) {
	mux := http.NewServeMux()
	writer := write.New(db, write.Options{MaxDecodedBytes: int(d.opts.MaxRequestBytes)})
	mux.Handle("/api/v1/write", writer)
	mux.Handle("/api/v1/push", writer)
	mux.Handle("/api/v1/read", read.New(read.FromDB(db), read.Options{MaxFrameBytes: maxFrameBytes, WriteError: writeError}))
	influx.New(db, influx.Options{MaxBodyBytes: 2 * d.opts.MaxRequestBytes}).Register(mux)
	imports := importer.New(importer.FromDB(db), importer.Options{WriteError: writeError, ParseSelectors: promqlx.ParseSelectors})
	mux.HandleFunc("/api/v1/import", imports.ImportJSON)
	mux.HandleFunc("/api/v1/import/csv", imports.ImportCSV)
	mux.HandleFunc("/api/v1/import/prometheus", imports.ImportText)
	mux.HandleFunc("/api/v1/import/prometheus/", imports.ImportText)
	mux.HandleFunc("/api/v1/export", imports.Export)
	mux.HandleFunc("/api/v1/export/csv", imports.ExportCSV)
	mux.HandleFunc("GET /{$}", greet)
	d.store.db.Store(db)
	d.protocols.Store(mux)
}

func (d *Door) ready() bool { return d.protocols.Load() != nil }

// ServeHTTP serves one request.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if h := d.queries[r.URL.Path]; h != nil && (r.Method == http.MethodGet || r.Method == http.MethodPost) && r.URL.RawPath == "" {
		h.ServeHTTP(w, r)
		return
	}
	d.mux.ServeHTTP(w, r)
}

// prometheusPrefix is where VictoriaMetrics serves its Prometheus API too.
const prometheusPrefix = "/prometheus"

// protocol hands a request to the rooms that need an open store.
func (d *Door) protocol(w http.ResponseWriter, r *http.Request) {
	mux := d.protocols.Load()
	if mux == nil {
		status.SetRetryAfter(w.Header(), time.Second)
		http.Error(w, "the store is not ready yet", http.StatusServiceUnavailable)
		return
	}
	if strings.HasPrefix(r.URL.Path, prometheusPrefix+"/") {
		http.StripPrefix(prometheusPrefix, mux).ServeHTTP(w, r)
		return
	}
	mux.ServeHTTP(w, r)
}

func greet(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, `varve: long-term storage for Prometheus

  /api/v1/write, /write       remote write, Influx line protocol
  /api/v1/read                remote read
  /api/v1/query, query_range  PromQL, as Prometheus serves it
  /metricsql/api/v1/query     MetricsQL, as VictoriaMetrics serves it
  /metrics, /-/ready          this server
`)
}
