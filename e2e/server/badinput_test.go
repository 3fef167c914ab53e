package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// badInput is one bad request.
type badInput struct {
	name    string
	send    func(t *testing.T, v *harness.Varve) harness.Response
	status  []int  // the allowed ones
	culprit string // a regular expression that the answer holds
	good    string // a series that is stored all the same
}

var badRequest = []int{http.StatusBadRequest}

// badTime is a second of the past at which bad requests write.
func badTime() int64 { return scriptTime() * 1000 }

func v1(series ...prompb.TimeSeries) func(*testing.T, *harness.Varve) harness.Response {
	return func(t *testing.T, v *harness.Varve) harness.Response { return v.WriteV1(t, series...) }
}

func v2(req *writev2.Request) func(*testing.T, *harness.Varve) harness.Response {
	return func(t *testing.T, v *harness.Varve) harness.Response { return v.PostV2(t, harness.EncodeV2(t, req)) }
}

func post(path string, body []byte, headers ...string) func(*testing.T, *harness.Varve) harness.Response {
	return func(t *testing.T, v *harness.Varve) harness.Response {
		return v.Do(t, http.MethodPost, path, body, headers...)
	}
}

func writeInputs() []badInput {
	now := badTime()
	block := snappy.Encode(nil, bytes.Repeat([]byte("varve"), 1000))
	good := func(name string) prompb.TimeSeries { return one(now, 1, "__name__", name) }
	proto := []string{"Content-Type", harness.ContentTypeV1, "Content-Encoding", "snappy"}
	return []badInput{
		{name: "truncated snappy", send: post("/api/v1/write", block[:len(block)/2], proto...), status: badRequest, culprit: "(?i)snappy|corrupt"},
		{name: "no snappy", send: post("/api/v1/write", []byte("hello, this is text"), proto...), status: badRequest, culprit: "(?i)snappy|corrupt|33554432"},
		{name: "no protobuf", send: post("/api/v1/write", block, proto...), status: badRequest, culprit: "(?i)field|message|wire|proto"},
		{name: "wrong content type", send: post("/api/v1/write", block, "Content-Type", "text/plain"), status: []int{http.StatusUnsupportedMediaType}, culprit: "text/plain"},
		{name: "wrong encoding", send: post("/api/v1/write", block, "Content-Type", harness.ContentTypeV1, "Content-Encoding", "br"), status: []int{http.StatusUnsupportedMediaType}, culprit: "br"},
		{name: "10 MB label value", send: v1(good("bad10_good"), one(now, 1, "__name__", "bad10", "huge", strings.Repeat("x", 10<<20))), status: badRequest, culprit: "huge", good: "bad10_good"},
		{name: "10 MB label name", send: v1(good("bad11_good"), one(now, 1, "__name__", "bad11", strings.Repeat("n", 10<<20), "x")), status: badRequest, culprit: "bad11|nnnn", good: "bad11_good"},
		{name: "600 labels", send: v1(good("bad12_good"), wide("bad12", 600)), status: badRequest, culprit: "bad12|labels", good: "bad12_good"},
		{name: "duplicate label", send: v1(good("bad13_good"), one(now, 1, "__name__", "bad13", "d", "1", "d", "2")), status: badRequest, culprit: `bad13[\s\S]*d|d[\s\S]*bad13`, good: "bad13_good"},
		{name: "duplicate name", send: v1(good("bad14_good"), one(now, 1, "__name__", "bad14", "__name__", "bad14b")), status: badRequest, culprit: "__name__", good: "bad14_good"},
		{name: "invalid UTF-8 in a value", send: v1(good("bad15_good"), one(now, 1, "__name__", "bad15", "l", "\xff\xfe")), status: badRequest, culprit: "bad15|UTF-8", good: "bad15_good"},
		{name: "invalid UTF-8 in a name", send: v1(good("bad16_good"), one(now, 1, "__name__", "bad16", "\xff", "x")), status: badRequest, culprit: "bad16|UTF-8", good: "bad16_good"},
		{name: "invalid UTF-8 in the metric", send: v1(good("bad17_good"), one(now, 1, "__name__", "bad17\xc3")), status: badRequest, culprit: "bad17|UTF-8", good: "bad17_good"},
		{name: "empty label name", send: v1(good("bad18_good"), one(now, 1, "", "x", "__name__", "bad18")), status: badRequest, culprit: "bad18|empty", good: "bad18_good"},
		{name: "no metric name", send: v1(good("bad19_good"), one(now, 1, "job", "bad19")), status: badRequest, culprit: "bad19|name", good: "bad19_good"},
		{name: "empty metric name", send: v1(good("bad20_good"), one(now, 1, "__name__", "", "job", "bad20")), status: badRequest, culprit: "bad20|name", good: "bad20_good"},
		{name: "no labels", send: v1(good("bad21_good"), one(now, 1)), status: badRequest, culprit: "label|name", good: "bad21_good"},
		{name: "the far future", send: v1(good("bad22_good"), one(now+1e12, 1, "__name__", "bad22")), status: badRequest, culprit: "bad22", good: "bad22_good"},
		{name: "the greatest time", send: v1(good("bad23_good"), one(math.MaxInt64, 1, "__name__", "bad23")), status: badRequest, culprit: "bad23", good: "bad23_good"},
		{name: "the least time", send: v1(good("bad24_good"), one(math.MinInt64, 1, "__name__", "bad24")), status: badRequest, culprit: "bad24", good: "bad24_good"},
		{name: "before 1970", send: v1(good("bad25_good"), one(-1, 1, "__name__", "bad25")), status: badRequest, culprit: "bad25", good: "bad25_good"},
		{name: "a broken histogram", send: v1(good("bad26_good"), brokenHistogram("bad26", now)), status: badRequest, culprit: "bad26", good: "bad26_good"},
		{name: "over the limit when decompressed", send: post("/api/v1/write", snappy.Encode(nil, make([]byte, 33<<20)), proto...), status: []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, culprit: "33554432"},
		{name: "over the limit as sent", send: post("/api/v1/write", make([]byte, 40<<20), proto...), status: []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, culprit: "33554432"},
	}
}

