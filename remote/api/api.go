package api

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"
)

// minCompressed is the size from which an answer is compressed: some packets. It
// is compressed at the lowest level, which makes digits as small as the default
// one does, in a third of the time.
const minCompressed = 4 << 10

// API is the HTTP API over one storage. It is safe for concurrent use once
// every Handle has been called.
type API struct {
	opts Options

	cors     *regexp.Regexp
	compress func(http.Handler) http.HandlerFunc
	routes   map[string]*route
	queries  map[string]http.Handler // in MetricsQL, by path below apiPath
	sinks    sinkPool
	now      func() time.Time
	start    time.Time
}

// New returns an API, or an error that names every mistake in opts.
func New(opts Options) (*API, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	a := &API{
		opts:   opts.withDefaults(),
		routes: map[string]*route{}, queries: map[string]http.Handler{},
		now:   time.Now,
		start: time.Now().UTC(),
	}
	var err error
	if a.cors, err = opts.corsOrigin(); err != nil {
		return nil, fmt.Errorf("compile CORS origin: %w", err)
	}
	if a.compress, err = gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.CompressionLevel(gzip.BestSpeed)); err != nil {
		return nil, fmt.Errorf("set up compression: %w", err)
	}
	a.addRoutes()
	return a, nil
}

// Register mounts every route on mux, below prefix ("" or "/a/b"), and once more
// below prefix/metricsql, where requests are in that dialect. It may be called for
// several prefixes.
func (a *API) Register(mux *http.ServeMux, prefix string) {
	prefix = strings.TrimSuffix(prefix, "/")
	mount := func(path string, h http.Handler) {
		mux.Handle(prefix+path, http.StripPrefix(prefix, h))
		mux.Handle(prefix+metricsQLPrefix+path, inMetricsQL(prefix, h))
	}
	mount(apiPath+"/", http.HandlerFunc(a.serveAPI))
	for path, r := range a.routes {
		if !strings.HasPrefix(path, apiPath+"/") {
			mount(path, r)
		}
	}
}

// Queries returns what answers queries by GET or POST, by its whole path, as Register
// mounts it: who asks it does without a mux and without copies of the request, which take
// a tenth of the time of a small query.
func (a *API) Queries(prefix string) map[string]http.Handler {
	prefix = strings.TrimSuffix(prefix, "/")
	m := map[string]http.Handler{}
	for path, h := range a.queries {
		m[prefix+apiPath+path] = a.routes[apiPath+path]
		m[prefix+metricsQLPrefix+apiPath+path] = h
	}
	return m
}

// Handle adds an endpoint of another room, such as remote write, under
// /api/v1/: a path of "write" answers there. The endpoint shares the API's
// rules for unknown paths, wrong methods, OPTIONS and readiness; body, answer
// and compression are its own. It must be called before Register, and panics
// when the path is taken.
func (a *API) Handle(path string, h http.Handler, methods ...string) {
	path = apiPath + "/" + strings.TrimPrefix(path, "/")
	if a.routes[path] != nil {
		panic(fmt.Sprintf("BUG: route %s registered twice", path))
	}
	a.add(path, a.whenReady(h), methods...)
}

// add registers a handler for the methods of one path.
func (a *API) add(path string, h http.Handler, methods ...string) {
	r := a.routes[path]
	if r == nil {
		r = &route{}
		a.routes[path] = r
	}
	for _, m := range methods {
		r.handlers = append(r.handlers, methodHandler{m, a.opts.Instrument(path, h)})
	}
}

// route is what one path does, by method. It is written before it serves.
type route struct {
	handlers []methodHandler
}

type methodHandler struct {
	method string
	http.Handler
}

// ServeHTTP picks the handler of the request's method. HEAD is GET without a
// body, which net/http sees to.
func (r *route) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	method := req.Method
	if method == http.MethodHead && !r.has(http.MethodHead) {
		method = http.MethodGet
	}
	for _, h := range r.handlers {
		if h.method == method {
			h.ServeHTTP(w, req)
			return
		}
	}
	w.Header().Set("Allow", r.allow())
	http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
}

func (r *route) has(method string) bool {
	return slices.ContainsFunc(r.handlers, func(h methodHandler) bool { return h.method == method })
}

func (r *route) allow() string {
	methods := []string{http.MethodOptions}
	for _, h := range r.handlers {
		methods = append(methods, h.method)
	}
	if r.has(http.MethodGet) && !r.has(http.MethodHead) {
		methods = append(methods, http.MethodHead)
	}
	slices.Sort(methods)
	return strings.Join(methods, ", ")
}

// serveAPI routes what lies under /api/v1/.
func (a *API) serveAPI(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodOptions {
		a.setCORS(w, r)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if rt := a.routes[r.URL.Path]; rt != nil {
		rt.ServeHTTP(w, r)
		return
	}
	if _, ok := labelOfPath(r.URL.Path); ok {
		a.routes[labelValuesPath].ServeHTTP(w, r)
		return
	}
	http.NotFound(w, r)
}

// corsHeaders go with every answer to a request that names its origin.
var corsHeaders = [...][2]string{
	{"Access-Control-Allow-Headers", "Accept, Authorization, Content-Type, Origin"},
	{"Access-Control-Allow-Methods", "GET, POST, OPTIONS"},
	{"Access-Control-Expose-Headers", "Date"},
}

func (a *API) setCORS(w http.ResponseWriter, r *http.Request) {
	w.Header().Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	if origin == "" {
		return
	}
	for _, h := range corsHeaders {
		w.Header().Set(h[0], h[1])
	}
	switch {
	case a.cors.String() == "^(?:.*)$":
		w.Header().Set("Access-Control-Allow-Origin", "*")
	case a.cors.MatchString(origin):
		w.Header().Set("Access-Control-Allow-Origin", origin)
	}
}

// whenReady answers 503 until the storage serves.
func (a *API) whenReady(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a.opts.Ready() {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("X-Prometheus-Stopping", "false")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = w.Write([]byte("Service Unavailable"))
	})
}
