package importer

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve/remote/internal/wire"
)

// maxZstdWindow bounds the memory a zstd body can ask for; 8 MiB is what every
// decoder has to support.
const maxZstdWindow = 8 << 20

// openBody returns the decoded body of a request. The caller closes it.
func openBody(r *http.Request, maxSnappyBytes int) (io.ReadCloser, error) {
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", wire.Identity:
		return io.NopCloser(r.Body), nil
	case wire.Gzip, "x-gzip":
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, badRequest("open gzip body: %w", err)
		}
		return body, nil
	case wire.Deflate:
		body, err := zlib.NewReader(r.Body)
		if err != nil {
			return nil, badRequest("open deflate body: %w", err)
		}
		return body, nil
	case wire.Zstd:
		body, err := zstd.NewReader(r.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, badRequest("open zstd body: %w", err)
		}
		return body.IOReadCloser(), nil
	case wire.Snappy:
		return openSnappy(r.Body, maxSnappyBytes)
	default:
		return nil, &RequestError{
			Status: http.StatusUnsupportedMediaType,
			Err:    fmt.Errorf("content encoding %q is not supported, want gzip, zstd, deflate, snappy or none", encoding),
		}
	}
}

func openSnappy(body io.Reader, limit int) (io.ReadCloser, error) {
	src, err := io.ReadAll(io.LimitReader(body, int64(limit)+1))
	if err != nil {
		return nil, badRequest("read snappy body: %w", err)
	}
	raw, err := wire.Decode(wire.Snappy, nil, src, limit)
	if err != nil {
		return nil, badRequest("decode snappy body of at most %d bytes: %w", limit, err)
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}

// eachLine calls f for the lines of r, without their ends, until f fails. A last
// line needs no end, but one cut short by a read error is not passed on. All
// errors are f's or a *RequestError.
func eachLine(r io.Reader, maxBytes int, f func(number int, line []byte) error) error {
	src := &stickyReader{r: r}
	s := bufio.NewScanner(src)
	s.Buffer(make([]byte, 0, min(64<<10, maxBytes)), maxBytes+1)
	s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if atEOF && src.err != io.EOF && bytes.IndexByte(data, '\n') < 0 {
			return 0, nil, src.err
		}
		return bufio.ScanLines(data, atEOF)
	})
	number := 0
	for s.Scan() {
		number++
		if err := f(number, s.Bytes()); err != nil {
			return err
		}
	}
	switch err := s.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, bufio.ErrTooLong):
		return badRequest("line %d exceeds the limit of %d bytes; the lines before it were stored", number+1, maxBytes)
	default:
		return badRequest("read line %d: %w; the lines before it were stored", number+1, err)
	}
}

// stickyReader remembers how its source ended.
type stickyReader struct {
	r   io.Reader
	err error
}

func (s *stickyReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}
