package read_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/read"
)

const (
	sampled  = prompb.ReadRequest_SAMPLES
	streamed = prompb.ReadRequest_STREAMED_XOR_CHUNKS
)

// The kinds of samples, by their numbers in package tsdb.
const (
	kindFloat          = 1
	kindHistogram      = 2
	kindFloatHistogram = 3
)

func eq(name, value string) *prompb.LabelMatcher {
	return &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: name, Value: value}
}

func ask(mint, maxt int64, ms ...*prompb.LabelMatcher) *prompb.Query {
	return &prompb.Query{StartTimestampMs: mint, EndTimestampMs: maxt, Matchers: ms}
}

func encodeRequest(t testing.TB, accepted []prompb.ReadRequest_ResponseType, queries ...*prompb.Query) []byte {
	raw, err := proto.Marshal(&prompb.ReadRequest{Queries: queries, AcceptedResponseTypes: accepted})
	require.NoError(t, err)
	return snappy.Encode(nil, raw)
}

func post(h http.Handler, body []byte) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodPost, "/api/v1/read", bytes.NewReader(body)))
	return rec
}

// point is a sample as a client sees it.
type point struct {
	t, st int64
	v     uint64 // bits of the float, or of the histogram's sum
	h     string // text of the histogram
}

// points of one series, with its labels.
type series struct {
	labels string
	points []point
}

func labelString(pbs []prompb.Label) string {
	b := labels.NewScratchBuilder(len(pbs))
	return (&prompb.TimeSeries{Labels: pbs}).ToLabels(&b, nil).String()
}

// readSampled decodes as Prometheus' client does.
func readSampled(t testing.TB, rec *httptest.ResponseRecorder) [][]series {
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	require.Equal(t, "application/x-protobuf", rec.Header().Get("Content-Type"))
	require.Equal(t, "snappy", rec.Header().Get("Content-Encoding"))
	raw, err := snappy.Decode(nil, rec.Body.Bytes())
	require.NoError(t, err)
	var resp prompb.ReadResponse
	require.NoError(t, proto.Unmarshal(raw, &resp))
	var out [][]series
	for _, res := range resp.Results {
		var all []series
		for _, ts := range res.Timeseries {
			s := series{labels: labelString(ts.Labels)}
			for _, p := range ts.Samples {
				s.points = append(s.points, point{t: p.Timestamp, v: math.Float64bits(p.Value)})
			}
			for _, h := range ts.Histograms {
				text := ""
				if h.IsFloatHistogram() {
					text = h.ToFloatHistogram().String()
				} else {
					text = h.ToIntHistogram().String()
				}
				s.points = append(s.points, point{t: h.Timestamp, v: math.Float64bits(h.Sum), h: text})
			}
			all = append(all, s)
		}
		out = append(out, all)
	}
	return out
}

// frame is a message of a stream with its size on the wire.
type frame struct {
	prompb.ChunkedReadResponse
	size int
}

func readFrames(t testing.TB, body []byte) []frame {
	r := bytes.NewReader(body)
	var out []frame
	for r.Len() > 0 {
		size, err := binary.ReadUvarint(r)
		require.NoError(t, err)
		var sum [4]byte
		_, err = io.ReadFull(r, sum[:])
		require.NoError(t, err)
		msg := make([]byte, size)
		_, err = io.ReadFull(r, msg)
		require.NoError(t, err)
		require.Equal(t, crc32.Checksum(msg, crc32.MakeTable(crc32.Castagnoli)), binary.BigEndian.Uint32(sum[:]))
		f := frame{size: int(size)}
		require.NoError(t, proto.Unmarshal(msg, &f.ChunkedReadResponse))
		require.Len(t, f.ChunkedSeries, 1)
		out = append(out, f)
	}
	return out
}

// readStreamed decodes a stream and checks the rules of the protocol: one
// series never resumed, chunks in order and true to their bounds.
func readStreamed(t testing.TB, rec *httptest.ResponseRecorder, queries int) [][]series {
	require.Equal(t, http.StatusOK, rec.Code, rec.Body.String())
	require.Equal(t, "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse", rec.Header().Get("Content-Type"))
	require.Empty(t, rec.Header().Get("Content-Encoding"))
	out := make([][]series, queries)
	seen := map[string]bool{}
	query := int64(0)
	for _, f := range readFrames(t, rec.Body.Bytes()) {
		require.GreaterOrEqual(t, f.QueryIndex, query)
		if f.QueryIndex > query {
			query, seen = f.QueryIndex, map[string]bool{}
		}
		all := &out[query]
		name := labelString(f.ChunkedSeries[0].Labels)
		if n := len(*all); n == 0 || (*all)[n-1].labels != name {
			require.False(t, seen[name], "series %s is resumed", name)
			seen[name] = true
			*all = append(*all, series{labels: name})
		}
		s := &(*all)[len(*all)-1]
		before := len(s.points)
		for _, c := range f.ChunkedSeries[0].Chunks {
			s.points = append(s.points, readChunk(t, c)...)
		}
		for i := max(1, before); i < len(s.points); i++ {
			if s.points[i].t <= s.points[i-1].t {
				require.FailNow(t, "out of order", "%s: %d after %d", name, s.points[i].t, s.points[i-1].t)
			}
		}
	}
	return out
}

func readChunk(t testing.TB, c prompb.Chunk) (out []point) {
	chk, err := chunkenc.FromData(chunkenc.Encoding(c.Type), c.Data)
	require.NoError(t, err)
	require.LessOrEqual(t, chk.NumSamples(), 120)
	it := chk.Iterator(nil)
	for typ := it.Next(); typ != chunkenc.ValNone; typ = it.Next() {
		p := point{t: it.AtT(), st: it.AtST()}
		switch typ {
		case chunkenc.ValFloat:
			_, v := it.At()
			p.v = math.Float64bits(v)
		case chunkenc.ValHistogram:
			_, h := it.AtHistogram(nil)
			p.v, p.h = math.Float64bits(h.Sum), h.String()
		case chunkenc.ValFloatHistogram:
			_, h := it.AtFloatHistogram(nil)
			p.v, p.h = math.Float64bits(h.Sum), h.String()
		}
		out = append(out, p)
	}
	require.NoError(t, it.Err())
	require.Equal(t, c.MinTimeMs, out[0].t)
	require.Equal(t, c.MaxTimeMs, out[len(out)-1].t)
	return out
}

// fetch asks in one response type and decodes the answer.
func fetch(t testing.TB, h *read.Handler, typ prompb.ReadRequest_ResponseType, queries ...*prompb.Query) [][]series {
	rec := post(h, encodeRequest(t, []prompb.ReadRequest_ResponseType{typ}, queries...))
	if typ == streamed {
		return readStreamed(t, rec, len(queries))
	}
	return readSampled(t, rec)
}
