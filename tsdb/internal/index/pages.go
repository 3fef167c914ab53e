package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"unsafe"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// pageSize is what a checksum of secSums covers.
const pageSize = 1 << 16

// pages checks the pages of a file when they are touched first.
type pages struct {
	file  []byte // up to secSums
	sums  []byte // 4 bytes a page
	table *crc32.Table
	good  []atomic.Uint32 // bits by page
}

func newPages(file, sums []byte) (*pages, error) {
	n := (len(file) + pageSize - 1) / pageSize
	if len(sums) != 4*n {
		return nil, fmt.Errorf("checksums of %d bytes for %d pages", len(sums), n)
	}
	return &pages{file: file, sums: sums, table: crc32.MakeTable(crc32.Castagnoli), good: make([]atomic.Uint32, n/32+1)}, nil
}

// check returns an error unless page i is as it was written.
func (p *pages) check(i uint64) error {
	page := p.file[i*pageSize : min((i+1)*pageSize, uint64(len(p.file)))]
	want := binary.LittleEndian.Uint32(p.sums[4*i:])
	if got := crc32.Checksum(page, p.table); got != want {
		return corrupt(int64(i*pageSize), "checksum of page %d: got %08x, want %08x", i, got, want)
	}
	p.good[i/32].Or(1 << (i % 32))
	return nil
}

// section is a section of a segment, or a part of one.
type section struct {
	b     []byte
	at    uint64 // in the file, for pages and messages
	pages *pages // nil: all of it has been checked
}

// touch says that bytes of the section are about to be read. It panics with
// damage if they are not what was written or not there.
func (s *section) touch(from, to uint64) {
	if from < to && to <= uint64(len(s.b)) { // most often a page that was touched before
		if s.pages == nil {
			return
		}
		i := (s.at + from) / pageSize
		if i == (s.at+to-1)/pageSize && s.pages.good[i/32].Load()>>(i%32)&1 != 0 {
			return
		}
	}
	s.touchPages(from, to)
}

func (s *section) touchPages(from, to uint64) {
	if to > uint64(len(s.b)) || from > to {
		panic(s.damaged(from, "%d bytes reach beyond %d", to-from, len(s.b)))
	}
	if s.pages == nil || from == to {
		return
	}
	for i := (s.at + from) / pageSize; i <= (s.at+to-1)/pageSize; i++ {
		if s.pages.good[i/32].Load()>>(i%32)&1 != 0 {
			continue
		}
		if err := s.pages.check(i); err != nil {
			panic(&damage{err})
		}
	}
}

func (s *section) damaged(at uint64, format string, args ...any) *damage {
	return &damage{corrupt(int64(s.at+at), format, args...)}
}

// part returns n bytes of the section.
func (s *section) part(from, n uint64) section {
	return section{b: s.b[from : from+n : from+n], at: s.at + from, pages: s.pages}
}

// damage is what a look-up panics with that meets bytes which cannot be right.
// It does not leave the package: see Segment.caught.
type damage struct{ err error }

// caught turns damage that a look-up met into its error; it is to be deferred,
// with what debug.SetPanicOnFault returned. Three kinds are damage: what the
// package found itself; a fault of the mapped memory, when the disk does not
// deliver or the file was cut; and an index out of range, which is how Go's
// bounds checks report what a file claims that its checksums vouch for, but no
// Writer wrote. All else is a bug of ours and goes on.
func (s *Segment) caught(old bool, err *error) {
	debug.SetPanicOnFault(old)
	switch x := recover().(type) {
	case nil:
	case *damage:
		*err = s.located(x.err)
	case interface {
		error
		Addr() uintptr
	}:
		at := x.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(s.file)))
		if at >= uintptr(len(s.file)) {
			panic(x)
		}
		*err = s.located(corrupt(int64(at), "memory fault: %w", x))
	case runtime.Error:
		if x.Error() == nilDereference {
			panic(x)
		}
		*err = s.located(corrupt(0, "does not add up: %w", x))
	default:
		panic(x)
	}
}

// located adds the name of the file.
func (s *Segment) located(err error) error {
	var c *block.CorruptionError
	if errors.As(err, &c) && c.File == "" {
		err = &block.CorruptionError{File: s.File, Offset: c.Offset, Cause: c.Cause}
	}
	return fmt.Errorf("read index: %w", err)
}

// nilDereference is the one runtime error that no bytes of a file bring about.
const nilDereference = "runtime error: invalid memory address or nil pointer dereference"

// Guard calls f, which may use what the segment returned: iterate over its sets,
// fill columns, and call the methods that return no error. Damage that f meets,
// or a disk that does not deliver, makes it stop there, and Guard returns that: a
// *block.CorruptionError with the offset. f runs on the caller's goroutine and
// must not wait for others that use the segment without a Guard of their own.
func (s *Segment) Guard(f func() error) (err error) {
	defer s.caught(debug.SetPanicOnFault(true), &err)
	return f()
}
