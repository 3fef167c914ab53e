package b1

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/bits"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Options are the choices of an Encoder; the zero value is the usual one.
type Options struct {
	// MiniSamples is the length of mini-blocks, a power of two from 64 to
	// 1024; 0 means MiniSamples. Longer ones are smaller and cost more to cut.
	MiniSamples int
}

// ErrInput is what every error about samples that no block can hold wraps.
var ErrInput = errors.New("samples do not fit a block")

// Encoder encodes blocks. It is for one goroutine and keeps scratch of some
// hundred KiB.
type Encoder struct {
	miniLog  uint8
	analyzer codec.Analyzer
	planner  codec.Planner
	coder    codec.Coder
	columns  codec.Columns
	times    codec.TimesCoder

	floats, check []float64 // floats may be the caller's
	room          []float64
	ints          codec.Values // of spans that come as integers
	coded         *codec.Values
	q, part, wide []int64
	decoded       []int64
	runValues     []int64
	runLengths    []int64
	narrow        []int32
	stream        []byte
	dir           directory
	block         Block
	hist          histogramCoder
}

// NewEncoder returns an Encoder. It panics on Options that are out of range.
func NewEncoder(o Options) *Encoder {
	if o.MiniSamples == 0 {
		o.MiniSamples = MiniSamples
	}
	log := bits.Len(uint(o.MiniSamples)) - 1
	if o.MiniSamples != 1<<log || log < minMiniLog || log > maxMiniLog {
		panic(fmt.Sprintf("b1: mini-blocks of %d samples", o.MiniSamples))
	}
	return &Encoder{miniLog: uint8(log)}
}

// Encode appends the payload of a block of the samples of s, 1 to MaxSamples of
// them, to dst and fills h. Times that are no grid are appended to times, which
// is for the caller to store: many series have the same. After an error dst and
// times are returned as they were.
func (e *Encoder) Encode(dst, times []byte, h *Header, s *block.Span) (payload, timesPayload []byte, err error) {
	if err := checkSpan(s); err != nil {
		return dst, times, fmt.Errorf("encode block: %w: %w", ErrInput, err)
	}
	*h = Header{Kind: s.Kind, Count: s.Count, MinT: s.MinT(), MaxT: s.MaxT(), MiniLog: e.miniLog, Divisor: 1}
	from, timesFrom := len(dst), len(times)
	if s.Times == nil {
		h.Step = s.Step
		if s.Count == 1 {
			h.Step = 0
		}
	} else {
		times, h.Times, h.Step = e.times.Append(times, s.Times)
	}
	if s.StartTimes != nil {
		h.Flags |= FlagStartTimes
		e.stream = e.columns.Append(e.stream[:0], s.StartTimes)
		dst = binary.AppendUvarint(dst, uint64(len(e.stream)))
		dst = append(dst, e.stream...)
	}
	if s.Kind == block.KindFloat {
		dst = e.appendFloats(dst, h, s)
	} else {
		dst = e.appendHistograms(dst, h, s)
	}
	h.Length = uint32(len(dst) - from)
	h.CRC = crc32.Checksum(dst[from:], castagnoli)
	err = e.verify(h, dst[from:], s)
	e.floats, e.coded, e.ints = nil, nil, codec.Values{} // some may be the caller's
	if err != nil {
		return dst[:from], times[:timesFrom], err
	}
	return dst, times, nil
}

// checkSpan refuses spans that cannot be decoded to what they are.
func checkSpan(s *block.Span) error {
	if err := s.Check(); err != nil {
		return err
	}
	if buckets := bucketCount(s); buckets > MaxBuckets {
		return fmt.Errorf("got %d buckets, want %d at most", buckets, MaxBuckets)
	}
	return nil
}

// resize returns a slice of n elements, s where it is large enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
