package part

import (
	"fmt"
	"path"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// bufferSize is what a file collects before it is written.
const bufferSize = 256 << 10

// fileWriter writes a file through a buffer. The first error sticks.
type fileWriter struct {
	f      vfs.File
	name   string
	buf    []byte
	offset int64 // of the end of buf in the file
	err    error
}

func createFile(fs vfs.FS, dir, name string) (*fileWriter, error) {
	name = path.Join(dir, name)
	f, err := fs.Create(name)
	if err != nil {
		return nil, fmt.Errorf("create part file: %w", err)
	}
	return &fileWriter{f: f, name: name}, nil
}

// write appends b.
func (w *fileWriter) write(b []byte) {
	w.offset += int64(len(b))
	w.buf = append(w.buf, b...)
	if len(w.buf) >= bufferSize {
		w.flush()
	}
}

func (w *fileWriter) flush() {
	if w.err == nil && len(w.buf) > 0 {
		if n, err := w.f.Write(w.buf); err != nil {
			w.err = fmt.Errorf("write part file %s: %d of %d bytes at %d: %w", w.name, n, len(w.buf), w.offset-int64(len(w.buf)), err)
		}
	}
	w.buf = w.buf[:0]
}

// finish makes the file durable and closes it.
func (w *fileWriter) finish() error {
	w.flush()
	if w.err == nil {
		if err := w.f.Sync(); err != nil {
			w.err = fmt.Errorf("sync part file %s: %w", w.name, err)
		}
	}
	if err := w.close(); err != nil && w.err == nil {
		w.err = err
	}
	return w.err
}

func (w *fileWriter) close() error {
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	if err != nil {
		return fmt.Errorf("close part file %s: %w", w.name, err)
	}
	return nil
}
