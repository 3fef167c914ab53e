package wal

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
)

// version is the format version that this build writes and the newest that it
// reads.
//
//	1: the first.
const version = 1

const (
	magic             = "varvewal"
	segmentHeaderSize = 8 + 4 + 4 + 8 + 8 + 4
	frameHeaderSize   = 4 + 4 + 8 + 1 + 1
	segmentExt        = ".wal"
)

// Frame is one entry of the log as it is read back.
type Frame struct {
	Seq     uint64
	Type    uint8
	Flags   uint8
	Payload []byte // valid during the call only
	// Old says that Seq is not above what Replay was to start after. Such a frame
	// is handed over where newer ones of its segment may build on it.
	Old bool

	Segment uint64 // number of the segment that holds it
	Offset  int64  // of its first byte there
}

// SegmentName returns the file name of segment n.
func SegmentName(n uint64) string { return fmt.Sprintf("%012d%s", n, segmentExt) }

// ParseSegmentName returns the number of the segment with that file name.
func ParseSegmentName(name string) (n uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, segmentExt)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil && SegmentName(n) == name
}

// frameHeader is the fixed part of a frame.
type frameHeader struct {
	payloadLen uint32
	crc        uint32
	seq        uint64
	typ        uint8
	flags      uint8
}

// put writes the header to dst[:frameHeaderSize], with the checksum for a
// payload whose CRC is payloadCRC.
func (h frameHeader) put(dst []byte, payloadCRC uint32) {
	binary.LittleEndian.PutUint32(dst, h.payloadLen)
	binary.LittleEndian.PutUint64(dst[8:], h.seq)
	dst[16], dst[17] = h.typ, h.flags
	binary.LittleEndian.PutUint32(dst[4:], headerCRC(payloadCRC, dst))
}

// headerCRC extends the CRC of a payload by its header: the length, then what
// follows the checksum. The payload comes first so that its part is computed
// before the sequence number is known.
func headerCRC(payloadCRC uint32, header []byte) uint32 {
	crc := crc32.Update(payloadCRC, castagnoli(), header[0:4])
	return crc32.Update(crc, castagnoli(), header[8:frameHeaderSize])
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // a shared table

func parseFrameHeader(b []byte) frameHeader {
	return frameHeader{
		payloadLen: binary.LittleEndian.Uint32(b),
		crc:        binary.LittleEndian.Uint32(b[4:]),
		seq:        binary.LittleEndian.Uint64(b[8:]),
		typ:        b[16],
		flags:      b[17],
	}
}

// segmentHeader is what a segment tells of itself.
type segmentHeader struct {
	// base is the number of its first frame, 1 or more.
	base uint64
	// prev is the number of the last frame before this segment that was not
	// given up: the numbers between prev and base were never acknowledged.
	prev uint64
}

func (h segmentHeader) append(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
	dst = binary.LittleEndian.AppendUint64(dst, h.base)
	dst = binary.LittleEndian.AppendUint64(dst, h.prev)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
}

// parseSegmentHeader returns the header at the start of b, or the zero value
// when it is short or damaged. A sound header of a newer version is an error
// that wraps ErrVersion.
func parseSegmentHeader(b []byte) (segmentHeader, error) {
	if len(b) < 16 || string(b[:8]) != magic || binary.LittleEndian.Uint32(b[12:]) != crc32.Checksum(b[:12], castagnoli()) {
		return segmentHeader{}, nil
	}
	if got := binary.LittleEndian.Uint32(b[8:]); got != version {
		return segmentHeader{}, fmt.Errorf("%w: got %d, this build reads %d", ErrVersion, got, version)
	}
	if len(b) < segmentHeaderSize || binary.LittleEndian.Uint32(b[32:]) != crc32.Checksum(b[:32], castagnoli()) {
		return segmentHeader{}, nil
	}
	h := segmentHeader{base: binary.LittleEndian.Uint64(b[16:]), prev: binary.LittleEndian.Uint64(b[24:])}
	if h.prev >= h.base {
		return segmentHeader{}, nil
	}
	return h, nil
}
