package apidiff

import (
	"context"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/web"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api"
	"github.com/varvedb/varve/remote/api/apitest"
)

// TestFederation compares /federate in every exposition format.
func TestFederation(t *testing.T) {
	external := labels.FromStrings("zone", "z1", "monitor", "m")
	s := federated(time.Now().UnixMilli())
	prom := prometheusServer(t, s, external)
	srv := httptest.NewServer(varveAPI(t, nil, s, func(o *api.Options) { o.ExternalLabels = external }))
	defer srv.Close()
	const proto = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding="
	for _, accept := range []string{
		"", "text/plain;version=0.0.4", "text/plain;version=1.0.0;escaping=allow-utf-8", "application/openmetrics-text;version=1.0.0",
		proto + "delimited", proto + "text", proto + "compact-text", proto + "delimited;escaping=allow-utf-8",
	} {
		for _, q := range []string{"match[]=f1", `match[]=f1&match[]={a="x"}`, `match[]={a!="zz"}`, "match[]=h", "", "match[]={", "match[]=nope", `match[]={noname="1"}`} {
			target := "/federate?" + (&url.URL{RawQuery: q}).RawQuery
			require.Equal(t, get(t, prom+target, accept), get(t, srv.URL+target, accept), "%s %s", accept, q)
		}
	}
}

func federated(now int64) *apitest.Storage {
	s := &apitest.Storage{}
	add := func(ss []string, p ...apitest.Point) { s.Add(labels.FromStrings(ss...), p...) }
	at := func(ago int64, v float64) apitest.Point { return apitest.Point{Time: now - ago, Value: v} }
	hist := func(h *histogram.FloatHistogram) apitest.Point { return apitest.Point{Time: now - 7000, Histogram: h} }
	stale := math.Float64frombits(value.StaleNaN)
	native := func(hint histogram.CounterResetHint) *histogram.FloatHistogram {
		return &histogram.FloatHistogram{
			CounterResetHint: hint, Schema: 2, ZeroThreshold: 0.001, ZeroCount: 12, Count: 21, Sum: 20.5,
			PositiveSpans: []histogram.Span{{Offset: 3, Length: 2}, {Offset: 1, Length: 3}}, PositiveBuckets: []float64{1, 2, 2, 0, 1},
			NegativeSpans: []histogram.Span{{Offset: 2, Length: 2}}, NegativeBuckets: []float64{2, 1},
		}
	}
	custom := &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 6, Sum: 9, CustomValues: []float64{1, 2.5, 3},
		PositiveSpans: []histogram.Span{{Length: 1}, {Offset: 1, Length: 2}}, PositiveBuckets: []float64{2, 1, 3},
	}
	add([]string{"__name__", "f1", "a", "x"}, at(30_000, 1))
	add([]string{"__name__", "f1", "a", "y"}, at(30_000, 2), at(10_000, stale))
	add([]string{"__name__", "f1", "a", "n"}, at(5_000, math.NaN()))
	add([]string{"__name__", "f1", "a", "old"}, at(400_000, 4))
	add([]string{"__name__", "f1", "a", "later"}, at(-100_000, 4))
	add([]string{"__name__", "f1", "a", "p", "instance", "i", "zone", "own"}, at(7000, 1e-9), at(6000, 1e21))
	add([]string{"A", "1", "__name__", "f1", "esc", "a\"\\\n"}, at(7000, 5))
	add([]string{"__name__", "my.métric", "host.name", "h"}, at(7000, 5))
	add([]string{"noname", "1"}, at(7000, 5))
	add([]string{"__name__", "h", "a", "1"}, hist(native(histogram.UnknownCounterReset)))
	add([]string{"__name__", "h", "a", "2"}, hist(native(histogram.GaugeType)))
	add([]string{"__name__", "h", "a", "3"}, at(7000, 3))
	add([]string{"__name__", "h", "a", "4"}, at(8000, 3), hist(custom))
	add([]string{"__name__", "h", "a", "5"}, hist(&histogram.FloatHistogram{Sum: stale}))
	add([]string{"__name__", "nhcb"}, hist(custom))
	return s
}

// localStorage is what Prometheus' server takes for its own TSDB.
type localStorage struct {
	storage.Storage // nil: only queriers are asked for
	nothing
	samples *apitest.Storage
}

func (l localStorage) Querier(mint, maxt int64) (storage.Querier, error) {
	return l.samples.Querier(mint, maxt)
}

// prometheusServer starts Prometheus' web server and returns its address.
func prometheusServer(t *testing.T, s *apitest.Storage, external labels.Labels) string {
	t.Helper()
	local := localStorage{samples: s}
	h := web.New(nil, &web.Options{
		ListenAddresses: []string{"127.0.0.1:0"}, ExternalURL: &url.URL{Scheme: "http", Host: "localhost"}, RoutePrefix: "/",
		MaxConnections: 10, LookbackDelta: 5 * time.Minute, LocalStorage: local, Storage: local, ExemplarStorage: s,
		Gatherer: prometheus.NewRegistry(), Registerer: prometheus.NewRegistry(), Parser: parser.NewParser(parser.Options{}),
		CORSOrigin: regexp.MustCompile("^(?:.*)$"), Flags: flags(),
	})
	require.NoError(t, h.ApplyConfig(&config.Config{GlobalConfig: config.GlobalConfig{ExternalLabels: external}}))
	h.SetReady(web.Ready)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = h.Run(ctx, []net.Listener{l}, "") }()
	t.Cleanup(func() { cancel(); <-done })
	return "http://" + l.Addr().String()
}

func get(t *testing.T, url, accept string) string {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, http.NoBody)
	require.NoError(t, err)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return apitest.Answer(res.StatusCode, res.Header, string(b))
}
