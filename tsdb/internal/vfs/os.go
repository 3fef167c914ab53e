package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrLocked is wrapped by the error of FS.Lock when another holder has the lock.
var ErrLocked = errors.New("locked by another holder")

// OS is the file system of the operating system. Its zero value is ready.
type OS struct{}

var _ FS = OS{}

const (
	fileMode = 0o666
	dirMode  = 0o777
)

// Create implements FS.
func (OS) Create(name string) (File, error) {
	return openOS(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

// Open implements FS.
func (OS) Open(name string) (File, error) {
	return openOS(name, os.O_RDONLY)
}

// Map implements FS. Where the system cannot map files the content is read.
func (OS) Map(name string) (Mapping, error) {
	f, err := os.Open(filepath.FromSlash(name))
	if err != nil {
		return nil, err
	}
	m, err := mapFile(f)
	if err = errors.Join(err, f.Close()); err != nil {
		if m != nil {
			err = errors.Join(err, m.Close())
		}
		return nil, fmt.Errorf("map %s: %w", name, err)
	}
	return m, nil
}

// OpenWrite implements FS.
func (OS) OpenWrite(name string) (File, error) {
	f, err := openOS(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	f.end, err = f.Size()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(filepath.FromSlash(name)) }

// RemoveAll implements FS.
func (OS) RemoveAll(name string) error { return os.RemoveAll(filepath.FromSlash(name)) }

// Rename implements FS.
func (OS) Rename(from, to string) error {
	return os.Rename(filepath.FromSlash(from), filepath.FromSlash(to))
}

// Link implements FS.
func (OS) Link(from, to string) error {
	return os.Link(filepath.FromSlash(from), filepath.FromSlash(to))
}

// MkdirAll implements FS.
func (OS) MkdirAll(name string) error { return os.MkdirAll(filepath.FromSlash(name), dirMode) }

// List implements FS.
func (OS) List(name string) ([]string, error) {
	entries, err := os.ReadDir(filepath.FromSlash(name)) // sorted
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

// Stat implements FS.
func (OS) Stat(name string) (fs.FileInfo, error) { return os.Stat(filepath.FromSlash(name)) }

// SyncDir implements FS. Windows has no such deed; there it does nothing.
func (OS) SyncDir(name string) error { return syncDir(filepath.FromSlash(name)) }

// Lock implements FS. The lock goes with the open file, so the system frees it
// when the process dies; the file itself stays.
func (OS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
	}
	return f, nil
}

// Free implements FS: what an unprivileged process may still write.
func (OS) Free(name string) (uint64, error) {
	n, err := freeBytes(filepath.FromSlash(name))
	if err != nil {
		return 0, &fs.PathError{Op: "free", Path: name, Err: err}
	}
	return n, nil
}

// osFile keeps the write position itself and writes at it, so that reading
// never moves it and Truncate sets it. O_APPEND would do the same on unix, but
// forbids truncation on windows. The os.File is not embedded: its ReadFrom
// would write elsewhere.
type osFile struct {
	f   *os.File
	end int64
}

func openOS(name string, flag int) (*osFile, error) {
	f, err := os.OpenFile(filepath.FromSlash(name), flag, fileMode)
	if err != nil {
		return nil, err
	}
	return &osFile{f: f}, nil
}

// Read implements File.
func (f *osFile) Read(p []byte) (int, error) { return f.f.Read(p) }

// ReadAt implements File.
func (f *osFile) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(p, off) }

// Write implements File.
func (f *osFile) Write(p []byte) (int, error) {
	n, err := f.f.WriteAt(p, f.end)
	f.end += int64(n)
	return n, err
}

// Close implements File.
func (f *osFile) Close() error { return f.f.Close() }

// Sync implements File.
func (f *osFile) Sync() error { return f.f.Sync() }

// Truncate implements File.
func (f *osFile) Truncate(size int64) error {
	if err := f.f.Truncate(size); err != nil {
		return err
	}
	f.end = size
	return nil
}

// Size implements File.
func (f *osFile) Size() (int64, error) {
	info, err := f.f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
