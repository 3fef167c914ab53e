package influx

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/remote/internal/wire"
	"github.com/varvedb/varve/tsdb"
)

// Options says how a Handler behaves. The zero value works.
type Options struct {
	// MaxBodyBytes bounds a body both as sent and decoded, 64 MiB if 0.
	MaxBodyBytes int64
	// MaxLineBytes bounds one line with its newlines, 1 MiB if 0; a longer one is
	// a bad line. A request holds at most about four times that.
	MaxLineBytes int
	// BatchSamples is how many samples, about, are committed at once, 20,000 if 0.
	BatchSamples int
	// CacheBytes bounds the cache of known lines, about, 64 MiB if 0.
	CacheBytes int64

	// Databases is what SHOW DATABASES answers, one named _internal if nil.
	Databases []string
	// Version is what clients are told they talk to, 1.8.0 if empty.
	Version string

	// WriteError answers a request which the store refused: with an error of
	// tsdb.Batch which is no *tsdb.InputError. If nil, an *tsdb.OverloadError is
	// 429 or 503 with Retry-After and any other error is 503, as JSON.
	WriteError func(http.ResponseWriter, error)

	firstBuffer int // of a session, for tests of the seams between reads
}

func (o Options) withDefaults() Options {
	if o.MaxBodyBytes == 0 {
		o.MaxBodyBytes = 64 << 20
	}
	if o.MaxLineBytes == 0 {
		o.MaxLineBytes = 1 << 20
	}
	if o.BatchSamples == 0 {
		o.BatchSamples = 20_000
	}
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.Databases == nil {
		o.Databases = []string{"_internal"}
	}
	if o.Version == "" {
		o.Version = "1.8.0"
	}
	if o.firstBuffer == 0 {
		o.firstBuffer = 64 << 10
	}
	if o.WriteError == nil {
		o.WriteError = writeStoreError
	}
	return o
}

// Handler serves the Influx paths. It may be called from many goroutines.
type Handler struct {
	store    *tsdb.DB
	opts     Options
	cache    *cache
	sessions sync.Pool
	stats    struct{ requests, refused, lines, badLines, samples atomic.Uint64 }
}

// New returns a handler which appends to store.
func New(store *tsdb.DB, opts Options) *Handler {
	opts = opts.withDefaults()
	return &Handler{store: store, opts: opts, cache: newCache(opts.CacheBytes)}
}

// Register adds the handler's routes to mux. Below /influx/, /write/,
// /api/v2/write/, /api/v1/influx/ and /insert/ all other paths answer 400, as
// Influx clients that are set up wrongly expect. It leaves /health to others.
func (h *Handler) Register(mux *http.ServeMux) {
	for _, path := range []string{"/write", "/api/v2/write", "/influx/write", "/influx/api/v2/write"} {
		mux.HandleFunc(path, h.write)
	}
	mux.HandleFunc("/ping", h.ping)
	for _, prefix := range []string{"", "/influx"} {
		mux.HandleFunc(prefix+"/query", h.query)
		mux.HandleFunc(prefix+"/api/v2/buckets", h.buckets)
	}
	mux.HandleFunc("/influx/health", h.health)
	for _, path := range []string{"/write/", "/api/v2/write/", "/influx/", "/api/v1/influx/", "/insert/"} {
		mux.HandleFunc(path, unsupported)
	}
}

