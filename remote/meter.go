package remote

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
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

func (m *meter) instrument(route string, h http.Handler) http.Handler {
	label := prometheus.Labels{"handler": route}
	return promhttp.InstrumentHandlerDuration(m.duration.MustCurryWith(label),
		promhttp.InstrumentHandlerCounter(m.requests.MustCurryWith(label), h))
}