func otherInputs() []badInput {
	now := badTime()
	const text = "Content-Type"
	line := func(s string) func(*testing.T, *harness.Varve) harness.Response {
		return post("/write?precision=ms", fmt.Appendf(nil, strings.ReplaceAll(s, "NOW", "%[1]d"), now))
	}
	return []badInput{
		{name: "symbol out of range", send: v2(&writev2.Request{Symbols: []string{"", "__name__"}, Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{1, 99}, Samples: []writev2.Sample{{Timestamp: now}}}}}), status: badRequest, culprit: "99|symbol"},
		{name: "odd number of references", send: v2(&writev2.Request{Symbols: []string{"", "__name__", "x"}, Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{1, 2, 1}, Samples: []writev2.Sample{{Timestamp: now}}}}}), status: badRequest, culprit: "odd|pair|3"},
		{name: "2.0 without a name", send: v2(harness.V2(one(now, 1, "__name__", "bad32_good"), one(now, 1, "job", "bad32"))), status: badRequest, culprit: "bad32|name", good: "bad32_good"},
		{name: "2.0 duplicate label", send: v2(harness.V2(one(now, 1, "__name__", "bad33_good"), one(now, 1, "__name__", "bad33", "d", "1", "d", "2"))), status: badRequest, culprit: "bad33", good: "bad33_good"},
		{name: "a line that is none", send: line("bad40_good v=1 NOW\nbad40 what is this\nbad40_good w=1 NOW"), status: badRequest, culprit: "bad40 what is this", good: "bad40_good_w"},
		{name: "a line with 10 MB", send: line("bad41_good v=1 NOW\nbad41,t=" + strings.Repeat("x", 10<<20) + " v=1 NOW\n"), status: badRequest, culprit: "bad41|line 2", good: "bad41_good_v"},
		{name: "a line from the future", send: line("bad42_good v=1 NOW\nbad42 v=1 99999999999999\n"), status: badRequest, culprit: "bad42", good: "bad42_good_v"},
		{name: "broken gzip of lines", send: func(t *testing.T, v *harness.Varve) harness.Response {
			zipped := harness.Gzip(t, bytes.Repeat([]byte("a v=1\n"), 1000))
			return v.Do(t, http.MethodPost, "/write", zipped[:60], "Content-Encoding", "gzip")
		}, status: badRequest, culprit: "(?i)gzip|EOF|body"},
		{name: "unknown encoding of lines", send: post("/write", []byte("a v=1"), "Content-Encoding", "lzma"), status: []int{http.StatusBadRequest, http.StatusUnsupportedMediaType}, culprit: "lzma"},
		{name: "broken JSON line", send: post("/api/v1/import", []byte(`{"metric":{"__name__":"bad50"},"values":[1],"timestamps":[1`+"\n")), status: badRequest, culprit: "line 1|bad50|JSON"},
		{name: "lists of other lengths", send: post("/api/v1/import", []byte(`{"metric":{"__name__":"bad51"},"values":[1,2],"timestamps":[1]}`+"\n")), status: badRequest, culprit: "bad51|line 1"},
		{name: "bad text line", send: post("/api/v1/import/prometheus", fmt.Appendf(nil, "bad52_good 1 %d\nbad52{a=\"b 2\n", now)), status: badRequest, culprit: "bad52", good: "bad52_good"},
		{name: "bad line of a table", send: post("/api/v1/import/csv?format=1:metric:bad53_good,2:time:unix_ms", fmt.Appendf(nil, "1,%d\nbad53\n", now)), status: badRequest, culprit: "line 2.*bad53", good: "bad53_good"},
		{name: "format of a table that is none", send: post("/api/v1/import/csv?format=1:bad54:x", []byte("1\n")), status: badRequest, culprit: "format.*bad54"},
		{name: "remote read that is none", send: post("/api/v1/read", []byte("nothing"), text, harness.ContentTypeV1), status: badRequest, culprit: "(?i)snappy|corrupt|33554432"},
		{name: "query that is none", send: func(t *testing.T, v *harness.Varve) harness.Response {
			return v.Get(t, "/api/v1/query", "query", "sum(")
		}, status: badRequest, culprit: "parse error"},
		{name: "form over the limit", send: post("/api/v1/query", append([]byte("query="), bytes.Repeat([]byte("x"), 12<<20)...), text, "application/x-www-form-urlencoded"), status: []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge}, culprit: "(?i)too large|limit"},
	}
}

