package wire

import (
	"bytes"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
)

// Idle readers; each is reset before use.
var (
	gzipReaders  sync.Pool // *gzip.Reader
	zlibReaders  sync.Pool // io.ReadCloser that is a zlib.Resetter
	flateReaders sync.Pool // io.ReadCloser that is a flate.Resetter
)

func decodeGzip(dst, src []byte, limit int) ([]byte, error) {
	r, _ := gzipReaders.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer gzipReaders.Put(r)
	if err := r.Reset(bytes.NewReader(src)); err != nil {
		return nil, fmt.Errorf("%w: gzip: %w", ErrMalformed, err)
	}
	return appendStream(dst, r, len(src), limit, "gzip")
}

// decodeDeflate takes what HTTP calls deflate, a zlib stream, and also the raw
// deflate data that some clients send under that name.
func decodeDeflate(dst, src []byte, limit int) ([]byte, error) {
	if len(src) >= 2 && src[0]&0x0f == 8 && (uint(src[0])<<8|uint(src[1]))%31 == 0 {
		return decodeZlib(dst, src, limit)
	}
	r, _ := flateReaders.Get().(io.ReadCloser)
	if r == nil {
		r = flate.NewReader(bytes.NewReader(nil))
	}
	defer flateReaders.Put(r)
	if err := r.(flate.Resetter).Reset(bytes.NewReader(src), nil); err != nil {
		return nil, fmt.Errorf("%w: deflate: %w", ErrMalformed, err)
	}
	return appendStream(dst, r, len(src), limit, "deflate")
}

func decodeZlib(dst, src []byte, limit int) ([]byte, error) {
	r, _ := zlibReaders.Get().(io.ReadCloser)
	var err error
	if r == nil {
		r, err = zlib.NewReader(bytes.NewReader(src))
	} else {
		err = r.(zlib.Resetter).Reset(bytes.NewReader(src), nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: deflate: %w", ErrMalformed, err)
	}
	defer zlibReaders.Put(r)
	return appendStream(dst, r, len(src), limit, "deflate")
}

// appendStream appends all of r to dst, in steps that grow with what really
// came, and stops one byte past limit.
func appendStream(dst []byte, r io.Reader, encoded, limit int, name string) ([]byte, error) {
	n := len(dst)
	for {
		if cap(dst) == len(dst) {
			dst = room(dst, max(len(dst)-n, 2*encoded, 512))
		}
		free := dst[len(dst):cap(dst)]
		if left := limit + 1 - (len(dst) - n); len(free) > left {
			free = free[:left]
		}
		m, err := r.Read(free)
		dst = dst[:len(dst)+m]
		if len(dst)-n > limit {
			return nil, &LimitError{Limit: LimitDecoded, Max: limit}
		}
		if err == io.EOF {
			return dst, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrMalformed, name, err)
		}
	}
}
