package server

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// PB-47: content types and encodings. Zstd is taken: the reference takes snappy
// alone.
func TestPitfallContentTypes(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	raw, err := harness.MarshalV1(&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{one(base*1000, 1, "__name__", "ct")}})
	require.NoError(t, err)
	block := snappy.Encode(nil, raw)
	var framed bytes.Buffer
	w := snappy.NewBufferedWriter(&framed)
	_, err = w.Write(raw)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	encoder, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	zst := encoder.EncodeAll(raw, nil)
	const proto = harness.ContentTypeV1
	for _, x := range []struct {
		name, contentType, encoding string
		body                        []byte
		want                        int
	}{
		{"json", "application/json", "snappy", block, http.StatusUnsupportedMediaType},
		{"zstd", proto, "zstd", zst, http.StatusNoContent},
		{"gzip", proto, "gzip", harness.Gzip(t, raw), http.StatusUnsupportedMediaType},
		{"other message", proto + ";proto=foo.Bar", "snappy", block, http.StatusUnsupportedMediaType},
		{"snappy frames", proto, "snappy", framed.Bytes(), http.StatusBadRequest},
		{"not compressed", proto, "snappy", raw, http.StatusBadRequest},
		{"empty body", proto, "snappy", []byte{}, http.StatusBadRequest},
		{"no headers", proto, "", block, http.StatusNoContent},
		{"block of length 0", proto, "snappy", snappy.Encode(nil, nil), http.StatusNoContent},
	} {
		headers := []string{"Content-Type", x.contentType}
		if x.encoding != "" {
			headers = append(headers, "Content-Encoding", x.encoding)
		}
		resp := v.Do(t, http.MethodPost, "/api/v1/write", x.body, headers...)
		require.Equal(t, x.want, resp.Status, "%s: %s", x.name, resp)
	}
	require.Equal(t, []string{`{__name__="ct"} 1`}, v.Query(t, "ct", seconds(base)).Values())
}

// PB-49: a claimed size costs nothing.
func TestPitfallBombs(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	v.WriteV1(t, one(base*1000, 1, "__name__", "warm")).Require(t, http.StatusNoContent)
	_, before := v.RSS(t)
	bomb := append(binary.AppendUvarint(nil, 2_700_000_000), make([]byte, 36)...)
	larger := append(binary.AppendUvarint(nil, math.MaxUint32), make([]byte, 36)...)
	for range 2 {
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				resp, err := v.Send(http.MethodPost, "/api/v1/write", bytes.NewReader(bomb), "Content-Type", harness.ContentTypeV1, "Content-Encoding", "snappy")
				if err != nil || !refusesSize(resp) {
					t.Errorf("write: %d %s %v", resp.Status, resp, err)
				}
				resp, err = v.Send(http.MethodPost, "/api/v1/read", bytes.NewReader(larger), "Content-Type", harness.ContentTypeV1, "Content-Encoding", "snappy")
				if err != nil || !refusesSize(resp) {
					t.Errorf("read: %d %s %v", resp.Status, resp, err)
				}
			})
		}
		wg.Wait()
	}
	zeros, stop := gzipZeros(1 << 30)
	resp, err := v.Send(http.MethodPost, "/write", zeros, "Content-Encoding", "gzip")
	stop()
	if err == nil { // else the connection was cut while the body was sent
		require.GreaterOrEqual(t, resp.Status, 400, resp.String())
		require.Less(t, resp.Status, 500, resp.String())
	}
	_, after := v.RSS(t)
	require.Less(t, after-before, int64(192<<20), "peak memory grew from %d to %d", before, after)
	v.WriteV1(t, one(base*1000, 1, "__name__", "after")).Require(t, http.StatusNoContent)
}

// refusesSize tells whether an answer is a 400 or 413 that speaks of the limit.
func refusesSize(r harness.Response) bool {
	return (r.Status == http.StatusBadRequest || r.Status == http.StatusRequestEntityTooLarge) && strings.Contains(r.String(), "33554432")
}

// PB-50: one value that differs from what is stored costs nobody anything: the
// later write wins, where the reference refuses the whole request.
func TestPitfallConflict(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime() * 1000
	v.WriteV1(t, one(base, 1, "__name__", "w4")).Require(t, http.StatusNoContent)
	v.WriteV1(t, one(base, 1, "__name__", "w4")).Require(t, http.StatusNoContent)
	v.WriteV1(t, one(base, 1, "__name__", "w4_x"), one(base, 2, "__name__", "w4"), one(base, 1, "__name__", "w4_y")).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		require.Equal(t, []string{`{__name__="w4"} 2`, `{__name__="w4_x"} 1`, `{__name__="w4_y"} 1`},
			v.Query(t, `{__name__=~"w4.*"}`, seconds(base/1000)).Values())
	})
}

