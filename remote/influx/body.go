package influx

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve/remote/internal/wire"
)

// maxZstdWindow bounds what a zstd frame makes its decoder hold; it is what the
// format asks every decoder to support.
const maxZstdWindow = 8 << 20

// decoders hold the state of body decoding, for one request at a time. The zero
// value is ready.
type decoders struct {
	gzip   gzip.Reader
	zlib   io.ReadCloser // also a zlib.Resetter
	zstd   *zstd.Decoder
	snappy *wire.Buffer
	block  bytes.Reader
}

// open returns a reader of the content of a request's body, which fails with a
// *wire.LimitError when the body as sent or its content is longer than limit. It
// is valid until close.
func (d *decoders) open(w http.ResponseWriter, req *http.Request, limit int64) (io.Reader, error) {
	encoding := strings.ToLower(strings.TrimSpace(req.Header.Get("Content-Encoding")))
	if req.ContentLength > limit {
		return nil, &wire.LimitError{Limit: wire.LimitEncoded, Max: int(limit), Claimed: req.ContentLength}
	}
	sent := &sentBody{r: http.MaxBytesReader(w, req.Body, limit)}
	content, err := d.decode(encoding, sent, limit)
	switch {
	case err == nil:
		return &limitedReader{r: content, left: limit, limit: limit}, nil
	case sent.empty:
		return bytes.NewReader(nil), nil // no body at all, whatever its encoding
	}
	return nil, err
}

func (d *decoders) decode(encoding string, sent io.Reader, limit int64) (io.Reader, error) {
	switch encoding {
	case "", wire.Identity:
		return sent, nil
	case wire.Gzip, "x-gzip":
		return &d.gzip, d.gzip.Reset(sent)
	case wire.Deflate:
		return d.openZlib(sent)
	case wire.Zstd:
		return d.openZstd(sent)
	case wire.Snappy:
		return d.openSnappy(sent, limit)
	}
	return nil, &wire.EncodingError{Encoding: encoding, Want: "gzip, deflate, snappy, zstd or none"}
}

// openZlib takes deflate to be zlib, as HTTP means it; raw deflate is refused.
func (d *decoders) openZlib(sent io.Reader) (_ io.Reader, err error) {
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(sent)
	} else {
		err = d.zlib.(zlib.Resetter).Reset(sent, nil)
	}
	return d.zlib, err
}

func (d *decoders) openZstd(sent io.Reader) (_ io.Reader, err error) {
	if d.zstd == nil {
		d.zstd, err = zstd.NewReader(sent, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
	} else {
		err = d.zstd.Reset(sent)
	}
	return d.zstd, err
}

// openSnappy reads a snappy block, which has to be whole to be decoded.
func (d *decoders) openSnappy(sent io.Reader, limit int64) (io.Reader, error) {
	encoded := wire.NewBuffer(0)
	defer encoded.Release()
	for {
		encoded.Grow(512)
		n, err := sent.Read(encoded.B[len(encoded.B):cap(encoded.B)])
		encoded.B = encoded.B[:len(encoded.B)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(encoded.B) == 0 {
		return nil, io.EOF
	}
	size, _, err := wire.DecodedSize(wire.Snappy, encoded.B, int(limit))
	if err != nil {
		return nil, err
	}
	d.snappy = wire.NewBuffer(size)
	d.snappy.B, err = wire.Decode(wire.Snappy, d.snappy.B, encoded.B, int(limit))
	if err != nil {
		return nil, err
	}
	d.block.Reset(d.snappy.B)
	return &d.block, nil
}

// close lets go of the request's body. It must be called after open, whatever
// that returned.
func (d *decoders) close() {
	d.snappy.Release()
	d.snappy = nil
	d.block.Reset(nil)
	if d.zstd != nil && d.zstd.Reset(nil) != nil {
		d.zstd.Close()
		d.zstd = nil
	}
}

// sentBody is a body as sent. It turns the net/http error for a body over the
// limit into ours.
type sentBody struct {
	r       io.Reader
	started bool // something came
	empty   bool // the body is over and nothing came
}

func (b *sentBody) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	b.started = b.started || n > 0
	var tooLong *http.MaxBytesError
	switch {
	case err == nil:
	case err == io.EOF:
		b.empty = !b.started
	case errors.As(err, &tooLong):
		err = &wire.LimitError{Limit: wire.LimitEncoded, Max: int(tooLong.Limit)}
	default:
		err = fmt.Errorf("read body: %w", err)
	}
	return n, err
}

// limitedReader fails once r yields more than left bytes.
type limitedReader struct {
	r     io.Reader
	left  int64
	limit int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, &wire.LimitError{Limit: wire.LimitDecoded, Max: int(l.limit)}
	}
	return n, err
}
