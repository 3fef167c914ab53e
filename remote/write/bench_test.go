package write

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// sink is a store that costs next to nothing: it counts.
type sink struct {
	n      int
	sum    float64
	series map[string]tsdb.Series
}

func (s *sink) Series(lset labels.Labels) (tsdb.Series, error) {
	if s.series == nil {
		s.series = map[string]tsdb.Series{}
	}
	name := string(lset.Bytes(nil))
	if s.series[name] == 0 {
		s.series[name] = tsdb.Series(len(s.series) + 1)
	}
	return s.series[name], nil
}

func (s *sink) Live(tsdb.Series) bool { return true }

func (s *sink) Float(_ tsdb.Series, _, t int64, v float64) error {
	s.n++
	s.sum += v + float64(t)
	return nil
}
func (s *sink) Histogram(tsdb.Series, int64, int64, *histogram.Histogram) error { return nil }
func (s *sink) FloatHistogram(tsdb.Series, int64, int64, *histogram.FloatHistogram) error {
	return nil
}
func (s *sink) Exemplar(tsdb.Series, exemplar.Exemplar) error { return nil }
func (s *sink) Metadata(string, metadata.Metadata) error      { return nil }
func (s *sink) Commit(context.Context) error                  { return nil }
func (s *sink) Discard()                                      {}

func benchLabels(i int) labels.Labels {
	return labels.FromStrings("__name__", fmt.Sprintf("http_requests_%d_total", i%50), "cluster", "eu-west-1a",
		"code", "200", "handler", "/api/v1/query_range", "instance", fmt.Sprintf("10.0.%d.%d:9090", i/250, i%250),
		"job", "node-exporter", "method", "GET", "pod", fmt.Sprintf("node-exporter-%05d", i))
}

func benchV1(n, samples int) *prompb.WriteRequest {
	var req prompb.WriteRequest
	for i := range n {
		ts := prompb.TimeSeries{Labels: prompb.FromLabels(benchLabels(i), nil)}
		for j := range samples {
			ts.Samples = append(ts.Samples, prompb.Sample{Value: float64(i) + 0.5, Timestamp: modelNow + int64(j)*15_000})
		}
		req.Timeseries = append(req.Timeseries, ts)
	}
	return &req
}

func benchV2(n, samples int) *writev2.Request {
	symbols := writev2.NewSymbolTable()
	var req writev2.Request
	for i := range n {
		ts := writev2.TimeSeries{
			LabelsRefs: symbols.SymbolizeLabels(benchLabels(i), nil),
			Metadata:   writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, HelpRef: symbols.Symbolize("Requests served.")},
		}
		for j := range samples {
			ts.Samples = append(ts.Samples, writev2.Sample{Value: float64(i) + 0.5, Timestamp: modelNow + int64(j)*15_000})
		}
		req.Timeseries = append(req.Timeseries, ts)
	}
	req.Symbols = symbols.Symbols()
	return &req
}

// store walks a message into a batch and commits it.
func (h *Handler) store(ctx context.Context, req *request, v version, msg []byte) (written, error) {
	req.reset(h.newBatch(), v)
	return h.commit(ctx, req, h.walk(req, msg))
}

// TestSteadyStateAllocatesNothing: requests of known series cost no allocation,
// however many series and samples they have (R5).
func TestSteadyStateAllocatesNothing(t *testing.T) {
	s := new(sink)
	h := newHandler(func() batch { return s }, Options{})
	req := newRequest(h)
	v1, v2 := marshal(t, benchV1(500, 3)), marshal(t, benchV2(500, 3))
	f := func(v version, msg []byte) {
		t.Helper()
		run := func() {
			done, err := h.store(context.Background(), req, v, msg)
			if err != nil || done.samples != 1500 {
				t.Errorf("stored %d samples: %v", done.samples, err)
			}
		}
		run()
		require.Zero(t, testing.AllocsPerRun(50, run))
	}
	f(version1, v1)
	f(version2, v2)
	require.EqualValues(t, 1000, h.Stats().CacheMisses)
}

// BenchmarkStore measures walking a decompressed message into a batch.
func BenchmarkStore(b *testing.B) {
	const series = 2000
	for _, samples := range []int{1, 10} {
		f := func(name string, v version, msg []byte) {
			b.Run(fmt.Sprintf("%s/samples=%d", name, samples), func(b *testing.B) {
				s := new(sink)
				h := newHandler(func() batch { return s }, Options{})
				req := newRequest(h)
				b.ReportAllocs()
				for b.Loop() {
					if _, err := h.store(context.Background(), req, v, msg); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(series*samples), "ns/sample")
			})
		}
		f("v1", version1, marshal(b, benchV1(series, samples)))
		f("v2", version2, marshal(b, benchV2(series, samples)))
	}
}

