package remote

import (
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// meter counts and times the requests of each route.
type meter struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMeter(reg prometheus.Registerer) *meter {
	m := &meter{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "varve_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"handler", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "varve_http_request_duration_seconds", Help: "Time to answer a request, by route.",
			Buckets:                     prometheus.DefBuckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
		}, []string{"handler"}),
	}
	reg.MustRegister(m.requests, m.duration)
	return m
}

// instrument counts and times what h answers. It is what promhttp does, but looks the
// route's metrics up once and not for each request.
func (m *meter) instrument(route string, h http.Handler) http.Handler {
	r := &measured{meter: m, route: route, next: h}
	r.duration = sync.OnceValue(func() prometheus.Observer { return m.duration.WithLabelValues(route) })
	return r
}

// measured is the handler of a route.
type measured struct {
	meter    *meter
	route    string
	next     http.Handler
	duration func() prometheus.Observer
	fine     atomic.Pointer[prometheus.Counter] // of answers with status 200, as soon as there was one
}

// ServeHTTP implements http.Handler.
func (m *measured) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a := answer{ResponseWriter: w, code: http.StatusOK}
	m.next.ServeHTTP(&a, r)
	m.counter(a.code).Inc()
	m.duration().Observe(time.Since(began).Seconds())
}

func (m *measured) counter(code int) prometheus.Counter {
	if c := m.fine.Load(); c != nil && code == http.StatusOK {
		return *c
	}
	c := m.meter.requests.WithLabelValues(m.route, strconv.Itoa(code))
	if code == http.StatusOK {
		m.fine.Store(&c)
	}
	return c
}

// answer is an http.ResponseWriter that knows its status.
type answer struct {
	http.ResponseWriter
	code  int
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(code int) {
	if !a.begun && code >= http.StatusOK { // others come before the answer
		a.code, a.begun = code, true
	}
	a.ResponseWriter.WriteHeader(code)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	a.begun = true
	return a.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (a *answer) Flush() {
	a.begun = true
	_ = http.NewResponseController(a.ResponseWriter).Flush() // there is nobody to tell
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
