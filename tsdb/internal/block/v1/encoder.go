package v1

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/varvedb/varve/tsdb/internal/block"
)

func (s *streams) reset() { s.head, s.tokens, s.bits = s.head[:0], s.tokens[:0], s.bits[:0] }

func (s *streams) size() int { return len(s.head) + len(s.tokens) + len(s.bits) }

// Encoder gathers blocks and encodes them as one page: the unit that is
// compressed, checksummed and read at once. It is for one goroutine; the zero
// value is not usable, see NewEncoder.
//
// Only tests use it: they need pages to read, and hold later formats against
// them.
type Encoder struct {
	page    streams
	lengths []streamLengths
	floats  floatCoder
	ints    []int64
	packer  *compressor
}

// NewEncoder returns an Encoder with an empty page. It holds a few hundred KiB.
func NewEncoder() *Encoder { return &Encoder{packer: newCompressor()} }

// Len returns the number of blocks in the page so far.
func (e *Encoder) Len() int { return len(e.lengths) }

// Size returns the bytes of the page so far, before compression.
func (e *Encoder) Size() int { return e.page.size() }

// AddSpan appends a block of the samples of s, 1 to MaxSamples of them, with
// its times. It returns the index of the block in the page. After an error the
// page is as before.
func (e *Encoder) AddSpan(s *block.Span) (int, error) { return e.add(s, nil) }

// AddSpanShared is AddSpan with the times of s left out: ref is stored, and
// whoever decodes the block is asked for the column.
func (e *Encoder) AddSpanShared(s *block.Span, ref TimesRef) (int, error) { return e.add(s, &ref) }

// AddTimes appends a column of times, to be referred to by blocks of other
// pages, and returns its index in the page.
func (e *Encoder) AddTimes(times []int64) (int, error) {
	if len(times) == 0 || len(times) > block.MaxSamples {
		return 0, fmt.Errorf("encode times: got %d, want 1 to %d", len(times), block.MaxSamples)
	}
	before := e.mark()
	e.page.head = append(e.page.head, byte(kindTimes)|timesInline<<timesShift)
	e.page.head = binary.AppendUvarint(e.page.head, uint64(len(times)))
	e.floats.ints.appendInts(&e.page, times)
	return e.seal(before)
}

func (e *Encoder) mark() streamLengths {
	return streamLengths{len(e.page.head), len(e.page.tokens), len(e.page.bits)}
}

func (e *Encoder) rewind(to streamLengths) {
	e.page.head, e.page.tokens, e.page.bits = e.page.head[:to.head], e.page.tokens[:to.tokens], e.page.bits[:to.bits]
}

// seal makes what was appended since before a block.
func (e *Encoder) seal(before streamLengths) (int, error) {
	now := e.mark()
	if max(now.head, now.tokens, now.bits) > maxStream/2 {
		e.rewind(before)
		return 0, errTooLarge
	}
	e.lengths = append(e.lengths, streamLengths{now.head - before.head, now.tokens - before.tokens, now.bits - before.bits})
	return len(e.lengths) - 1, nil
}

func (e *Encoder) add(s *block.Span, ref *TimesRef) (int, error) {
	if err := s.Check(); err != nil {
		return 0, fmt.Errorf("encode block: %w", err)
	}
	before := e.mark()
	first := byte(s.Kind)
	grid := s.Times == nil
	switch {
	case grid:
	case ref != nil:
		first |= timesShared << timesShift
	default:
		first |= timesInline << timesShift
	}
	if s.StartTimes != nil {
		first |= flagStart
	}
	e.page.head = append(e.page.head, first)
	e.page.head = binary.AppendUvarint(e.page.head, uint64(s.Count))
	switch {
	case grid:
		e.page.head = binary.AppendVarint(e.page.head, s.Start)
		if s.Count > 1 {
			e.page.head = binary.AppendUvarint(e.page.head, uint64(s.Step))
		}
	case ref != nil:
		e.page.head = binary.AppendUvarint(e.page.head, uint64(*ref))
	default:
		e.floats.ints.appendInts(&e.page, s.Times)
	}
	if s.StartTimes != nil {
		e.floats.ints.appendInts(&e.page, s.StartTimes)
	}
	e.values(s)
	return e.seal(before)
}

func (e *Encoder) values(s *block.Span) {
	switch s.Kind {
	case block.KindHistogram:
		e.histograms(s.Histograms)
	case block.KindFloatHistogram:
		e.floatHistograms(s.FloatHistograms)
	default:
		e.floats.append(&e.page, e.floatValues(s))
	}
}

// floatValues lists the values of s.
func (e *Encoder) floatValues(s *block.Span) []float64 {
	if s.Floats != nil {
		return s.Floats
	}
	out := make([]float64, s.Count)
	for i := range out {
		out[i] = s.Float(i)
	}
	return out
}

// AppendPage appends the page of all blocks added since the last one and starts
// an empty one. At least one block must have been added.
//
//	version  byte
//	blocks   uvarint
//	streams  three times (head, tokens, bits): how byte, length uvarint, stored
//	         length uvarint
//	data     the three streams as stored
//	crc      CRC-32C of everything before, 4 bytes, little endian
//
// The head stream begins with a directory: for every block but the last its
// length in the three streams as uvarints.
func (e *Encoder) AppendPage(dst []byte) []byte {
	if len(e.lengths) == 0 {
		panic("v1: AppendPage without a block")
	}
	begin := len(dst)
	dst = append(dst, Version)
	dst = binary.AppendUvarint(dst, uint64(len(e.lengths)))
	var data []byte
	for _, s := range [3][]byte{e.directory(), e.page.tokens, e.page.bits} {
		how, stored := e.packer.compress(s)
		dst = append(dst, how)
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = binary.AppendUvarint(dst, uint64(len(stored)))
		data = append(data, stored...)
	}
	dst = append(dst, data...)
	e.Reset()
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[begin:], castagnoli))
}

// directory returns the head stream with the directory before it.
func (e *Encoder) directory() []byte {
	out := make([]byte, 0, len(e.page.head)+4*len(e.lengths))
	for _, l := range e.lengths[:len(e.lengths)-1] {
		out = binary.AppendUvarint(out, uint64(l.head))
		out = binary.AppendUvarint(out, uint64(l.tokens))
		out = binary.AppendUvarint(out, uint64(l.bits))
	}
	return append(out, e.page.head...)
}

// Reset drops the blocks of the page.
func (e *Encoder) Reset() {
	e.page.reset()
	e.lengths = e.lengths[:0]
}

// AppendBlock appends a page that holds the samples of s alone, for callers
// that keep single blocks. It sets up an Encoder on each call.
func AppendBlock(dst []byte, s *block.Span) ([]byte, error) {
	e := NewEncoder()
	if _, err := e.AddSpan(s); err != nil {
		return dst, err
	}
	return e.AppendPage(dst), nil
}
