package vfs

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// syncDir does nothing: windows does not flush folders, NTFS journals them.
func syncDir(string) error { return nil }

func lockFile(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

func freeBytes(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return 0, err
	}
	return free, nil
}

// mapsFiles says that Map reads.
const mapsFiles = false

// osMapping is the content of a file, read.
type osMapping struct{ b []byte }

func mapFile(f *os.File) (Mapping, error) {
	b, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return &osMapping{b}, nil
}

// Bytes implements Mapping.
func (m *osMapping) Bytes() []byte { return m.b }

// Drop implements Mapping: it does nothing.
func (m *osMapping) Drop() error { return nil }

// Close implements Mapping.
func (m *osMapping) Close() error {
	m.b = nil
	return nil
}