// write serves the write paths, whatever the method: an absent body is an empty
// one.
func (h *Handler) write(w http.ResponseWriter, req *http.Request) {
	h.setVersion(w)
	h.stats.requests.Add(1)
	s := h.session()
	defer h.release(s)
	if err := s.setArguments(req); err != nil {
		h.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	content, err := s.open(w, req, h.opts.MaxBodyBytes)
	defer s.decoders.close()
	if err == nil {
		err = s.ingest(req.Context(), content)
	}
	h.stats.lines.Add(uint64(s.lines))
	h.stats.samples.Add(uint64(s.sampled))
	h.stats.badLines.Add(uint64(s.bad.count))
	var failed *storeError
	switch {
	case errors.As(err, &failed):
		h.stats.refused.Add(1)
		h.opts.WriteError(w, failed.err)
	case err != nil:
		h.refuse(w, bodyStatus(err), "cannot take the body: "+err.Error())
	case s.bad.count > 0 && req.Header.Get("Stream-Mode") != "1":
		h.refuse(w, http.StatusBadRequest, s.bad.message())
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

// setArguments reads the URL of a write.
func (s *session) setArguments(req *http.Request) (err error) {
	args := req.URL.Query()
	if s.unit, err = parsePrecision(args.Get("precision")); err != nil {
		return err
	}
	if s.added, err = parseAddedLabels(args); err != nil {
		return err
	}
	s.ctx = s.added.key()
	s.ctxHash = s.cache.hashContext(s.ctx)
	s.now = time.Now().UnixMilli()
	return nil
}

// bodyStatus is the status for a body that cannot be read or decoded. A body
// too long as sent is 413, on which clients send smaller ones; one whose content
// is too long may be a bomb and is not worth another try.
func bodyStatus(err error) int {
	var limit *wire.LimitError
	if errors.As(err, &limit) && limit.Limit == wire.LimitEncoded {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}

func (h *Handler) session() *session {
	s, _ := h.sessions.Get().(*session)
	if s == nil {
		s = new(session)
	}
	s.request = request{store: h.store, cache: h.cache, opts: &h.opts}
	return s
}

// release keeps a session for another request, unless it grew large.
func (h *Handler) release(s *session) {
	s.request = request{}
	clear(s.samples[:cap(s.samples)])
	clear(s.series[:cap(s.series)])
	if cap(s.buf) <= maxPooledBuffer {
		h.sessions.Put(s)
	}
}

// errorBody is an error as clients of InfluxDB 1 and 2 look for it.
type errorBody struct {
	Error   string `json:"error"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

func (h *Handler) refuse(w http.ResponseWriter, status int, message string) {
	h.stats.refused.Add(1)
	writeError(w, status, message)
}

func writeError(w http.ResponseWriter, status int, message string) {
	code := "invalid"
	switch status {
	case http.StatusRequestEntityTooLarge:
		code = "request too large"
	case http.StatusTooManyRequests:
		code = "too many requests"
	case http.StatusServiceUnavailable:
		code = "unavailable"
	case http.StatusMethodNotAllowed:
		code = "method not allowed"
	}
	writeJSON(w, status, errorBody{Error: message, Code: code, Message: message})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic("influx: " + err.Error()) // strings and numbers always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // the client may be gone
}

// writeStoreError is the default of Options.WriteError.
func writeStoreError(w http.ResponseWriter, err error) {
	status := http.StatusServiceUnavailable
	var overload *tsdb.OverloadError
	if errors.As(err, &overload) {
		seconds := max(1, int(math.Ceil(overload.RetryAfter.Seconds())))
		w.Header().Set("Retry-After", strconv.Itoa(seconds))
		if overload.TooMany {
			status = http.StatusTooManyRequests
		}
	}
	writeError(w, status, err.Error())
}

// Stats counts what a handler did since it was made.
type Stats struct {
	Requests uint64 // to the write paths
	Refused  uint64 // of them, those not answered 204
	Lines    uint64 // taken
	BadLines uint64
	Samples  uint64 // of the lines taken, also if their batch was refused afterwards

	CacheBytes int64 // of the young generation, about
	CacheRows  int
}

// Stats returns the counts at this moment.
func (h *Handler) Stats() Stats {
	s := Stats{
		Requests: h.stats.requests.Load(),
		Refused:  h.stats.refused.Load(),
		Lines:    h.stats.lines.Load(),
		BadLines: h.stats.badLines.Load(),
		Samples:  h.stats.samples.Load(),
	}
	s.CacheBytes, s.CacheRows = h.cache.size()
	return s
}
