package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
)

// ErrInjected is wrapped by the errors that a Fault makes up itself.
var ErrInjected = errors.New("injected fault")

// OpKind names an operation of FS or File.
type OpKind string

// The operations: first those of FS, then those of File.
const (
	OpCreate    OpKind = "create"
	OpOpen      OpKind = "open"
	OpMap       OpKind = "map"
	OpOpenWrite OpKind = "openwrite"
	OpRemove    OpKind = "remove"
	OpRemoveAll OpKind = "removeall"
	OpRename    OpKind = "rename"
	OpLink      OpKind = "link"
	OpMkdirAll  OpKind = "mkdirall"
	OpList      OpKind = "list"
	OpStat      OpKind = "stat"
	OpSyncDir   OpKind = "syncdir"
	OpLock      OpKind = "lock"
	OpFree      OpKind = "free"

	OpRead     OpKind = "read"
	OpReadAt   OpKind = "readat"
	OpWrite    OpKind = "write"
	OpSync     OpKind = "sync"
	OpTruncate OpKind = "truncate"
	OpSize     OpKind = "size"
	OpClose    OpKind = "close"
)

// Op is one operation that is about to happen. Name is that of the file or
// folder, the target's for a Rename or Link.
type Op struct {
	Kind OpKind
	Name string
}

// Fault wraps an FS and makes chosen operations fail. An operation that fails
// does nothing, but for a Close, which closes, and a Write under ShortWrites.
// All methods may be called at any time, by many goroutines.
//
// A new Fault fails nothing. One choice at a time holds: the last of FailOp,
// FailFrom, FailIf and FailOnceIf.
type Fault struct {
	inner FS

	mu struct {
		sync.Mutex
		off         bool
		shortWrites bool
		ops         int64
		fired       int64
		choose      func(n int64, op Op) error
	}
}

var _ FS = (*Fault)(nil)

// NewFault wraps inner.
func NewFault(inner FS) *Fault { return &Fault{inner: inner} }

// FailOp fails the k-th operation from now on, counted from 1, and no other.
func (f *Fault) FailOp(k int64) {
	f.choose(func(n int64, op Op) error {
		if n != k {
			return nil
		}
		return injected(n, op)
	})
}

// FailFrom fails the k-th operation from now on and every one after it.
func (f *Fault) FailFrom(k int64) {
	f.choose(func(n int64, op Op) error {
		if n < k {
			return nil
		}
		return injected(n, op)
	})
}

// FailIf fails every operation for which match returns an error, with that
// error. match is called by one goroutine at a time and must not use f.
func (f *Fault) FailIf(match func(Op) error) {
	f.choose(func(_ int64, op Op) error { return match(op) })
}

// FailOnceIf is FailIf for the first such operation only.
func (f *Fault) FailOnceIf(match func(Op) error) {
	done := false
	f.choose(func(_ int64, op Op) error {
		if done {
			return nil
		}
		err := match(op)
		done = err != nil
		return err
	})
}

// Clear fails nothing more and sets the counts to 0.
func (f *Fault) Clear() { f.choose(nil) }

func (f *Fault) choose(fn func(int64, Op) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.choose, f.mu.ops, f.mu.fired = fn, 0, 0
}

// SetEnabled switches f off and on again: while off nothing fails and nothing
// is counted.
func (f *Fault) SetEnabled(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.off = !on
}

// ShortWrites decides whether a failing Write first writes half of its bytes.
func (f *Fault) ShortWrites(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.shortWrites = on
}

// Ops returns how many operations there were since the last choice.
func (f *Fault) Ops() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.ops
}

// Fired returns how many operations failed since the last choice.
func (f *Fault) Fired() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mu.fired
}

func injected(n int64, op Op) error {
	return fmt.Errorf("%w: operation %d, %s %s", ErrInjected, n, op.Kind, op.Name)
}

// check counts an operation and returns the error that it must fail with.
func (f *Fault) check(kind OpKind, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.checkLocked(kind, name)
}

func (f *Fault) checkLocked(kind OpKind, name string) error {
	if f.mu.off {
		return nil
	}
	f.mu.ops++
	if f.mu.choose == nil {
		return nil
	}
	err := f.mu.choose(f.mu.ops, Op{Kind: kind, Name: name})
	if err != nil {
		f.mu.fired++
	}
	return err
}

// checkWrite is check for a Write; short says how many of n bytes to write
// before failing.
func (f *Fault) checkWrite(name string, n int) (short int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.checkLocked(OpWrite, name)
	if err != nil && f.mu.shortWrites {
		short = n / 2
	}
	return short, err
}

// Create implements FS.
func (f *Fault) Create(name string) (File, error) {
	return f.open(OpCreate, name, f.inner.Create)
}

// Open implements FS.
func (f *Fault) Open(name string) (File, error) {
	return f.open(OpOpen, name, f.inner.Open)
}

// Map implements FS. What is read of a mapping is no operation.
func (f *Fault) Map(name string) (Mapping, error) {
	if err := f.check(OpMap, name); err != nil {
		return nil, err
	}
	m, err := f.inner.Map(name)
	if err != nil {
		return nil, err
	}
	return &faultMapping{Mapping: m, fault: f, name: name}, nil
}

// OpenWrite implements FS.
func (f *Fault) OpenWrite(name string) (File, error) {
	return f.open(OpOpenWrite, name, f.inner.OpenWrite)
}

func (f *Fault) open(kind OpKind, name string, open func(string) (File, error)) (File, error) {
	if err := f.check(kind, name); err != nil {
		return nil, err
	}
	file, err := open(name)
	if err != nil {
		return nil, err
	}
	return &faultFile{fault: f, inner: file, name: name}, nil
}

// Remove implements FS.
func (f *Fault) Remove(name string) error {
	if err := f.check(OpRemove, name); err != nil {
		return err
	}
	return f.inner.Remove(name)
}

// RemoveAll implements FS.
func (f *Fault) RemoveAll(name string) error {
	if err := f.check(OpRemoveAll, name); err != nil {
		return err
	}
	return f.inner.RemoveAll(name)
}

// Rename implements FS.
func (f *Fault) Rename(from, to string) error {
	if err := f.check(OpRename, to); err != nil {
		return err
	}
	return f.inner.Rename(from, to)
}

// Link implements FS.
func (f *Fault) Link(from, to string) error {
	if err := f.check(OpLink, to); err != nil {
		return err
	}
	return f.inner.Link(from, to)
}

// MkdirAll implements FS.
func (f *Fault) MkdirAll(name string) error {
	if err := f.check(OpMkdirAll, name); err != nil {
		return err
	}
	return f.inner.MkdirAll(name)
}

// List implements FS.
func (f *Fault) List(name string) ([]string, error) {
	if err := f.check(OpList, name); err != nil {
		return nil, err
	}
	return f.inner.List(name)
}

// Stat implements FS.
func (f *Fault) Stat(name string) (fs.FileInfo, error) {
	if err := f.check(OpStat, name); err != nil {
		return nil, err
	}
	return f.inner.Stat(name)
}

// SyncDir implements FS.
func (f *Fault) SyncDir(name string) error {
	if err := f.check(OpSyncDir, name); err != nil {
		return err
	}
	return f.inner.SyncDir(name)
}

// Lock implements FS.
func (f *Fault) Lock(name string) (io.Closer, error) {
	if err := f.check(OpLock, name); err != nil {
		return nil, err
	}
	return f.inner.Lock(name)
}

// Free implements FS.
func (f *Fault) Free(name string) (uint64, error) {
	if err := f.check(OpFree, name); err != nil {
		return 0, err
	}
	return f.inner.Free(name)
}
