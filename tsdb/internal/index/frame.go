package index

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// Version is what segments are written in; the first is another package's.
//
// History: 1 sections of tables, decompressed when opened; 2 used in place; 3
// checksums per page, packed values, no counts where every value has one series.
const Version = 3

// oldest is the first version that Open reads.
const oldest = 2

const (
	magic      = "VIDX"
	headerSize = 8
	footerSize = 16

	secNames    = 1
	secText     = 2
	secGroups   = 3
	secPostings = 4
	secRows     = 5
	secColumns  = 6
	secData     = 7
	secDays     = 8
	secSums     = 9
	sections    = 9

	howRaw  = 0
	howZstd = 1

	alignment  = 64 // of raw sections
	maxRatio   = 1 << 14
	maxSection = 1 << 40
	dataSlack  = 8 // zero bytes at the end of secData, so that columns are read by 8
)

type tocEntry struct {
	id                     uint64
	offset, length, stored uint64
	how                    byte
	crc                    uint32
}

// frame writes sections to w one after the other, as they come.
type frame struct {
	w        io.Writer
	at       int64
	toc      []tocEntry
	table    *crc32.Table
	compress bool
	encoder  *zstd.Encoder
	whole    []byte // of a section to be compressed
	sums     []byte // of the pages that are full
	page     uint32 // checksum of the one that is not
	err      error
}

func newFrame(w io.Writer, compress bool) *frame {
	f := &frame{w: w, table: crc32.MakeTable(crc32.Castagnoli), compress: compress}
	f.write(binary.LittleEndian.AppendUint32([]byte(magic), Version))
	return f
}

func (f *frame) write(b []byte) {
	if f.err != nil {
		return
	}
	n, err := f.w.Write(b)
	f.at += int64(n)
	if err != nil {
		f.err = fmt.Errorf("write %d bytes at %d of index: %w", len(b), f.at, err)
		return
	}
	for from := f.at - int64(len(b)); len(b) > 0; {
		n := min(int64(len(b)), pageSize-from%pageSize)
		f.page = crc32.Update(f.page, f.table, b[:n])
		from, b = from+n, b[n:]
		if from%pageSize == 0 {
			f.sums = binary.LittleEndian.AppendUint32(f.sums, f.page)
			f.page = 0
		}
	}
}

// begin begins a section.
func (f *frame) begin(id uint64) {
	if !f.compress {
		f.write(make([]byte, -f.at&(alignment-1)))
	}
	f.toc = append(f.toc, tocEntry{id: id, offset: uint64(f.at)})
}

// put appends to the section that was begun last.
func (f *frame) put(b []byte) {
	e := &f.toc[len(f.toc)-1]
	e.length += uint64(len(b))
	if f.compress {
		f.whole = append(f.whole, b...)
		return
	}
	e.crc = crc32.Update(e.crc, f.table, b)
	f.write(b)
}

// end ends a section.
func (f *frame) end() {
	e := &f.toc[len(f.toc)-1]
	e.stored = e.length
	if !f.compress {
		return
	}
	stored := f.whole
	if f.encoder == nil {
		f.encoder, f.err = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false), zstd.WithEncoderLevel(zstd.SpeedDefault))
		if f.err != nil {
			return
		}
	}
	if packed := f.encoder.EncodeAll(f.whole, nil); len(packed) < len(stored) && len(packed)*maxRatio > len(stored) {
		stored, e.how, e.stored = packed, howZstd, uint64(len(packed))
	}
	e.crc = crc32.Checksum(stored, f.table)
	f.write(stored)
	f.whole = f.whole[:0]
}

// finish writes the checksums of pages, table of contents and footer.
func (f *frame) finish() (int64, error) {
	if !f.compress { // else each section is read whole anyway
		f.begin(secSums)
		if f.at%pageSize != 0 {
			f.sums = binary.LittleEndian.AppendUint32(f.sums, f.page)
		}
		f.put(f.sums)
		f.end()
	}
	var toc []byte
	for _, e := range f.toc {
		for _, x := range []uint64{e.id, e.offset, e.length, e.stored} {
			toc = binary.AppendUvarint(toc, x)
		}
		toc = binary.LittleEndian.AppendUint32(append(toc, e.how), e.crc)
	}
	length := uint32(len(toc))
	crc := footerCRC(toc, length, Version)
	toc = binary.LittleEndian.AppendUint32(toc, length)
	toc = binary.LittleEndian.AppendUint32(toc, crc)
	toc = binary.LittleEndian.AppendUint32(toc, Version)
	f.write(append(toc, magic...))
	return f.at, f.err
}

func footerCRC(toc []byte, length, version uint32) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	tail := binary.LittleEndian.AppendUint32(nil, length)
	tail = binary.LittleEndian.AppendUint32(tail, version)
	return crc32.Update(crc32.Checksum(toc, table), table, append(tail, magic...))
}

func corrupt(at int64, format string, args ...any) error {
	return &block.CorruptionError{Offset: at, Cause: fmt.Errorf(format, args...)}
}

