// Package section is the common frame of the immutable files of a part: named
// runs of bytes, each compressed and checksummed, found through a table of
// contents at the end. It also has Table, the form in which sections hold
// columns of numbers.
//
//	begin    magic 4 bytes, version 4 bytes
//	...      whatever the owner of the file streams; its own checksums apply
//	sections one after the other, as stored
//	toc      per section: id, offset, length, stored length uvarints, how byte
//	         (0 raw, 1 zstd), CRC-32C of the stored bytes 4 bytes
//	footer   length of toc 4 bytes, CRC-32C of toc and the rest of the footer
//	         4 bytes, version 4 bytes, magic 4 bytes
//
// Fixed-width numbers are little endian.
package section

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve/tsdb/internal/block"
)

const (
	// HeaderSize is the length of what a file begins with.
	HeaderSize = 8
	footerSize = 16

	howRaw  = 0
	howZstd = 1

	// maxSection bounds a section before compression, maxRatio what zstd can do.
	maxSection = 1 << 36
	maxRatio   = 1 << 16
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Format names a kind of file and the version that is written, the newest that
// is read.
type Format struct {
	Magic   string // 4 bytes
	Version uint32
}

// AppendHeader appends what a file of the format begins with.
func (f Format) AppendHeader(dst []byte) []byte {
	return binary.LittleEndian.AppendUint32(append(dst, f.Magic[:4]...), f.Version)
}

type entry struct {
	id                     uint64
	offset, length, stored uint64
	how                    byte
	crc                    uint32
}

// Writer lists the sections of a file that is being written.
type Writer struct {
	entries []entry
	encoder *zstd.Encoder
	scratch []byte
}

// Append appends a section with the given id and content to dst, which begins
// at the given offset of the file. Ids must differ.
func (w *Writer) Append(dst []byte, offset int64, id uint64, content []byte) ([]byte, error) {
	stored, how := content, byte(howRaw)
	if len(content) > 64 {
		if w.encoder == nil {
			enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedDefault))
			if err != nil {
				return dst, fmt.Errorf("set up compression of a section: %w", err)
			}
			w.encoder = enc
		}
		w.scratch = w.encoder.EncodeAll(content, w.scratch[:0])
		if len(w.scratch) < len(content) {
			stored, how = w.scratch, howZstd
		}
	}
	w.entries = append(w.entries, entry{id, uint64(offset) + uint64(len(dst)), uint64(len(content)), uint64(len(stored)), how, crc32.Checksum(stored, castagnoli)})
	return append(dst, stored...), nil
}

// AppendFooter appends the table of contents and the footer, the end of the
// file.
func (w *Writer) AppendFooter(dst []byte, f Format) []byte {
	begin := len(dst)
	for _, e := range w.entries {
		dst = binary.AppendUvarint(dst, e.id)
		dst = binary.AppendUvarint(dst, e.offset)
		dst = binary.AppendUvarint(dst, e.length)
		dst = binary.AppendUvarint(dst, e.stored)
		dst = append(dst, e.how)
		dst = binary.LittleEndian.AppendUint32(dst, e.crc)
	}
	toc := dst[begin:]
	length := uint32(len(toc))
	crc := footerCRC(toc, length, f.Version, f.Magic)
	dst = binary.LittleEndian.AppendUint32(dst, length)
	dst = binary.LittleEndian.AppendUint32(dst, crc)
	dst = binary.LittleEndian.AppendUint32(dst, f.Version)
	return append(dst, f.Magic[:4]...)
}

func footerCRC(toc []byte, length, version uint32, magic string) uint32 {
	tail := binary.LittleEndian.AppendUint32(nil, length)
	tail = binary.LittleEndian.AppendUint32(tail, version)
	tail = append(tail, magic[:4]...)
	return crc32.Update(crc32.Checksum(toc, castagnoli), castagnoli, tail)
}

// File is the table of contents of a file.
type File struct {
	r       io.ReaderAt
	entries []entry
	version uint32
	end     int64
}

