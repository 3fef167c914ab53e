package httpbody

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/internal/wire"
)

func request(body io.Reader, length int64, encoding string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", body)
	r.ContentLength = length
	r.Header.Set("Content-Encoding", encoding)
	return r
}

// halfSent is a body whose sender went away.
type halfSent struct{ io.Reader }

func (h halfSent) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func TestRead(t *testing.T) {
	for _, size := range []int{0, 1, 100, firstRoom - 1, firstRoom, firstRoom + 1, 1_000_000} {
		body := bytes.Repeat([]byte("x"), size)
		for _, length := range []int64{int64(size), -1} {
			charged := 0
			b, err := Read(request(bytes.NewReader(body), length, ""), 1_000_000, func(n int) error { charged += n; return nil })
			require.NoError(t, err)
			require.True(t, bytes.Equal(body, b.B))
			require.GreaterOrEqual(t, charged, size)
			b.Release()
		}
	}
}

func TestReadErrors(t *testing.T) {
	f := func(r *http.Request, want string) {
		t.Helper()
		_, err := Read(r, 1000, nil)
		require.EqualError(t, err, want)
	}
	f(request(strings.NewReader("x"), 1001, ""), "encoded body size 1001 is over the limit of 1000")
	f(request(bytes.NewReader(make([]byte, 1001)), -1, ""), "encoded body size is over the limit of 1000")
	f(request(halfSent{strings.NewReader("half")}, 8, ""), "malformed input: request body ended after 4 bytes of 8")
	f(request(halfSent{strings.NewReader("half")}, -1, ""), "malformed input: request body ended after 4 bytes, before its end")
	f(request(io.MultiReader(strings.NewReader("ab"), errReader{}), 8, ""), "read request body after 2 bytes: reset")
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("reset") }

// TestReadCharge: memory is charged before it is made, and a refusal ends it.
func TestReadCharge(t *testing.T) {
	full := errors.New("full")
	charged := 0
	charge := func(n int) error {
		if charged+n > 200_000 {
			return full
		}
		charged += n
		return nil
	}
	_, err := Read(request(bytes.NewReader(make([]byte, 1<<20)), 1<<20, ""), 1<<20, charge)
	require.Equal(t, full, err)
}

func TestDecode(t *testing.T) {
	text := strings.Repeat("cpu,host=a usage=1 ", 1000)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	bodies := map[string][]byte{"identity": []byte(text), "snappy": snappy.Encode(nil, []byte(text)), "gzip": zipped.Bytes()}
	for encoding, body := range bodies {
		b, err := Decode(encoding, body, len(text), nil)
		require.NoError(t, err, encoding)
		require.Equal(t, text, string(b.B), encoding)
		b.Release()
		_, err = Decode(encoding, body, len(text)-1, nil)
		var limit *wire.LimitError
		require.ErrorAs(t, err, &limit, encoding)
		require.Equal(t, wire.LimitDecoded, limit.Limit)
	}
	_, err = Decode("br", []byte("x"), 10, nil)
	var unknown *wire.EncodingError
	require.ErrorAs(t, err, &unknown)
}