func wide(name string, n int) prompb.TimeSeries {
	pairs := []string{"__name__", name}
	for i := range n {
		pairs = append(pairs, fmt.Sprintf("l%04d", i), "x")
	}
	return one(badTime(), 1, pairs...)
}

func brokenHistogram(name string, ms int64) prompb.TimeSeries {
	h := nh(3, 5, 5)
	h.PositiveSpans = []histogram.Span{{Offset: 1, Length: 7}}
	return prompb.TimeSeries{Labels: harness.PB("__name__", name), Histograms: []prompb.Histogram{prompb.FromIntHistogram(ms, h)}}
}

// Bad requests get the right status, name what is wrong, cost their neighbours
// nothing and the server no memory.
func TestBadInput(t *testing.T) {
	v := harness.StartVarve(t)
	inputs := append(writeInputs(), otherInputs()...)
	for round := range 3 {
		for _, x := range inputs {
			t.Run(fmt.Sprintf("%d/%s", round, x.name), func(t *testing.T) { x.check(t, v) })
		}
	}
	_, before := v.RSS(t)
	for range 10 {
		for _, x := range inputs {
			require.Less(t, x.send(t, v).Status, 500, x.name)
		}
	}
	_, after := v.RSS(t)
	require.Less(t, after, before+96<<20, "peak memory grew from %d to %d", before, after)
	inEveryState(t, v, func(t *testing.T) {
		for _, x := range inputs {
			if x.good != "" {
				require.Len(t, v.Query(t, x.good, seconds(badTime()/1000)).Series, 1, x.name)
			}
		}
		require.Empty(t, v.LabelSets(t, "match[]", `{__name__=~"bad\\d+(_v)?"}`), "what was refused is not there")
		require.Empty(t, v.LabelSets(t, "match[]", `{job=~"bad.*"}`))
	})
}

