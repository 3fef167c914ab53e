// Package vfs is the one seam between the store and the disk. Every file that
// the store reads or writes goes through an FS, so that tests can lose power,
// fill the disk or fail the k-th operation.
//
// OS is the real file system, Mem one in memory that can be cloned as after a
// power loss, Fault wraps another one and makes chosen operations fail.
package vfs

import (
	"io"
	"io/fs"
)

// FS is a file system. Names are slash-separated paths; a relative one is
// relative to the process' working directory. Errors satisfy errors.Is with
// fs.ErrNotExist and fs.ErrExist where they apply and carry the path. An FS may
// be used by many goroutines at once.
type FS interface {
	// Create makes a file for writing, cutting an existing one to nothing.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Map makes the content of a file readable as memory, for files that are
	// never written again.
	Map(name string) (Mapping, error)
	// OpenWrite opens an existing file for writing at its end.
	OpenWrite(name string) (File, error)
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// RemoveAll removes a tree; a missing one is no error.
	RemoveAll(name string) error
	// Rename moves a file or folder, replacing an existing file. It is durable
	// only after SyncDir of the folders concerned.
	Rename(from, to string) error
	// Link gives a file a second name (a hard link).
	Link(from, to string) error
	// MkdirAll makes a folder and its parents.
	MkdirAll(name string) error
	// List returns the names in a folder, sorted.
	List(name string) ([]string, error)
	// Stat describes a file or folder.
	Stat(name string) (fs.FileInfo, error)
	// SyncDir makes the entries of a folder durable.
	SyncDir(name string) error
	// Lock takes the lock file name for this process until the Closer is
	// closed; it fails at once with an error that wraps ErrLocked when another
	// holder has it.
	Lock(name string) (io.Closer, error)
	// Free returns the bytes that may still be written under a folder.
	Free(name string) (uint64, error)
}

// File is an open file. One goroutine at a time may Write or Truncate, and one
// may Read; ReadAt, Sync and Size may be called by many meanwhile. A Write goes
// to the end and does not move where Read reads.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes the content durable. After an error nothing is known of what
	// was written since the last success.
	Sync() error
	// Truncate cuts the file to size; the next Write goes to its end.
	Truncate(size int64) error
	// Size returns the length in bytes.
	Size() (int64, error)
}

// Mapping is the content of a file as memory. The system reads it as it is
// touched: a page that the disk fails to deliver, or that was cut off since, is a
// fault of the goroutine that reads it (see runtime/debug.SetPanicOnFault).
type Mapping interface {
	// Bytes returns the content as it was long when it was mapped. Nobody may
	// write to it, nor read it after Close.
	Bytes() []byte
	// Drop lets the system take back the memory of what was read. It changes nothing
	// else: what is read later is fetched anew. It may be called by many, also while
	// others read.
	Drop() error
	io.Closer
}

// Maps tells whether the mappings of a file system take no memory for what nobody
// reads. Where the system cannot map files they are read whole.
func Maps(fsys FS) bool {
	switch f := fsys.(type) {
	case OS:
		return mapsFiles
	case *Mem:
		return true
	case *Fault:
		return Maps(f.inner)
	}
	return false
}
