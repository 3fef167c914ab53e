package wire

import (
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// zstdDecoders holds idle decoders; they carry no state from call to call.
var zstdDecoders sync.Pool

func newZstdDecoder() (*zstd.Decoder, error) {
	if d, ok := zstdDecoders.Get().(*zstd.Decoder); ok {
		return d, nil
	}
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, fmt.Errorf("make zstd decoder: %w", err)
	}
	return d, nil
}

// maxZstdRatio is the most content bytes that one byte of a zstd frame can
// stand for: a block of 4 bytes repeats one byte 128 Ki times.
const maxZstdRatio = 128 << 10 / 4

// zstdSize reads the header of the first frame. A body of several frames says
// the size of the first only.
func zstdSize(src []byte, limit int) (size int, known bool, err error) {
	var h zstd.Header
	if len(src) == 0 {
		return 0, false, malformed("zstd: empty body")
	}
	if err := h.Decode(src); err != nil {
		return 0, false, malformed("zstd: no frame header: %v", err)
	}
	if h.Skippable || !h.HasFCS {
		return 0, false, nil
	}
	if h.FrameContentSize > uint64(limit) {
		return 0, false, &LimitError{Limit: LimitDecoded, Max: limit, Claimed: int64(min(h.FrameContentSize, 1<<62))}
	}
	if h.FrameContentSize > uint64(len(src))*maxZstdRatio {
		return 0, false, malformed("zstd: claims %d bytes of content, more than its %d bytes can hold", h.FrameContentSize, len(src))
	}
	return int(h.FrameContentSize), true, nil
}

// minZstdMemory is the least limit that is given to a decoder, which takes it as
// a limit on the window too: a small content may come with the usual large one.
const minZstdMemory = 8 << 20

// decodeZstd decodes into a buffer of the size the frame claims, or one that
// grows with what comes. The buffer is the window: nothing is reserved for the
// window that a frame claims.
func decodeZstd(dst, src []byte, limit int) ([]byte, error) {
	size, known, err := zstdSize(src, limit)
	if err != nil {
		return nil, err
	}
	if known {
		dst = room(dst, size)
	}
	d, err := newZstdDecoder()
	if err != nil {
		return nil, err
	}
	defer zstdDecoders.Put(d)
	if err := d.ResetWithOptions(nil, zstd.WithDecoderMaxMemory(uint64(max(limit, minZstdMemory)))); err != nil {
		return nil, fmt.Errorf("reset zstd decoder: %w", err)
	}
	out, err := d.DecodeAll(src, dst)
	switch {
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), errors.Is(err, zstd.ErrWindowSizeExceeded),
		err == nil && len(out)-len(dst) > limit:
		return nil, &LimitError{Limit: LimitDecoded, Max: limit}
	case err != nil:
		return nil, fmt.Errorf("%w: zstd: %w", ErrMalformed, err)
	}
	return out, nil
}
