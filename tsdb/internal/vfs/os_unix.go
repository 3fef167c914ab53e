//go:build linux || darwin || freebsd

package vfs

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func lockFile(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		}
		return err
	}
}

func freeBytes(dir string) (uint64, error) {
	var st unix.Statfs_t
	for {
		err := unix.Statfs(dir, &st)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return 0, err
		}
		break
	}
	blocks := int64(st.Bavail) //nolint:unconvert // signed on freebsd, where the reserve makes it negative
	return uint64(max(blocks, 0)) * uint64(st.Bsize), nil
}

// mapsFiles says that Map does not read.
const mapsFiles = true

// osMapping is a mapped file.
type osMapping struct{ b []byte }

func mapFile(f *os.File) (Mapping, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	if size == 0 { // the system maps no nothing
		return &osMapping{}, nil
	}
	if size > math.MaxInt {
		return nil, fmt.Errorf("%d bytes are too many", size)
	}
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, err
	}
	return &osMapping{b}, nil
}

// Bytes implements Mapping.
func (m *osMapping) Bytes() []byte { return m.b }

// Drop implements Mapping.
func (m *osMapping) Drop() error {
	if m.b == nil {
		return nil
	}
	return unix.Madvise(m.b, unix.MADV_DONTNEED)
}

// Close implements Mapping.
func (m *osMapping) Close() error {
	if m.b == nil {
		return nil
	}
	b := m.b
	m.b = nil
	return unix.Munmap(b)
}