// contents is an opened frame.
type contents struct {
	version uint32
	entries [sections + 1]*tocEntry // by id
	section [sections + 1]section
	pages   *pages // nil if the file has no checksums of pages
}

// openFrame finds the sections in b. It checks the checksums of those that are
// read whole when a segment is opened, of all if there are none by page. Raw
// sections alias b.
func openFrame(b []byte) (*contents, error) {
	size := int64(len(b))
	if size < headerSize+footerSize {
		return nil, corrupt(0, "index of %d bytes is too short", size)
	}
	foot := b[size-footerSize:]
	if string(foot[12:]) != magic {
		return nil, corrupt(size-4, "magic: got %q, want %q", foot[12:], magic)
	}
	length, crc, version := binary.LittleEndian.Uint32(foot), binary.LittleEndian.Uint32(foot[4:]), binary.LittleEndian.Uint32(foot[8:])
	if int64(length) > size-headerSize-footerSize {
		return nil, corrupt(size-footerSize, "table of contents of %d bytes in an index of %d", length, size)
	}
	end := size - footerSize - int64(length)
	toc := b[end : size-footerSize]
	if got := footerCRC(toc, length, version); got != crc {
		return nil, corrupt(end, "checksum of the table of contents: got %08x, want %08x", got, crc)
	}
	if version > Version {
		return nil, fmt.Errorf("%s version %d: %w (%d)", magic, version, block.ErrVersion, Version)
	}
	if version < oldest || string(b[:4]) != magic || binary.LittleEndian.Uint32(b[4:]) != version {
		return nil, corrupt(0, "header %q does not go with the footer of %s version %d", b[:headerSize], magic, version)
	}
	c := &contents{version: version}
	if err := c.parse(end, toc); err != nil {
		return nil, err
	}
	return c, c.open(b[:end])
}

// parse reads the table of contents.
func (c *contents) parse(end int64, toc []byte) error {
	seen := 0
	for len(toc) > 0 {
		e := new(tocEntry)
		for _, p := range []*uint64{&e.id, &e.offset, &e.length, &e.stored} {
			x, n := binary.Uvarint(toc)
			if n <= 0 {
				return corrupt(end, "table of contents is cut short")
			}
			*p, toc = x, toc[n:]
		}
		if len(toc) < 5 {
			return corrupt(end, "table of contents is cut short")
		}
		e.how, e.crc, toc = toc[0], binary.LittleEndian.Uint32(toc[1:]), toc[5:]
		if e.id == 0 || e.id > sections || c.entries[e.id] != nil {
			return corrupt(end, "section %d is unknown or there twice", e.id)
		}
		if e.offset > uint64(end) || e.stored > uint64(end)-e.offset {
			return corrupt(end, "section %d reaches from %d for %d bytes, beyond %d", e.id, e.offset, e.stored, end)
		}
		c.entries[e.id] = e
		seen++
	}
	if c.entries[secSums] == nil {
		seen++
	}
	if seen != sections {
		return corrupt(end, "got %d sections, want %d", seen, sections)
	}
	return nil
}

// open opens the sections, the checksums of pages first.
func (c *contents) open(b []byte) error {
	for id := sections; id > 0; id-- {
		e := c.entries[id]
		if e == nil {
			continue
		}
		stored := b[e.offset : e.offset+e.stored : e.offset+e.stored]
		s := &c.section[id]
		s.at = e.offset
		switch id {
		case secText, secGroups, secPostings, secData:
			if e.how == howRaw {
				s.pages = c.pages
			}
		}
		if s.pages == nil {
			if got := crc32.Checksum(stored, crc32.MakeTable(crc32.Castagnoli)); got != e.crc {
				return corrupt(int64(e.offset), "checksum of section %d: got %08x, want %08x", e.id, got, e.crc)
			}
		} else if e.offset+e.stored > uint64(len(c.pages.file)) {
			return corrupt(int64(e.offset), "section %d has no checksums", id)
		}
		content, err := e.content(stored)
		if err == nil && id == secSums {
			c.pages, err = newPages(b[:e.offset], content)
		}
		if err != nil {
			return corrupt(int64(e.offset), "section %d: %w", e.id, err)
		}
		s.b = content
	}
	return nil
}

// content returns the section in place, or decompressed.
func (e *tocEntry) content(stored []byte) ([]byte, error) {
	switch e.how {
	case howRaw:
		if e.length != e.stored {
			return nil, fmt.Errorf("%d bytes stored as %d", e.length, e.stored)
		}
		return stored, nil
	case howZstd:
		if e.length > maxSection || e.length > maxRatio*e.stored {
			return nil, fmt.Errorf("%d bytes stored in %d", e.length, e.stored)
		}
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxSection), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, err
		}
		defer dec.Close()
		out, err := dec.DecodeAll(stored, make([]byte, 0, e.length))
		if err == nil && uint64(len(out)) != e.length {
			err = fmt.Errorf("got %d bytes, want %d", len(out), e.length)
		}
		return out, err
	}
	return nil, fmt.Errorf("stored in unknown way %d", e.how)
}
