package apidiff

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api/apitest"
)

// BenchmarkEncode compares the time for the answer of a query that costs nothing
// itself: 100 series of 360 points, or one sample of each of 36,000.
func BenchmarkEncode(b *testing.B) {
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(b, err)
	s, c := apitest.Data(), &canned{Engine: engine}
	servers := []struct {
		name string
		http.Handler
	}{{"prometheus", prometheusAPI(c, s)}, {"varve", varveAPI(b, c, s)}}
	r := rand.New(rand.NewPCG(1, 2))
	for _, value := range []struct {
		name string
		make func() parser.Value
	}{
		{"integers", func() parser.Value { return matrix(func() float64 { return float64(r.IntN(100)) }) }},
		{"counters", func() parser.Value { return matrix(func() float64 { return float64(r.Int64N(1e12)) }) }},
		{"decimals", func() parser.Value { return matrix(func() float64 { return float64(r.IntN(10000)) / 100 }) }},
		{"doubles", func() parser.Value { return matrix(func() float64 { return float64(r.IntN(1e6)) / 3600 }) }},
		{"vector", func() parser.Value { return vector(func() float64 { return float64(r.IntN(10000)) / 100 }) }},
	} {
		c.value = value.make()
		for _, server := range servers {
			b.Run(value.name+"/"+server.name, func(b *testing.B) {
				req, err := http.NewRequest("GET", "/api/v1/query?query=x&time=1", nil)
				require.NoError(b, err)
				b.ReportAllocs()
				for b.Loop() {
					server.ServeHTTP(discard{http.Header{}}, req)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/36_000, "ns/point")
			})
		}
	}
}

// discard is the client that reads everything and keeps nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func host(i int) labels.Labels {
	return labels.FromStrings("__name__", "cpu_usage_user", "arch", "x86", "datacenter", "eu-central-1a", "hostname", "host_"+strconv.Itoa(i),
		"os", "Ubuntu16.04LTS", "rack", "54", "region", "eu-central-1", "service", "9", "service_environment", "test", "service_version", "0", "team", "LON")
}

func matrix(value func() float64) parser.Value {
	m := promql.Matrix{}
	for i := range 100 {
		s := promql.Series{Metric: host(i)}
		for j := range 360 {
			s.Floats = append(s.Floats, promql.FPoint{T: apitest.Base + int64(j)*10_000, F: value()})
		}
		m = append(m, s)
	}
	return m
}

func vector(value func() float64) parser.Value {
	v := promql.Vector{}
	for i := range 36_000 {
		v = append(v, promql.Sample{Metric: host(i), T: apitest.Base, F: value()})
	}
	return v
}