// PB-52: label sets that are not in order, not complete or not sound.
func TestPitfallLabelSets(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	at := func(s int64) int64 { return (base + s) * 1000 }
	v.WriteV1(t, one(at(0), 1, "z", "1", "__name__", "w7", "a", "2")).Require(t, http.StatusNoContent)
	v.WriteV1(t, one(at(1), 2, "__name__", "w7", "a", "2", "z", "1")).Require(t, http.StatusNoContent)
	v.WriteV1(t, one(at(0), 1, "__name__", "w9", "empty", "")).Require(t, http.StatusNoContent)
	v.WriteV1(t, one(at(1), 2, "__name__", "w9")).Require(t, http.StatusNoContent)
	resp := v.WriteV1(t, one(at(0), 1, "__name__", "w11", "d", "1", "d", "2"), one(at(0), 1, "__name__", "w11_good")).Require(t, http.StatusBadRequest)
	require.Contains(t, resp.String(), "w11")
	require.Contains(t, resp.String(), `"d"`)
	v.WriteV1(t, one(at(0), 1, "", "x", "__name__", "w12"), one(at(0), 1, "__name__", "w12_good")).Require(t, http.StatusBadRequest)
	v.WriteV1(t, prompb.TimeSeries{Labels: harness.PB("__name__", "w10"), Samples: []prompb.Sample{
		{Timestamp: at(2), Value: 3}, {Timestamp: at(0), Value: 1}, {Timestamp: at(1), Value: 2},
	}}).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		end := seconds(base + 5)
		require.Equal(t, []string{`{__name__="w7", a="2", z="1"} 1 2`}, v.Query(t, "w7[1m]", end).Values())
		require.Equal(t, []string{`{__name__="w9"} 1 2`}, v.Query(t, "w9[1m]", end).Values())
		require.Equal(t, []string{`{__name__="w10"} 1 2 3`}, v.Query(t, "w10[1m]", end).Values())
		require.Equal(t, []string{`{__name__="w11_good"} 1`}, v.Query(t, `{__name__=~"w11.*"}`, end).Values())
		require.Equal(t, []string{`{__name__="w12_good"} 1`}, v.Query(t, `{__name__=~"w12.*"}`, end).Values())
	})
}

// PB-53: a sample from the far future is refused and moves no window.
func TestPitfallFuture(t *testing.T) {
	v := harness.StartVarve(t)
	now := time.Now().UnixMilli()
	refused := func(ms int64) {
		t.Helper()
		resp := v.WriteV1(t, one(ms, 1, "__name__", "w13", "a", "b")).Require(t, http.StatusBadRequest)
		require.Contains(t, resp.String(), "w13")
		if ms > 0 {
			require.Contains(t, resp.String(), "too far in the future")
		}
	}
	refused(now + 30*24*3600*1000)
	v.WriteV1(t, one(now, 1, "__name__", "w13c")).Require(t, http.StatusNoContent)
	require.Len(t, v.Query(t, "w13c", seconds(now/1000+1)).Series, 1)
	refused(now * 1000)
	refused(math.MaxInt64)
	refused(math.MinInt64)
	v.WriteV1(t, one(now+9*60*1000, 1, "__name__", "w13d")).Require(t, http.StatusNoContent)
	v.WriteV1(t, one(now, 1, "__name__", "w13e")).Require(t, http.StatusNoContent)
	require.Len(t, v.Query(t, "w13e", seconds(now/1000+1)).Series, 1)
	require.Empty(t, v.LabelSets(t, "match[]", "w13"))
}

// PB-55: nothing is cut short, metadata is kept, bad UTF-8 costs itself alone.
func TestPitfallLongLabels(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	many := func(last string) prompb.TimeSeries {
		pairs := []string{"__name__", "w20"}
		for i := range 58 {
			pairs = append(pairs, fmt.Sprintf("l%02d", i), "same")
		}
		return one(base*1000, 1, append(pairs, "zz", last)...)
	}
	v.WriteV1(t, many("1"), many("2")).Require(t, http.StatusNoContent)
	long := strings.Repeat("x", 4999)
	v.WriteV1(t, one(base*1000, 1, "__name__", "w20b", "v", long+"a"), one(base*1000, 1, "__name__", "w20b", "v", long+"b")).Require(t, http.StatusNoContent)
	huge := v.WriteV1(t, one(base*1000, 1, "__name__", "w20c", "value", strings.Repeat("y", 1<<20)))
	if huge.Status != http.StatusNoContent {
		huge.Require(t, http.StatusBadRequest)
		require.Contains(t, huge.String(), "value")
		require.Regexp(t, `\d{6,}`, huge.String(), "the limit")
	}
	v.PostV1(t, harness.EncodeV1(t, &prompb.WriteRequest{Metadata: []prompb.MetricMetadata{{
		Type: prompb.MetricMetadata_COUNTER, MetricFamilyName: "w21_total", Help: "what it is", Unit: "bytes",
	}}})).Require(t, http.StatusNoContent)
	bad := v.WriteV1(t, one(base*1000, 1, "__name__", "w22", "bad", "\xff\xfe"), one(base*1000, 1, "__name__", "w22_good")).Require(t, http.StatusBadRequest)
	require.Contains(t, bad.String(), "bad")
	inEveryState(t, v, func(t *testing.T) {
		at := seconds(base)
		require.Equal(t, []string{"{} 2"}, v.Query(t, "count(w20)", at).Values())
		require.Equal(t, []string{"{} 2"}, v.Query(t, "count(w20b)", at).Values())
		if huge.Status == http.StatusNoContent {
			require.Equal(t, []string{"{} 1"}, v.Query(t, "count(w20c)", at).Values())
		}
		var metadata map[string][]map[string]string
		v.Get(t, "/api/v1/metadata", "metric", "w21_total").Data(t, &metadata)
		require.Equal(t, map[string][]map[string]string{"w21_total": {{"type": "counter", "help": "what it is", "unit": "bytes"}}}, metadata)
		require.Equal(t, []string{`{__name__="w22_good"} 1`}, v.Query(t, `{__name__=~"w22.*"}`, at).Values())
	})
}

// gzipZeros streams n zero bytes, compressed; stop ends it.
func gzipZeros(n int64) (body io.Reader, stop func()) {
	r, w := io.Pipe()
	go func() {
		z := gzip.NewWriter(w)
		_, err := io.CopyN(z, zeroReader{}, n)
		if err == nil {
			err = z.Close()
		}
		w.CloseWithError(err)
	}()
	return r, func() { r.Close() }
}

type zeroReader struct{}

func (zeroReader) Read(p []byte) (int, error) { clear(p); return len(p), nil }
