package wire

import (
	"fmt"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

const benchSeries = 2000

func benchLabels(i int) labels.Labels {
	return labels.FromStrings("__name__", fmt.Sprintf("http_requests_%d_total", i%50), "cluster", "eu-west-1a",
		"code", "200", "handler", "/api/v1/query_range", "instance", fmt.Sprintf("10.0.%d.%d:9090", i/250, i%250),
		"job", "node-exporter", "method", "GET", "pod", fmt.Sprintf("node-exporter-%05d", i))
}

func benchV1(tb testing.TB, n int) []byte {
	var req prompb.WriteRequest
	for i := range n {
		req.Timeseries = append(req.Timeseries, prompb.TimeSeries{
			Labels:  prompb.FromLabels(benchLabels(i), nil),
			Samples: []prompb.Sample{{Value: float64(i) + 0.5, Timestamp: 1_790_000_000_000}},
		})
	}
	msg, err := req.Marshal()
	require.NoError(tb, err)
	return msg
}

func benchV2(tb testing.TB, n int) []byte {
	symbols := writev2.NewSymbolTable()
	var req writev2.Request
	for i := range n {
		req.Timeseries = append(req.Timeseries, writev2.TimeSeries{
			LabelsRefs: symbols.SymbolizeLabels(benchLabels(i), nil),
			Samples:    []writev2.Sample{{Value: float64(i) + 0.5, Timestamp: 1_790_000_000_000}},
		})
	}
	req.Symbols = symbols.Symbols()
	msg, err := req.Marshal()
	require.NoError(tb, err)
	return msg
}

func walkV1(msg []byte, ts *V1Series) (sum float64) {
	r := NewV1Request(msg)
	for r.Next() {
		if ts.Split(r.Data()) != nil {
			return -1
		}
		for s := ts.Samples(); s.Next(); {
			sum += s.Value + float64(len(ts.Labels))
		}
	}
	return sum
}

func walkV2(msg []byte, r *V2Request, ts *V2Series) (sum float64) {
	if r.Reset(msg, 1<<20) != nil {
		return -1
	}
	for r.Next() {
		if ts.Split(r.Data()) != nil {
			return -1
		}
		for s := ts.Samples(); s.Next(); {
			sum += s.Value + float64(len(ts.Refs))
		}
	}
	return sum
}

func BenchmarkWalk(b *testing.B) {
	v1, v2 := benchV1(b, benchSeries), benchV2(b, benchSeries)
	perSample := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchSeries, "ns/sample")
	}
	b.Run("v1", func(b *testing.B) {
		var ts V1Series
		for b.Loop() {
			walkV1(v1, &ts)
		}
		perSample(b)
	})
	b.Run("v2", func(b *testing.B) {
		var r V2Request
		var ts V2Series
		for b.Loop() {
			walkV2(v2, &r, &ts)
		}
		perSample(b)
	})
	b.Run("v1-generated", func(b *testing.B) {
		for b.Loop() {
			var req prompb.WriteRequest
			require.NoError(b, req.Unmarshal(v1))
		}
		perSample(b)
	})
}

// BenchmarkSnappy compares the two decoders of snappy blocks.
func BenchmarkSnappy(b *testing.B) {
	block := snappy.Encode(nil, benchV1(b, benchSeries))
	b.Run("s2", func(b *testing.B) {
		var dst []byte
		for b.Loop() {
			dst, _ = s2.Decode(dst[:cap(dst)], block)
		}
		b.SetBytes(int64(len(dst)))
	})
	b.Run("snappy", func(b *testing.B) {
		var dst []byte
		for b.Loop() {
			dst, _ = snappy.Decode(dst[:cap(dst)], block)
		}
		b.SetBytes(int64(len(dst)))
	})
}
