package manifest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"path"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// FileName is the name of the manifest in the store's folder.
const FileName = "MANIFEST"

// version is the format version that this build writes and the newest that it
// reads.
//
//	1: the first.
const version = 1

const (
	magic            = "varvemft"
	headerSize       = 8 + 4 + 4
	recordHeaderSize = 4 + 4
)

var (
	// ErrVersion is wrapped by errors about a manifest of a newer format version.
	ErrVersion = errors.New("unknown format version")
	// ErrCorrupt is wrapped by errors about a damaged manifest.
	ErrCorrupt = errors.New("manifest damaged")

	errChecksum = errors.New("checksum mismatch")
	errNoKey    = errors.New("no label hash key")
	errTwoKeys  = errors.New("label hash key set twice")
	errCutOff   = errors.New("record cut off")
)

// CorruptionError says where a manifest is damaged and what of. It wraps
// ErrCorrupt.
type CorruptionError struct {
	File   string
	Offset int64
	Cause  error
}

// Error names file, offset and cause.
func (e *CorruptionError) Error() string {
	return fmt.Sprintf("%v: %s at offset %d: %v", ErrCorrupt, e.File, e.Offset, e.Cause)
}

// Unwrap returns ErrCorrupt and the cause.
func (e *CorruptionError) Unwrap() []error { return []error{ErrCorrupt, e.Cause} }

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) } // a shared table

func appendHeader(dst []byte) []byte {
	start := len(dst)
	dst = append(dst, magic...)
	dst = binary.LittleEndian.AppendUint32(dst, version)
	return binary.LittleEndian.AppendUint32(dst, crc32.Checksum(dst[start:], castagnoli()))
}

// appendFramed appends r with its length and checksum.
func appendFramed(dst []byte, r record) ([]byte, error) {
	start := len(dst)
	dst = append(dst, make([]byte, recordHeaderSize)...)
	dst = appendRecord(dst, r)
	size := len(dst) - start - recordHeaderSize
	if int64(size) > math.MaxUint32 {
		return nil, fmt.Errorf("record of %d bytes: limit %d", size, int64(math.MaxUint32))
	}
	binary.LittleEndian.PutUint32(dst[start:], uint32(size))
	binary.LittleEndian.PutUint32(dst[start+4:], recordCRC(dst[start:]))
	return dst, nil
}

// recordCRC covers the length and the payload of the record that b is.
func recordCRC(b []byte) uint32 {
	crc := crc32.Checksum(b[:4], castagnoli())
	return crc32.Update(crc, castagnoli(), b[recordHeaderSize:])
}

// encodeFile returns a whole manifest with the state s.
func encodeFile(s State) ([]byte, error) { return appendFramed(appendHeader(nil), s.snapshot()) }

// contents is what a manifest file holds.
type contents struct {
	state State
	size  int64 // of what is sound
	torn  int64 // bytes of a torn record behind that
}

// readFile reads the manifest in dir.
func readFile(fsys vfs.FS, dir string) (contents, error) {
	name := path.Join(dir, FileName)
	data, err := vfs.ReadFile(fsys, name)
	if err != nil {
		return contents{}, err
	}
	return decodeFile(name, data)
}

func decodeFile(name string, data []byte) (contents, error) {
	corrupt := func(off int, cause error) (contents, error) {
		return contents{}, &CorruptionError{File: name, Offset: int64(off), Cause: cause}
	}
	if err := checkHeader(data); errors.Is(err, ErrVersion) {
		return contents{}, fmt.Errorf("read %s: %w", name, err)
	} else if err != nil {
		return corrupt(0, err)
	}
	c := contents{state: newState()}
	keyed := false
	off := headerSize
	for off < len(data) {
		n, cause := checkRecord(data[off:])
		if cause != nil {
			if followed(data[off:]) {
				return corrupt(off, cause)
			}
			break // only the last record can be torn
		}
		r, err := decodeRecord(data[off+recordHeaderSize : off+n])
		switch {
		case err != nil:
			return corrupt(off, err)
		case r.key != nil && keyed:
			return corrupt(off, errTwoKeys)
		case r.key != nil:
			keyed, c.state.LabelHashKey = true, *r.key
		}
		if err := c.state.check(r.Edit); err != nil {
			return corrupt(off, err)
		}
		c.state.apply(r.Edit)
		off += n
	}
	if !keyed {
		return corrupt(headerSize, errNoKey)
	}
	c.size, c.torn = int64(off), int64(len(data)-off)
	return c, nil
}

func checkHeader(data []byte) error {
	switch {
	case len(data) < headerSize:
		return fmt.Errorf("header cut off: got %d bytes, want %d", len(data), headerSize)
	case string(data[:8]) != magic:
		return fmt.Errorf("magic: got %q, want %q", data[:8], magic)
	case binary.LittleEndian.Uint32(data[12:]) != crc32.Checksum(data[:12], castagnoli()):
		return fmt.Errorf("header: %w", errChecksum)
	case binary.LittleEndian.Uint32(data[8:]) != version:
		return fmt.Errorf("%w: got %d, this build reads %d", ErrVersion, binary.LittleEndian.Uint32(data[8:]), version)
	}
	return nil
}

// checkRecord returns the size of the record at the start of b, or why there is
// no sound one.
func checkRecord(b []byte) (size int, cause error) {
	if len(b) < recordHeaderSize {
		return 0, fmt.Errorf("%w: got %d bytes of its header", errCutOff, len(b))
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > int64(len(b)-recordHeaderSize) {
		return 0, fmt.Errorf("%w: got %d bytes, want %d", errCutOff, len(b)-recordHeaderSize, n)
	}
	size = recordHeaderSize + int(n)
	if got, want := recordCRC(b[:size]), binary.LittleEndian.Uint32(b[4:]); got != want {
		return 0, fmt.Errorf("%w: got %08x, want %08x", errChecksum, got, want)
	}
	return size, nil
}

// followed reports whether a sound record begins somewhere behind the unsound
// one at the start of b. The bytes checksummed for it are bounded, so that
// hostile content cannot make it quadratic; beyond the bound it says yes.
func followed(b []byte) bool {
	budget := 8*int64(len(b)) + 64<<20
	for off := 1; off+recordHeaderSize <= len(b); off++ {
		n := int64(binary.LittleEndian.Uint32(b[off:]))
		if n == 0 || n > int64(len(b)-off-recordHeaderSize) {
			continue // no record is empty
		}
		if _, cause := checkRecord(b[off:]); cause == nil {
			return true
		}
		if budget -= n; budget < 0 {
			return true
		}
	}
	return false
}
