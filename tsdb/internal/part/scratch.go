package part

import (
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

const (
	scratchFile  = "scratch"
	scratchBytes = 1 << 20 // that are kept in memory rather
)

// scratch is bytes that are written once and read back: in memory, or in a file of
// the part's directory once they are many.
type scratch struct {
	fs     vfs.FS
	name   string
	limit  int // of memory
	memory []byte
	file   vfs.File
}

// Write implements io.Writer.
func (s *scratch) Write(b []byte) (int, error) {
	if s.file == nil {
		if len(s.memory)+len(b) <= s.limit {
			s.memory = append(s.memory, b...)
			return len(b), nil
		}
		f, err := s.fs.Create(s.name)
		if err != nil {
			return 0, fmt.Errorf("create scratch of part: %w", err)
		}
		s.file = f
		if _, err := f.Write(s.memory); err != nil {
			return 0, err
		}
		s.memory = nil
	}
	return s.file.Write(b)
}

// ReadAt implements io.ReaderAt.
func (s *scratch) ReadAt(b []byte, off int64) (int, error) {
	if s.file != nil {
		return s.file.ReadAt(b, off)
	}
	n := copy(b, s.memory[min(off, int64(len(s.memory))):])
	if n < len(b) {
		return n, io.ErrUnexpectedEOF
	}
	return n, nil
}

// remove removes the file.
func (s *scratch) remove() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.file.Close(), s.fs.Remove(s.name))
	s.file = nil
	if err != nil {
		return fmt.Errorf("remove scratch of part: %w", err)
	}
	return nil
}

func newScratch(fs vfs.FS, dir string) *scratch {
	return &scratch{fs: fs, name: path.Join(dir, scratchFile), limit: scratchBytes}
}
