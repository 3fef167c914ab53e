package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"syscall"
)

// ErrNoSpace is wrapped by the errors of a full Mem, as of a full disk on unix.
var ErrNoSpace error = syscall.ENOSPC

// ReadFile returns the whole content of a file; the caller owns it.
func ReadFile(fsys FS, name string) (data []byte, err error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	data = make([]byte, size)
	n, err := f.ReadAt(data, 0)
	if n == len(data) || errors.Is(err, io.EOF) { // shorter: cut by another since Size
		return data[:n], nil
	}
	return nil, fmt.Errorf("read %s: %w", name, err)
}

// WriteFileAtomic replaces the content of name by data, durably: whatever
// happens meanwhile, name holds its old content or data in full. It writes
// name+".tmp", so one goroutine at a time may write a name.
func WriteFileAtomic(fsys FS, name string, data []byte) error {
	tmp := name + ".tmp"
	if err := writeFile(fsys, tmp, data); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), removeLeftover(fsys, tmp))
	}
	if err := fsys.Rename(tmp, name); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), removeLeftover(fsys, tmp))
	}
	if err := fsys.SyncDir(path.Dir(name)); err != nil {
		return fmt.Errorf("write %s: sync its folder: %w", name, err)
	}
	return nil
}

func writeFile(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	return f.Close()
}

func removeLeftover(fsys FS, name string) error {
	if err := fsys.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// MkdirDurable makes a folder and its parents, and makes their entries durable.
// After an error it may be tried again: each folder's entry is durable before
// anything is made in it.
func MkdirDurable(fsys FS, name string) error {
	name = path.Clean(name)
	missing := []string{name} // name itself even when it exists: its entry may not be durable yet
	_, err := fsys.Stat(name)
	for dir := path.Dir(name); errors.Is(err, fs.ErrNotExist) && dir != path.Dir(dir); dir = path.Dir(dir) {
		missing = append(missing, dir) // the last one exists, and may have been left by a try that failed
		_, err = fsys.Stat(dir)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for i, dir := range slices.Backward(missing) {
		existed := err == nil && i == len(missing)-1
		if !existed {
			if err := fsys.MkdirAll(dir); err != nil {
				return err
			}
		}
		syncErr := fsys.SyncDir(path.Dir(dir))
		if existed && i > 0 && errors.Is(syncErr, fs.ErrPermission) {
			continue // it is of someone who let us in, but not look around
		}
		if syncErr != nil {
			return fmt.Errorf("make folder %s durable: %w", dir, syncErr)
		}
	}
	return nil
}