// Open reads header, footer and table of contents of a file of the given size.
// Errors about its bytes are *block.CorruptionError without a file name, or
// wrap block.ErrVersion.
func Open(r io.ReaderAt, size int64, f Format) (*File, error) {
	if size < HeaderSize+footerSize {
		return nil, corrupt(0, "file of %d bytes is too short", size)
	}
	var head [HeaderSize]byte
	if err := readFull(r, head[:], 0); err != nil {
		return nil, err
	}
	var foot [footerSize]byte
	if err := readFull(r, foot[:], size-footerSize); err != nil {
		return nil, err
	}
	if got := string(foot[12:16]); got != f.Magic {
		return nil, corrupt(size-4, "magic: got %q, want %q", got, f.Magic)
	}
	length, crc, version := binary.LittleEndian.Uint32(foot[0:]), binary.LittleEndian.Uint32(foot[4:]), binary.LittleEndian.Uint32(foot[8:])
	if int64(length) > size-HeaderSize-footerSize {
		return nil, corrupt(size-footerSize, "table of contents of %d bytes in a file of %d", length, size)
	}
	end := size - footerSize - int64(length)
	toc := make([]byte, length)
	if err := readFull(r, toc, end); err != nil {
		return nil, err
	}
	if got := footerCRC(toc, length, version, f.Magic); got != crc {
		return nil, corrupt(end, "checksum of the table of contents: got %08x, want %08x", got, crc)
	}
	if version > f.Version {
		return nil, fmt.Errorf("%s version %d: %w (%d)", f.Magic, version, block.ErrVersion, f.Version)
	}
	if version == 0 || string(head[:4]) != f.Magic || binary.LittleEndian.Uint32(head[4:]) != version {
		return nil, corrupt(0, "header %q does not go with the footer of %s version %d", head, f.Magic, version)
	}
	file := &File{r: r, version: version, end: end}
	return file, file.parse(toc)
}

func (f *File) parse(toc []byte) error {
	size := len(toc)
	for len(toc) > 0 {
		at := f.end + int64(size-len(toc))
		var e entry
		for _, p := range []*uint64{&e.id, &e.offset, &e.length, &e.stored} {
			v, n := binary.Uvarint(toc)
			if n <= 0 {
				return corrupt(at, "table of contents is cut short")
			}
			*p, toc = v, toc[n:]
		}
		if len(toc) < 5 {
			return corrupt(at, "table of contents is cut short")
		}
		e.how, e.crc, toc = toc[0], binary.LittleEndian.Uint32(toc[1:]), toc[5:]
		if e.offset > uint64(f.end) || e.stored > uint64(f.end)-e.offset {
			return corrupt(at, "section %d reaches from %d for %d bytes, beyond %d", e.id, e.offset, e.stored, f.end)
		}
		if e.length > maxSection || e.length > maxRatio*e.stored || e.how > howZstd || e.how == howRaw && e.length != e.stored {
			return corrupt(at, "section %d claims %d bytes stored in %d", e.id, e.length, e.stored)
		}
		f.entries = append(f.entries, e)
	}
	return nil
}

// Version returns the version the file was written in.
func (f *File) Version() uint32 { return f.version }

// SectionsBegin returns where the first section begins: the end of what the
// owner streamed.
func (f *File) SectionsBegin() int64 {
	begin := f.end
	for _, e := range f.entries {
		begin = min(begin, int64(e.offset))
	}
	return begin
}

// Read returns the content of a section in memory of its own, with Pad bytes of
// capacity behind its end. A missing section is an error.
func (f *File) Read(id uint64) ([]byte, error) {
	for _, e := range f.entries {
		if e.id == id {
			return f.read(e)
		}
	}
	return nil, corrupt(f.end, "section %d is missing", id)
}

// Offset returns where a section begins, 0 if there is none.
func (f *File) Offset(id uint64) int64 {
	for _, e := range f.entries {
		if e.id == id {
			return int64(e.offset)
		}
	}
	return 0
}

// decoder is stateless: DecodeAll may be called by many at once.
var decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
	return zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxSection), zstd.WithDecodeAllCapLimit(true))
})

func (f *File) read(e entry) ([]byte, error) {
	stored := make([]byte, e.stored, e.stored+Pad)
	if err := readFull(f.r, stored, int64(e.offset)); err != nil {
		return nil, err
	}
	if got := crc32.Checksum(stored, castagnoli); got != e.crc {
		return nil, corrupt(int64(e.offset), "checksum of section %d: got %08x, want %08x", e.id, got, e.crc)
	}
	if e.how == howRaw {
		return stored, nil
	}
	dec, err := decoder()
	if err != nil {
		return nil, err
	}
	out, err := dec.DecodeAll(stored, make([]byte, 0, e.length+Pad))
	if err != nil {
		return nil, corrupt(int64(e.offset), "decompress section %d: %w", e.id, err)
	}
	if uint64(len(out)) != e.length {
		return nil, corrupt(int64(e.offset), "section %d: got %d bytes, want %d", e.id, len(out), e.length)
	}
	return out, nil
}

func readFull(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	switch {
	case n == len(b):
		return nil
	case err == nil || err == io.EOF:
		return corrupt(at, "%w", io.ErrUnexpectedEOF)
	}
	return fmt.Errorf("read %d bytes at %d: %w", len(b), at, err)
}

func corrupt(at int64, format string, args ...any) error {
	return &block.CorruptionError{Offset: at, Cause: fmt.Errorf(format, args...)}
}
