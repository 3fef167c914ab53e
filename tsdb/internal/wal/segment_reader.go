package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

const (
	windowBytes = 256 << 10
	crcStep     = 64 << 10
)

var (
	errChecksum   = errors.New("checksum mismatch")
	errZeros      = errors.New("zeros instead of a frame")
	errBadHeader  = errors.New("segment header damaged")
	errCutHeader  = errors.New("segment header cut off")
	errCutFrame   = errors.New("frame cut off")
	errSequence   = errors.New("sequence number out of order")
	errSeqMissing = errors.New("sequence numbers missing")
)

// segmentReader reads one segment through a window of windowBytes, which grows
// only to hold a frame whose checksum was verified.
type segmentReader struct {
	f    vfs.File
	size int64

	window    []byte
	windowOff int64
	scratch   []byte

	// resyncBudget bounds the bytes that are checksummed in search of a frame
	// behind damage, so that hostile content cannot make it quadratic.
	resyncBudget int64
}

func newSegmentReader(f vfs.File, size int64) *segmentReader {
	return &segmentReader{f: f, size: size, resyncBudget: 8*size + 64<<20}
}

// view returns n bytes at off, which must lie inside the segment. They are
// valid until the next call.
func (r *segmentReader) view(off int64, n int) ([]byte, error) {
	if off < r.windowOff || off+int64(n) > r.windowOff+int64(len(r.window)) {
		want := int(min(int64(max(n, windowBytes)), r.size-off))
		if cap(r.window) < want {
			r.window = make([]byte, want)
		}
		r.window, r.windowOff = r.window[:want], off
		if err := r.readFull(r.window, off); err != nil {
			r.window = r.window[:0]
			return nil, err
		}
	}
	i := int(off - r.windowOff)
	return r.window[i : i+n], nil
}

// ahead returns a stretch of bytes at off that holds at least a frame header,
// where there is room for one: the rest of the window, if that will do.
func (r *segmentReader) ahead(off int64) ([]byte, error) {
	n := r.windowOff + int64(len(r.window)) - off
	if off < r.windowOff || n < frameHeaderSize {
		n = min(windowBytes, r.size-off)
	}
	return r.view(off, int(n))
}

func (r *segmentReader) readFull(p []byte, off int64) error {
	n, err := r.f.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %d bytes at offset %d: %w", len(p), off, err)
}

// check returns the header of the frame at off, or in cause why there is none.
func (r *segmentReader) check(off int64) (h frameHeader, cause, err error) {
	left := r.size - off
	if left < frameHeaderSize {
		return h, fmt.Errorf("%w: got %d bytes of its header", errCutFrame, left), nil
	}
	b, err := r.view(off, frameHeaderSize)
	if err != nil {
		return h, nil, err
	}
	h = parseFrameHeader(b)
	switch {
	case h == frameHeader{}:
		return h, errZeros, nil
	case int64(h.payloadLen) > left-frameHeaderSize:
		return h, fmt.Errorf("%w: payload of %d bytes, got %d", errCutFrame, h.payloadLen, left-frameHeaderSize), nil
	}
	crc, err := r.frameCRC(off, frameHeaderSize+int64(h.payloadLen))
	if err != nil {
		return h, nil, err
	}
	if crc != h.crc {
		return h, fmt.Errorf("%w: got %08x, want %08x", errChecksum, crc, h.crc), nil
	}
	return h, nil, nil
}

// frameCRC computes the checksum of the n bytes long frame at off. A frame
// that is longer than the window is read piece by piece beside it.
func (r *segmentReader) frameCRC(off, n int64) (uint32, error) {
	if n <= windowBytes {
		b, err := r.view(off, int(n))
		if err != nil {
			return 0, err
		}
		return headerCRC(crc32.Checksum(b[frameHeaderSize:], castagnoli()), b), nil
	}
	var header [frameHeaderSize]byte
	if err := r.readFull(header[:], off); err != nil {
		return 0, err
	}
	if r.scratch == nil {
		r.scratch = make([]byte, crcStep)
	}
	crc, end := uint32(0), off+n
	for off += frameHeaderSize; off < end; {
		b := r.scratch[:min(end-off, crcStep)]
		if err := r.readFull(b, off); err != nil {
			return 0, err
		}
		crc = crc32.Update(crc, castagnoli(), b)
		off += int64(len(b))
	}
	return headerCRC(crc, header[:]), nil
}

// payload returns the payload of a checked frame, valid until the next call.
func (r *segmentReader) payload(off int64, h frameHeader) ([]byte, error) {
	b, err := r.view(off, frameHeaderSize+int(h.payloadLen))
	if err != nil {
		return nil, err
	}
	return b[frameHeaderSize:], nil
}

// seqRange says which sequence numbers a frame behind damage may carry: more
// than last, and no more than max. When dense, one more at most for each frame
// that fits between the damage and it.
type seqRange struct {
	last, max uint64
	dense     bool
}

func (s seqRange) plausible(seq uint64, skipped int64) bool {
	if seq <= s.last || seq > s.max {
		return false
	}
	return !s.dense || seq-s.last-1 <= uint64(skipped)/frameHeaderSize
}

// resync returns the offset of the first sound frame behind the damage at
// from, and whether there is one.
func (r *segmentReader) resync(from int64, want seqRange) (next int64, found bool, err error) {
	for off := from + 1; off+frameHeaderSize <= r.size; {
		b, err := r.ahead(off)
		if err != nil {
			return 0, false, err
		}
		candidate := nextCandidate(b, off, from, r.size, want)
		if candidate < 0 {
			off += int64(len(b) - frameHeaderSize + 1)
			continue
		}
		off += int64(candidate)
		h, cause, err := r.check(off)
		if err != nil || cause == nil {
			return off, err == nil, err
		}
		if r.resyncBudget -= frameHeaderSize + int64(h.payloadLen); r.resyncBudget < 0 {
			return 0, false, nil
		}
		off++
	}
	return 0, false, nil
}

// nextCandidate returns the first position in b, which lies at off, where a
// frame header may be as far as its length and number tell; -1 if none.
func nextCandidate(b []byte, off, from, size int64, want seqRange) int {
	for i := 0; i+frameHeaderSize <= len(b); i++ {
		if !want.plausible(binary.LittleEndian.Uint64(b[i+8:]), off+int64(i)-from) {
			continue
		}
		if int64(binary.LittleEndian.Uint32(b[i:])) <= size-off-int64(i)-frameHeaderSize {
			return i
		}
	}
	return -1
}
