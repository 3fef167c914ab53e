package harness

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"
)

// The two forms of a remote read answer.
const (
	Sampled  = prompb.ReadRequest_SAMPLES
	Streamed = prompb.ReadRequest_STREAMED_XOR_CHUNKS
)

const maxReadFrame = 64 << 20

// RemotePoint is a sample that came by remote read.
type RemotePoint struct {
	T, ST int64
	V     float64
	H     *histogram.FloatHistogram
}

// RemoteSeries is a series that came by remote read; Names are its label names
// in the order on the wire.
type RemoteSeries struct {
	Labels labels.Labels
	Names  []string
	Points []RemotePoint
}

// EncodeRead returns the snappy block of a remote read request.
func EncodeRead(t testing.TB, mint, maxt int64, accepted []prompb.ReadRequest_ResponseType, matchers ...*prompb.LabelMatcher) []byte {
	raw, err := proto.Marshal(&prompb.ReadRequest{
		Queries:               []*prompb.Query{{StartTimestampMs: mint, EndTimestampMs: maxt, Matchers: matchers}},
		AcceptedResponseTypes: accepted,
	})
	require.NoError(t, err)
	return snappy.Encode(nil, raw)
}

// PostRead sends a snappy block with the headers of remote read.
func (c Client) PostRead(t testing.TB, block []byte) Response {
	t.Helper()
	return c.Do(t, http.MethodPost, "/api/v1/read", block, "Content-Type", "application/x-protobuf",
		"Content-Encoding", "snappy", "X-Prometheus-Remote-Read-Version", "0.1.0")
}

// RemoteRead reads the series that satisfy the matchers, in one of the forms.
func (c Client) RemoteRead(t testing.TB, form prompb.ReadRequest_ResponseType, mint, maxt int64, matchers ...*prompb.LabelMatcher) []RemoteSeries {
	t.Helper()
	resp := c.PostRead(t, EncodeRead(t, mint, maxt, []prompb.ReadRequest_ResponseType{form}, matchers...))
	resp.Require(t, http.StatusOK)
	if form == Streamed {
		return DecodeStreamed(t, resp)
	}
	return DecodeSampled(t, resp)
}

// DecodeSampled decodes an answer in the sampled form. It requires that each
// label set comes once.
func DecodeSampled(t testing.TB, resp Response) []RemoteSeries {
	t.Helper()
	require.Equal(t, "application/x-protobuf", resp.Header.Get("Content-Type"))
	raw, err := snappy.Decode(nil, resp.Body)
	require.NoError(t, err)
	var msg prompb.ReadResponse
	require.NoError(t, proto.Unmarshal(raw, &msg))
	require.Len(t, msg.Results, 1)
	var out []RemoteSeries
	for _, ts := range msg.Results[0].Timeseries {
		s := newRemoteSeries(t, ts.Labels)
		for _, sample := range ts.Samples {
			s.Points = append(s.Points, RemotePoint{T: sample.Timestamp, V: sample.Value})
		}
		for _, h := range ts.Histograms {
			s.Points = append(s.Points, RemotePoint{T: h.Timestamp, H: h.ToFloatHistogram()})
		}
		out = append(out, s)
	}
	requireDistinct(t, out)
	return out
}

// DecodeStreamed decodes a streamed answer. It requires that chunks of a series
// come in order of time and that no series is resumed after another one.
func DecodeStreamed(t testing.TB, resp Response) []RemoteSeries {
	t.Helper()
	require.Equal(t, "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse", resp.Header.Get("Content-Type"))
	frames := remote.NewChunkedReader(bytes.NewReader(resp.Body), maxReadFrame, nil)
	var out []RemoteSeries
	for {
		var frame prompb.ChunkedReadResponse
		err := frames.NextProto(&frame)
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		for _, cs := range frame.ChunkedSeries {
			s := newRemoteSeries(t, cs.Labels)
			if n := len(out); n > 0 && labels.Equal(out[n-1].Labels, s.Labels) {
				s, out = out[n-1], out[:n-1]
			}
			for _, chk := range cs.Chunks {
				s.Points = appendChunk(t, s.Points, chk)
			}
			out = append(out, s)
		}
	}
	requireDistinct(t, out)
	return out
}

func newRemoteSeries(t testing.TB, ls []prompb.Label) RemoteSeries {
	s := RemoteSeries{}
	b := labels.NewScratchBuilder(len(ls))
	for _, l := range ls {
		s.Names = append(s.Names, l.Name)
		b.Add(l.Name, l.Value)
	}
	require.IsIncreasing(t, append([]string{""}, s.Names...), "label names on the wire")
	s.Labels = b.Labels()
	return s
}

func requireDistinct(t testing.TB, series []RemoteSeries) {
	t.Helper()
	for i, s := range series {
		if i > 0 {
			require.Negative(t, labels.Compare(series[i-1].Labels, s.Labels), "series out of order: %s, %s", series[i-1].Labels, s.Labels)
		}
		for j := range s.Points {
			if j > 0 && (s.Points[j].H == nil) == (s.Points[j-1].H == nil) && s.Points[j].T <= s.Points[j-1].T {
				require.FailNow(t, "samples out of order", "%s: %d after %d", s.Labels, s.Points[j].T, s.Points[j-1].T)
			}
		}
	}
}

func appendChunk(t testing.TB, points []RemotePoint, chk prompb.Chunk) []RemotePoint {
	c, err := chunkenc.FromData(chunkenc.Encoding(chk.Type), chk.Data)
	require.NoError(t, err)
	it := c.Iterator(nil)
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		p := RemotePoint{ST: it.AtST()}
		switch kind {
		case chunkenc.ValFloat:
			p.T, p.V = it.At()
		default:
			p.T, p.H = it.AtFloatHistogram(nil)
		}
		if p.T < chk.MinTimeMs || p.T > chk.MaxTimeMs {
			require.FailNow(t, "sample outside of its chunk", "%d is not in %d..%d", p.T, chk.MinTimeMs, chk.MaxTimeMs)
		}
		points = append(points, p)
	}
	require.NoError(t, it.Err())
	return points
}

// Eq, Neq, Re and Nre make matchers of remote read.
func Eq(name, value string) *prompb.LabelMatcher { return matcher(prompb.LabelMatcher_EQ, name, value) }

// Neq matches when the label has another value.
func Neq(name, value string) *prompb.LabelMatcher {
	return matcher(prompb.LabelMatcher_NEQ, name, value)
}

// Re matches a regular expression.
func Re(name, value string) *prompb.LabelMatcher { return matcher(prompb.LabelMatcher_RE, name, value) }

// Nre matches when a regular expression does not.
func Nre(name, value string) *prompb.LabelMatcher {
	return matcher(prompb.LabelMatcher_NRE, name, value)
}

func matcher(kind prompb.LabelMatcher_Type, name, value string) *prompb.LabelMatcher {
	return &prompb.LabelMatcher{Type: kind, Name: name, Value: value}
}
