package vfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"time"
)

type memFile struct {
	fs       *Mem
	node     *memNode
	name     string
	writable bool
	closed   bool
	pos      int64 // of Read
}

func (f *memFile) checkLocked(op string, write bool) error {
	switch {
	case f.closed:
		return pathError(op, f.name, fs.ErrClosed)
	case write && !f.writable:
		return pathError(op, f.name, fs.ErrPermission)
	}
	return nil
}

// Read implements File.
func (f *memFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.pos)
	f.pos += int64(n)
	if n > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	return n, err
}

// ReadAt implements File.
func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if err := f.checkLocked("read", false); err != nil {
		return 0, err
	}
	if off < 0 {
		return 0, pathError("read", f.name, fs.ErrInvalid)
	}
	if len(p) == 0 {
		return 0, nil
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Write implements File. On a full Mem it writes what fits.
func (f *memFile) Write(p []byte) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.checkLocked("write", true); err != nil {
		return 0, err
	}
	n := int(min(int64(len(p)), f.fs.roomLocked()))
	f.node.data = append(f.node.data, p[:n]...)
	f.node.mtime = time.Now()
	f.fs.used += int64(n)
	if n < len(p) {
		return n, pathError("write", f.name, ErrNoSpace)
	}
	return n, nil
}

// Sync implements File.
func (f *memFile) Sync() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.checkLocked("sync", false); err != nil {
		return err
	}
	n := f.node
	n.synced = n.data[:len(n.data):len(n.data)]
	n.stable = len(n.synced)
	return nil
}

// Truncate implements File.
func (f *memFile) Truncate(size int64) error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.checkLocked("truncate", true); err != nil {
		return err
	}
	grow := size - int64(len(f.node.data))
	switch {
	case size < 0:
		return pathError("truncate", f.name, fs.ErrInvalid)
	case grow > f.fs.roomLocked():
		return pathError("truncate", f.name, ErrNoSpace)
	case grow > 0:
		f.node.data = append(f.node.data, make([]byte, grow)...)
		f.fs.used += grow
	default:
		f.fs.truncateLocked(f.node, int(size))
	}
	f.node.mtime = time.Now()
	return nil
}

// truncateLocked shortens a file.
func (m *Mem) truncateLocked(n *memNode, size int) {
	m.used -= int64(len(n.data) - size)
	if size < n.stable {
		n.stable = size
		n.data = bytes.Clone(n.data[:size]) // later writes must not reach the array of synced
		return
	}
	n.data = n.data[:size]
}

// Size implements File.
func (f *memFile) Size() (int64, error) {
	f.fs.mu.RLock()
	defer f.fs.mu.RUnlock()
	if err := f.checkLocked("stat", false); err != nil {
		return 0, err
	}
	return int64(len(f.node.data)), nil
}

// Close implements File.
func (f *memFile) Close() error {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.checkLocked("close", false); err != nil {
		return err
	}
	f.closed = true
	f.node.opens--
	f.fs.freeLocked(f.node)
	return nil
}

// memMapping holds its file open: the bytes count as used until it is closed.
type memMapping struct {
	f *memFile
	b []byte
}

// Bytes implements Mapping.
func (m *memMapping) Bytes() []byte { return m.b }

// Drop implements Mapping: the bytes are those of the file.
func (m *memMapping) Drop() error { return nil }

// Close implements Mapping.
func (m *memMapping) Close() error {
	m.b = nil
	return m.f.Close()
}
