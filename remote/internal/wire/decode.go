package wire

import (
	"fmt"

	"github.com/klauspost/compress/s2"
)

// Encodings that Decode knows, as in a Content-Encoding header.
const (
	Identity = "identity"
	Snappy   = "snappy" // the block format, not the framed one
	Zstd     = "zstd"
	Gzip     = "gzip"
	Deflate  = "deflate" // zlib, or raw deflate as some clients send
)

// Decode appends the content of src, which is in the given encoding, to dst.
// "" and "identity" mean that src is the content.
//
// At most limit bytes are appended and not much more is allocated, whatever src
// claims. Errors: *LimitError when the content is larger, one that wraps
// ErrMalformed when src is damaged, *EncodingError when the encoding is
// unknown; dst is then returned as it was. Decode may be called from many
// goroutines at once.
func Decode(encoding string, dst, src []byte, limit int) ([]byte, error) {
	var out []byte
	var err error
	switch encoding {
	case "", Identity:
		out, err = decodeIdentity(dst, src, limit)
	case Snappy:
		out, err = decodeSnappy(dst, src, limit)
	case Zstd:
		out, err = decodeZstd(dst, src, limit)
	case Gzip, "x-gzip":
		out, err = decodeGzip(dst, src, limit)
	case Deflate:
		out, err = decodeDeflate(dst, src, limit)
	default:
		err = &EncodingError{Encoding: encoding, Want: "snappy, zstd, gzip, deflate or none"}
	}
	if err != nil {
		return dst, err
	}
	return out, nil
}

// DecodedSize returns what src says its content's size is, by reading the
// header of a snappy or zstd body; known is false when src does not say so.
// The error is Decode's, for a header that is damaged, over limit, or that claims
// more than src can hold.
func DecodedSize(encoding string, src []byte, limit int) (size int, known bool, err error) {
	switch encoding {
	case "", Identity:
		return len(src), true, checkSize(int64(len(src)), limit)
	case Snappy:
		size, err = snappySize(src, limit)
		return size, err == nil, err
	case Zstd:
		return zstdSize(src, limit)
	default:
		return 0, false, nil
	}
}

func decodeIdentity(dst, src []byte, limit int) ([]byte, error) {
	if err := checkSize(int64(len(src)), limit); err != nil {
		return nil, err
	}
	return append(dst, src...), nil
}

// maxSnappyRatio is the most content bytes that one byte of a snappy block can
// stand for: a copy of 64 bytes takes 3.
const maxSnappyRatio = 64/3 + 1

func snappySize(src []byte, limit int) (int, error) {
	size, err := s2.DecodedLen(src)
	if err != nil {
		return 0, malformed("snappy block: no valid length in its first bytes")
	}
	if err := checkSize(int64(size), limit); err != nil {
		return 0, err
	}
	if size > maxSnappyRatio*len(src) {
		return 0, malformed("snappy block: claims %d bytes of content, more than its %d bytes can hold", size, len(src))
	}
	return size, nil
}

func decodeSnappy(dst, src []byte, limit int) ([]byte, error) {
	size, err := snappySize(src, limit)
	if err != nil {
		return nil, err
	}
	dst = room(dst, size)
	n := len(dst)
	if _, err := s2.Decode(dst[n:n:n+size], src); err != nil {
		return nil, fmt.Errorf("%w: snappy block: %w", ErrMalformed, err)
	}
	return dst[:n+size], nil
}

func checkSize(size int64, limit int) error {
	if size > int64(limit) {
		return &LimitError{Limit: LimitDecoded, Max: limit, Claimed: size}
	}
	return nil
}

// room returns dst with capacity for n more bytes.
func room(dst []byte, n int) []byte {
	if cap(dst)-len(dst) >= n {
		return dst
	}
	bigger := make([]byte, len(dst), len(dst)+n)
	copy(bigger, dst)
	return bigger
}