// BenchmarkManySeries is BenchmarkStore for 50,000 series in messages of 2000
// samples, one each, which processor caches do not hold.
func BenchmarkManySeries(b *testing.B) {
	const series, perMessage = 50_000, 2000
	f := func(name string, v version, messages [][]byte) {
		b.Run(name, func(b *testing.B) {
			s := new(sink)
			h := newHandler(func() batch { return s }, Options{})
			req := newRequest(h)
			for b.Loop() {
				for _, msg := range messages {
					if _, err := h.store(context.Background(), req, v, msg); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
		})
	}
	all1, all2 := benchV1(series, 1).Timeseries, benchV2(series, 1)
	var v1, v2 [][]byte
	for i := 0; i < series; i += perMessage {
		v1 = append(v1, marshal(b, &prompb.WriteRequest{Timeseries: all1[i : i+perMessage]}))
		v2 = append(v2, marshal(b, onlySeries(all2, i, i+perMessage)))
	}
	f("v1", version1, v1)
	f("v2", version2, v2)
}

// onlySeries returns a request with some series of req and the symbols that they
// need.
func onlySeries(req *writev2.Request, from, to int) *writev2.Request {
	symbols := writev2.NewSymbolTable()
	out := &writev2.Request{}
	for _, ts := range req.Timeseries[from:to] {
		refs := make([]uint32, 0, len(ts.LabelsRefs))
		for _, ref := range ts.LabelsRefs {
			refs = append(refs, symbols.Symbolize(req.Symbols[ref]))
		}
		ts.LabelsRefs = refs
		ts.Metadata.HelpRef = symbols.Symbolize(req.Symbols[ts.Metadata.HelpRef])
		out.Timeseries = append(out.Timeseries, ts)
	}
	out.Symbols = symbols.Symbols()
	return out
}

// BenchmarkRequest measures whole requests: headers, snappy, message.
func BenchmarkRequest(b *testing.B) {
	const series = 2000
	f := func(name, contentType string, msg []byte) {
		b.Run(name, func(b *testing.B) {
			s := new(sink)
			h := newHandler(func() batch { return s }, Options{})
			block := snappy.Encode(nil, msg)
			b.ReportAllocs()
			for b.Loop() {
				if w := post(h, contentType, "snappy", block); w.Code != 204 {
					b.Fatal(w.Code)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
		})
	}
	f("v1", typeV1, marshal(b, benchV1(series, 1)))
	f("v2", typeV2, marshal(b, benchV2(series, 1)))
}

// BenchmarkColdSeries measures requests of series that are not in the cache.
func BenchmarkColdSeries(b *testing.B) {
	const series = 2000
	msg := marshal(b, benchV1(series, 1))
	s := new(sink)
	h := newHandler(func() batch { return s }, Options{})
	req := newRequest(h)
	for b.Loop() {
		h.series.reset()
		if _, err := h.store(context.Background(), req, version1, msg); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/series")
}

// BenchmarkAppend measures messages of 2000 known series, one sample each, into
// a real store: decoded, logged, in the head.
func BenchmarkAppend(b *testing.B) {
	const series = 2000
	f := func(name string, v version, message func(t int64) []byte) {
		b.Run(name, func(b *testing.B) {
			db, err := tsdb.Open(b.TempDir(), tsdb.Options{Sync: tsdb.SyncOff(), FlushBytes: 1 << 30})
			require.NoError(b, err)
			defer db.Close()
			h := New(db, Options{})
			req := newRequest(h)
			t := time.Now().Add(-24 * time.Hour).UnixMilli()
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				t += 1000
				msg := message(t)
				b.StartTimer()
				if _, err := h.store(context.Background(), req, v, msg); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
		})
	}
	v1, v2 := benchV1(series, 1), benchV2(series, 1)
	f("v1", version1, func(t int64) []byte {
		for i := range v1.Timeseries {
			v1.Timeseries[i].Samples[0].Timestamp = t
		}
		return marshal(b, v1)
	})
	f("v2", version2, func(t int64) []byte {
		for i := range v2.Timeseries {
			v2.Timeseries[i].Samples[0].Timestamp = t
		}
		return marshal(b, v2)
	})
}
