package v1

import (
	"errors"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// The ways a stream of a page can be stored. Their numbers are written to disk.
const (
	storeRaw  = 0
	storeZstd = 1
	storeHuff = 2 // one huff0 stream, table first
	storeHuf4 = 3 // four interleaved huff0 streams, table first
)

// Limits of a stream: nothing larger is written, and a claim of more is refused
// before memory is taken for it. maxRatio is above what zstd can reach.
const (
	maxStream = 1 << 24
	maxRatio  = 1 << 16
)

// errTooLarge is returned for samples that do not fit a page of their own.
var errTooLarge = errors.New("samples do not fit a page: more than 8 MiB in one stream")

// compressor picks the smallest form of a stream. It is for one goroutine.
type compressor struct {
	zstd    *zstd.Encoder
	huff    huff0.Scratch
	scratch []byte
}

func newCompressor() *compressor {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
		zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithWindowSize(1<<18), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic("block: zstd options: " + err.Error()) // our own constants
	}
	return &compressor{zstd: enc}
}

// compress returns the stored form of src, valid until the next call.
func (c *compressor) compress(src []byte) (how byte, stored []byte) {
	how, stored = storeRaw, src
	if len(src) < 16 {
		return how, stored
	}
	c.scratch = c.zstd.EncodeAll(src, c.scratch[:0])
	if len(c.scratch) < len(stored) {
		how, stored = storeZstd, c.scratch
	}
	if h, out, ok := c.huffman(src); ok && len(out) < len(stored) {
		how, stored = h, out
	}
	return how, stored
}

func (c *compressor) huffman(src []byte) (how byte, out []byte, ok bool) {
	if len(src) < 32 || len(src) > huff0.BlockSizeMax {
		return 0, nil, false
	}
	c.huff.Reuse = huff0.ReusePolicyNone
	how, pack := byte(storeHuf4), huff0.Compress4X
	if len(src) < 1024 {
		how, pack = storeHuff, huff0.Compress1X
	}
	out, _, err := pack(src, &c.huff)
	return how, out, err == nil
}

// zstdDecoder is stateless: DecodeAll may be called by many at once.
var zstdDecoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxStream), zstd.WithDecodeAllCapLimit(true))
})

// huffScratches holds decoding tables between uses, nothing else.
var huffScratches = sync.Pool{New: func() any { return new(huff0.Scratch) }}

// decompress fills dst, whose length the stored form claims, from src.
func decompress(dst []byte, how byte, src []byte) error {
	switch how {
	case storeRaw:
		if len(src) != len(dst) {
			return block.Corruptf("raw stream: got %d bytes, want %d", len(src), len(dst))
		}
		copy(dst, src)
		return nil
	case storeZstd:
		dec, err := zstdDecoder()
		if err != nil {
			return err
		}
		out, err := dec.DecodeAll(src, dst[:0:len(dst)])
		if err != nil {
			return block.Corruptf("zstd stream: %w", err)
		}
		if len(out) != len(dst) {
			return block.Corruptf("zstd stream: got %d bytes, want %d", len(out), len(dst))
		}
		return nil
	case storeHuff, storeHuf4:
		return unhuff(dst, how, src)
	}
	return block.Corruptf("stream stored in unknown way %d", how)
}

func unhuff(dst []byte, how byte, src []byte) error {
	if len(dst) > huff0.BlockSizeMax {
		return block.Corruptf("huffman stream of %d bytes, limit %d", len(dst), huff0.BlockSizeMax)
	}
	s := huffScratches.Get().(*huff0.Scratch)
	defer huffScratches.Put(s)
	s.MaxDecodedSize = len(dst)
	s, rest, err := huff0.ReadTable(src, s)
	if err != nil {
		return block.Corruptf("huffman table: %w", err)
	}
	unpack := s.Decoder().Decompress4X
	if how == storeHuff {
		unpack = s.Decoder().Decompress1X
	}
	out, err := unpack(dst[:0:len(dst)], rest)
	if err != nil {
		return block.Corruptf("huffman stream: %w", err)
	}
	if len(out) != len(dst) {
		return block.Corruptf("huffman stream: got %d bytes, want %d", len(out), len(dst))
	}
	return nil
}
