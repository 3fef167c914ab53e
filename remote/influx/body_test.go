package influx

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/golang/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

var encodings = []string{"gzip", "deflate", "snappy", "zstd"}

func encode(t testing.TB, encoding string, content []byte) []byte {
	var b bytes.Buffer
	var w io.WriteCloser
	switch encoding {
	case "snappy":
		return snappy.Encode(nil, content)
	case "gzip":
		w = gzip.NewWriter(&b)
	case "deflate":
		w = zlib.NewWriter(&b)
	case "zstd":
		var err error
		w, err = zstd.NewWriter(&b)
		require.NoError(t, err)
	}
	_, err := w.Write(content)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

func (d *door) sendEncoded(encoding string, body io.Reader) *httptest.ResponseRecorder {
	req := httptest.NewRequest(http.MethodPost, "/write", body)
	req.Header.Set("Content-Encoding", encoding)
	return d.send(req)
}

func TestEncodings(t *testing.T) {
	d := openDoor(t, Options{})
	for round := range 2 { // the second one uses pooled decoders
		for _, encoding := range encodings {
			content := fmt.Sprintf("enc_%s v=%d 1700000000", encoding, round)
			w := d.sendEncoded(encoding, bytes.NewReader(encode(t, encoding, []byte(content))))
			require.Equal(t, 204, w.Code, "%s: %s", encoding, w.Body)
			require.Equal(t, fmt.Sprintf("{__name__=\"enc_%s_v\"} 1700000000000=%d\n", encoding, round),
				d.text(fmt.Sprintf("{__name__=~%q}", "enc_"+encoding+".*")))

			empty := d.sendEncoded(encoding, bytes.NewReader(encode(t, encoding, nil)))
			require.Equal(t, 204, empty.Code, "%s: %s", encoding, empty.Body)
			absent := d.sendEncoded(encoding, bytes.NewReader(nil))
			require.Equal(t, 204, absent.Code, "%s: %s", encoding, absent.Body)
		}
	}
}

// What breaks off or is damaged is refused as a whole, and the next request is
// fine.
func TestDamagedBodies(t *testing.T) {
	d := openDoor(t, Options{})
	content := []byte(strings.Repeat("m,host=a v=1,w=2 1700000000\n", 1000))
	for _, encoding := range encodings {
		whole := encode(t, encoding, content)
		for _, n := range []int{1, 2, 5, 10, len(whole) / 2, len(whole) - 1} {
			w := d.sendEncoded(encoding, bytes.NewReader(whole[:n]))
			require.Equal(t, 400, w.Code, "%s cut at %d", encoding, n)
			require.Contains(t, w.Body.String(), "cannot take the body")
		}
		w := d.sendEncoded(encoding, strings.NewReader("m v=1"))
		require.Equal(t, 400, w.Code, encoding)
	}
	for _, encoding := range []string{"br", "gzip, gzip", "zip"} {
		w := d.sendEncoded(encoding, bytes.NewReader(content))
		require.Equal(t, 400, w.Code)
		require.Contains(t, w.Body.String(), fmt.Sprintf(`content encoding \"%s\" is not supported`, encoding))
	}
	w := d.send(httptest.NewRequest("POST", "/write", io.MultiReader(bytes.NewReader(content), iotest.ErrReader(io.ErrUnexpectedEOF))))
	require.Equal(t, 400, w.Code)
	require.Empty(t, d.text(`{__name__=~".+"}`))

	status, _ := d.write("/write", string(content))
	require.Equal(t, 204, status)
}

// A sender that goes away in the middle of its body stores nothing of the last,
// cut line.
func TestHalfSentBody(t *testing.T) {
	d := openDoor(t, Options{})
	answered := make(chan int, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		rec := httptest.NewRecorder()
		d.mux.ServeHTTP(rec, req)
		answered <- rec.Code
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	require.NoError(t, err)
	_, err = io.WriteString(conn, "POST /write HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf v=1\nhalf v=12")
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Equal(t, 400, <-answered)
	require.Empty(t, d.text(`{__name__=~"half.*"}`))
}

// repeat is an endless repetition of a text.
type repeat struct{ text string }

func (r repeat) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r.text)
	}
	return n, nil
}

func bomb(t testing.TB, encoding, text string, size int64) []byte {
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	switch encoding {
	case "deflate":
		w = zlib.NewWriter(&b)
	case "zstd":
		var err error
		w, err = zstd.NewWriter(&b)
		require.NoError(t, err)
	}
	_, err := io.CopyN(w, repeat{text}, size)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// A small body with a huge content is refused, naming the limit, and the memory
// it takes is bounded by the length of a line.
func TestBombs(t *testing.T) {
	d := openDoor(t, Options{MaxBodyBytes: 4 << 20, MaxLineBytes: 64 << 10})
	for encoding, most := range map[string]uint64{"gzip": 2 << 20, "deflate": 2 << 20, "zstd": 2<<20 + maxZstdWindow} {
		for i, text := range []string{"\x00", " ", "\n", "a", "#\n", `m s="`} {
			if raceDetector && i%4 != 1 {
				continue // it makes decompressing a hundred times slower
			}
			w, allocated := d.sendMeasured(encoding, bomb(t, encoding, text, 5<<20))
			require.Equal(t, 400, w.Code)
			require.Contains(t, w.Body.String(), "decoded body size is over the limit of 4194304")
			require.Less(t, allocated, most, "%s of %q", encoding, text)
		}
	}
	status, message := d.write("/write", "good v=1")
	require.Equal(t, 204, status, message)
}

func TestBombsUnderDefaults(t *testing.T) {
	d := openDoor(t, Options{})
	size := int64(100 << 20)
	if raceDetector {
		size = 65 << 20 // just over the limit
	}
	w, allocated := d.sendMeasured("gzip", bomb(t, "gzip", "\x00", size))
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), "decoded body size is over the limit of 67108864")
	require.Less(t, allocated, uint64(8<<20))

	claim := []byte{0x80, 0x80, 0x80, 0x80, 0x0a, 1, 2, 3} // a snappy block of 2.7 GB
	w, allocated = d.sendMeasured("snappy", claim)
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), "limit of 67108864")
	require.Less(t, allocated, uint64(1<<20))
}

func (d *door) sendMeasured(encoding string, body []byte) (*httptest.ResponseRecorder, uint64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w := d.sendEncoded(encoding, bytes.NewReader(body))
	runtime.ReadMemStats(&after)
	return w, after.TotalAlloc - before.TotalAlloc
}

func TestBodyLimit(t *testing.T) {
	d := openDoor(t, Options{MaxBodyBytes: 100})
	line := "m v=1 1700000000\n"
	long := strings.Repeat(line, 6)
	require.Greater(t, len(long), 100)

	status, message := d.write("/write", long)
	require.Equal(t, 413, status)
	require.Contains(t, message, "encoded body size 102 is over the limit of 100")

	chunked := httptest.NewRequest("POST", "/write", io.MultiReader(strings.NewReader(long)))
	chunked.ContentLength = -1
	w := d.send(chunked)
	require.Equal(t, 413, w.Code)
	require.Contains(t, w.Body.String(), "encoded body size is over the limit of 100")

	w = d.sendEncoded("gzip", gzipped(long))
	require.Equal(t, 400, w.Code)
	require.Contains(t, w.Body.String(), "decoded body size is over the limit of 100")
	require.Empty(t, d.text(`{__name__="m_v"}`))

	status, _ = d.write("/write", strings.Repeat(line, 5))
	require.Equal(t, 204, status)
}
