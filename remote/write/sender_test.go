package write

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"
)

const (
	typeV1 = "application/x-protobuf;proto=prometheus.WriteRequest"
	typeV2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
)

// post sends a body as it is.
func post(h http.Handler, contentType, encoding string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/write", bytes.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func marshal(t testing.TB, m interface{ Marshal() ([]byte, error) }) []byte {
	msg, err := m.Marshal()
	require.NoError(t, err)
	return msg
}

func postV1(t testing.TB, h http.Handler, req *prompb.WriteRequest) *httptest.ResponseRecorder {
	return post(h, "application/x-protobuf", "snappy", snappy.Encode(nil, marshal(t, req)))
}

func postV2(t testing.TB, h http.Handler, req *writev2.Request) *httptest.ResponseRecorder {
	return post(h, typeV2, "snappy", snappy.Encode(nil, marshal(t, req)))
}

// pairs are labels name, value, name, value, in the order given.
func pairs(ss ...string) (out []prompb.Label) {
	for i := 0; i < len(ss); i += 2 {
		out = append(out, prompb.Label{Name: ss[i], Value: ss[i+1]})
	}
	return out
}

// seriesV1 is a series named name with samples at modelNow + 0, 1, 2... ms.
func seriesV1(name string, values ...float64) prompb.TimeSeries {
	return labelledV1(pairs("__name__", name), values...)
}

func labelledV1(ls []prompb.Label, values ...float64) prompb.TimeSeries {
	ts := prompb.TimeSeries{Labels: ls}
	for i, v := range values {
		ts.Samples = append(ts.Samples, prompb.Sample{Value: v, Timestamp: modelNow + int64(i)})
	}
	return ts
}

func v1(ts ...prompb.TimeSeries) *prompb.WriteRequest { return &prompb.WriteRequest{Timeseries: ts} }

// builderV2 makes 2.0 requests.
type builderV2 struct {
	table writev2.SymbolsTable
	req   writev2.Request
}

func newV2() *builderV2 { return &builderV2{table: writev2.NewSymbolTable()} }

func (b *builderV2) series(ts writev2.TimeSeries, ss ...string) *builderV2 {
	ts.LabelsRefs = b.table.SymbolizeLabels(labels.FromStrings(ss...), nil)
	b.req.Timeseries = append(b.req.Timeseries, ts)
	return b
}

func (b *builderV2) build() *writev2.Request {
	b.req.Symbols = b.table.Symbols()
	return &b.req
}

func one(t int64, v float64) []writev2.Sample { return []writev2.Sample{{Timestamp: t, Value: v}} }

func body(w *httptest.ResponseRecorder) string {
	b, _ := io.ReadAll(w.Body)
	return string(bytes.TrimSuffix(b, []byte("\n")))
}

func writtenHeaders(w *httptest.ResponseRecorder) [3]string {
	h := w.Header()
	return [3]string{h.Get("X-Prometheus-Remote-Write-Samples-Written"),
		h.Get("X-Prometheus-Remote-Write-Histograms-Written"), h.Get("X-Prometheus-Remote-Write-Exemplars-Written")}
}