func (x *badInput) check(t *testing.T, v *harness.Varve) {
	resp := x.send(t, v)
	require.Contains(t, x.status, resp.Status, "answer: %.1000s", resp)
	require.Regexp(t, x.culprit, resp.String())
	require.Less(t, len(resp.Body), 64<<10, "the answer is short")
	v.WriteV1(t, one(badTime(), 1, "__name__", "next")).Require(t, http.StatusNoContent)
	if x.good != "" {
		require.Len(t, v.Query(t, x.good, seconds(badTime()/1000)).Series, 1, "the good neighbour")
	}
}

// A body that breaks off stores nothing, and holds nothing up.
func TestHalfSentBodies(t *testing.T) {
	v := harness.StartVarve(t)
	body := harness.EncodeV1(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{one(badTime(), 1, "__name__", "half", "pad", strings.Repeat("x", 5000))}})
	for _, x := range []struct {
		path, headers string
		body          []byte
	}{
		{"/api/v1/write", "Content-Type: application/x-protobuf\r\nContent-Encoding: snappy\r\n", body},
		{"/write", "", bytes.Repeat([]byte("half v=1\n"), 10)[:85]},
		{"/api/v1/import/prometheus", "", []byte("half_text 12345")},
		{"/api/v1/import/csv?format=1:metric:half_table", "", []byte("12345")},
		{"/api/v1/read", "", body},
	} {
		for _, cut := range []int{0, 1, len(x.body) / 2, len(x.body) - 1} {
			conn, err := net.Dial("tcp", strings.TrimPrefix(v.URL, "http://"))
			require.NoError(t, err)
			_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n", x.path, x.headers, len(x.body))
			require.NoError(t, err)
			_, err = conn.Write(x.body[:cut])
			require.NoError(t, err)
			require.NoError(t, conn.(*net.TCPConn).CloseWrite())
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(10*time.Second)))
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil { // a server may also just close
				text, err := io.ReadAll(resp.Body)
				require.NoError(t, err)
				require.GreaterOrEqual(t, resp.StatusCode, 400, "%s: %s", x.path, text)
				require.Less(t, resp.StatusCode, 500, "%s: %s", x.path, text)
			}
			require.NoError(t, conn.Close())
		}
	}
	v.WriteV1(t, one(badTime(), 1, "__name__", "whole")).Require(t, http.StatusNoContent)
	require.Empty(t, v.LabelSets(t, "match[]", `half`))
	require.Empty(t, v.LabelSets(t, "match[]", `half_text`))
}

// Thousands of connections that send nothing do not stop the others.
func TestSilentConnections(t *testing.T) {
	v := harness.StartVarve(t)
	for range 300 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(v.URL, "http://"))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, "POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: 30000000\r\nContent-Encoding: snappy\r\nContent-Type: application/x-protobuf\r\n\r\n")
		require.NoError(t, err)
	}
	now, _ := v.RSS(t)
	require.Less(t, now, int64(400<<20), "memory is not reserved from Content-Length")
	v.WriteV1(t, one(badTime(), 1, "__name__", "beside")).Require(t, http.StatusNoContent)
}
