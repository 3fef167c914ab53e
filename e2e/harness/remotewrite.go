package harness

import (
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

// The content types of the two versions of remote write.
const (
	ContentTypeV1 = "application/x-protobuf"
	ContentTypeV2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
)

// PB makes protobuf labels of pairs, in the order given.
func PB(pairs ...string) []prompb.Label {
	out := make([]prompb.Label, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, prompb.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

// PBLabels makes protobuf labels of a label set.
func PBLabels(ls labels.Labels) []prompb.Label { return prompb.FromLabels(ls, nil) }

// EncodeV1 returns the snappy block of a remote write 1.0 request.
func EncodeV1(t testing.TB, req *prompb.WriteRequest) []byte {
	raw, err := MarshalV1(req)
	require.NoError(t, err)
	return snappy.Encode(nil, raw)
}

// EncodeV2 returns the snappy block of a remote write 2.0 request.
func EncodeV2(t testing.TB, req *writev2.Request) []byte {
	raw, err := MarshalV2(req)
	require.NoError(t, err)
	return snappy.Encode(nil, raw)
}

// WriteV1 sends series by remote write 1.0.
func (c Client) WriteV1(t testing.TB, series ...prompb.TimeSeries) Response {
	t.Helper()
	return c.PostV1(t, EncodeV1(t, &prompb.WriteRequest{Timeseries: series}))
}

// PostV1 sends a snappy block with the headers of remote write 1.0.
func (c Client) PostV1(t testing.TB, block []byte) Response {
	t.Helper()
	return c.Do(t, "POST", "/api/v1/write", block, "Content-Type", ContentTypeV1,
		"Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "0.1.0")
}

// PostV2 sends a snappy block with the headers of remote write 2.0.
func (c Client) PostV2(t testing.TB, block []byte) Response {
	t.Helper()
	return c.Do(t, "POST", "/api/v1/write", block, "Content-Type", ContentTypeV2,
		"Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "2.0.0")
}

// V2 turns series of 1.0 with float samples into a request of 2.0.
func V2(series ...prompb.TimeSeries) *writev2.Request {
	symbols := writev2.NewSymbolTable()
	req := &writev2.Request{}
	for _, s := range series {
		out := writev2.TimeSeries{}
		for _, l := range s.Labels {
			out.LabelsRefs = append(out.LabelsRefs, symbols.Symbolize(l.Name), symbols.Symbolize(l.Value))
		}
		for _, x := range s.Samples {
			out.Samples = append(out.Samples, writev2.Sample{Timestamp: x.Timestamp, Value: x.Value})
		}
		req.Timeseries = append(req.Timeseries, out)
	}
	req.Symbols = symbols.Symbols()
	return req
}
