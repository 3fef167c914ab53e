package write

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func zstdOf(t testing.TB, content []byte) []byte {
	e, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return e.EncodeAll(content, nil)
}

// TestNegotiation: what is a remote write request, and what a sender is told to
// send instead.
func TestNegotiation(t *testing.T) {
	msg := marshal(t, v1(seriesV1("m", 1)))
	block := snappy.Encode(nil, msg)
	msgV2 := marshal(t, newV2().series(sampleV2(modelNow, 1), "__name__", "m").build())
	framed := new(bytes.Buffer)
	fw := s2.NewWriter(framed, s2.WriterSnappyCompat())
	_, err := fw.Write(msg)
	require.NoError(t, err)
	require.NoError(t, fw.Close())

	f := func(contentType, encoding string, b []byte, code int, text string) {
		t.Helper()
		m := newModel()
		w := post(newHandler(m.batch, Options{}), contentType, encoding, b)
		require.Equal(t, text, body(w))
		require.Equal(t, code, w.Code)
		if code != http.StatusNoContent {
			require.Zero(t, m.commits)
		}
	}
	f("application/x-protobuf", "snappy", block, 204, "")
	f("application/x-protobuf", "", block, 204, "") // old senders
	f("", "snappy", block, 204, "")
	f("application/x-protobuf", "Snappy", block, 204, "")
	f(typeV1, "snappy", block, 204, "")
	f("Application/X-Protobuf; proto=prometheus.WriteRequest", "snappy", block, 204, "")
	f("application/x-protobuf; charset=utf-8", "snappy", block, 204, "")
	f("application/x-protobuf", "zstd", zstdOf(t, msg), 204, "")
	f(typeV2, "snappy", snappy.Encode(nil, msgV2), 204, "")
	f(`application/x-protobuf; proto="io.prometheus.write.v2.Request"`, "zstd", zstdOf(t, msgV2), 204, "")
	f("application/x-protobuf", "snappy", []byte{0}, 204, "") // a block of nothing

	f("application/json", "snappy", block, 415, `content type "application/json" is not supported, want application/x-protobuf`)
	f("application/x-protobuf;proto=foo.Bar", "snappy", block, 415, `message "foo.Bar" is not supported, want prometheus.WriteRequest or io.prometheus.write.v2.Request`)
	f("application/x-protobuf;;=", "snappy", block, 415, `content type "application/x-protobuf;;=" is not supported, want application/x-protobuf`)
	f("application/x-protobuf", "gzip", block, 415, `content encoding "gzip" is not supported, want snappy or zstd`)
	f("application/x-protobuf", "snappy", nil, 400, "malformed input: snappy block: no valid length in its first bytes")
	f("application/x-protobuf", "zstd", nil, 400, "malformed input: zstd: empty body")
	f("application/x-protobuf", "snappy", framed.Bytes(), 400, "malformed input: snappy block: s2: corrupt input")
	f("application/x-protobuf", "snappy", msg, 400, "malformed input: snappy block: s2: corrupt input")
	f("application/x-protobuf", "snappy", snappy.Encode(nil, msg[:len(msg)-1]), 400, "malformed input: protobuf: field 1 at byte 0 claims 33 bytes, 32 are left")
}

func TestMethod(t *testing.T) {
	w := httptest.NewRecorder()
	newHandler(newModel().batch, Options{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	require.Equal(t, 405, w.Code)
	require.Equal(t, "POST", w.Header().Get("Allow"))
}

// TestBombs: a claimed size is refused before memory is made for it, twenty at
// once, and the next good write works.
func TestBombs(t *testing.T) {
	m := newModel()
	h := newHandler(m.batch, Options{})
	bomb := append(binary.AppendUvarint(nil, 2_700_000_000), make([]byte, 35)...)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			w := post(h, "", "snappy", bomb)
			require.Equal(t, 400, w.Code)
			require.Equal(t, "decoded body size 2700000000 is over the limit of 33554432", body(w))
		})
	}
	wg.Wait()
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20))
	require.Zero(t, h.Stats().InFlightBytes)
	require.Equal(t, 204, postV1(t, h, v1(seriesV1("m", 1))).Code)
}

func TestBodyLimit(t *testing.T) {
	h := newHandler(newModel().batch, Options{MaxEncodedBytes: 100, MaxDecodedBytes: 120})
	w := post(h, "", "snappy", make([]byte, 101))
	require.Equal(t, 413, w.Code)
	require.Equal(t, "encoded body size 101 is over the limit of 100", body(w))
	for _, encoding := range []string{"snappy", "zstd"} {
		content := make([]byte, 1000)
		b := snappy.Encode(nil, content)
		if encoding == "zstd" {
			b = zstdOf(t, content)
		}
		w := post(h, "", encoding, b)
		require.Equal(t, 400, w.Code)
		require.Equal(t, "decoded body size 1000 is over the limit of 120", body(w))
	}
}

// TestHalfSent: a body that breaks off is refused, over a real connection.
func TestHalfSent(t *testing.T) {
	m := newModel()
	server := httptest.NewServer(newHandler(m.batch, Options{}))
	defer server.Close()
	block := snappy.Encode(nil, marshal(t, v1(seriesV1("m", 1))))
	conn := dial(t, server)
	sendHalf(t, conn, block)
	answer := readAnswer(t, conn)
	require.Equal(t, 400, answer.StatusCode)
	require.Zero(t, m.commits)
}
