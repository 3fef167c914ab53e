package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory that knows what a power loss would leave: the
// content of a file as of its last File.Sync and the entries of a folder as of
// its last SyncDir (see CrashClone). Relative and absolute names are the same.
type Mem struct {
	mu       sync.RWMutex
	root     *memNode
	capacity int64 // bytes of all files together; < 0: no limit
	used     int64
}

var _ FS = (*Mem)(nil)

// memNode is a file or a folder; a file with two names is one node.
type memNode struct {
	isDir bool
	mtime time.Time

	// A file. synced is the content as of the last Sync. While nothing was cut
	// below its end since, data extends it and shares its array; the shared
	// bytes are never written again.
	data, synced []byte
	stable       int // data[:stable] was never cut since the last Sync; <= len(synced)
	names, opens int // the node's bytes are freed when both are 0
	locked       bool

	// A folder. durable holds the entries as of the last SyncDir.
	entries, durable map[string]*memNode
}

func newMemDir() *memNode {
	return &memNode{isDir: true, mtime: time.Now(), entries: map[string]*memNode{}, durable: map[string]*memNode{}}
}

// NewMem returns an empty file system without a limit.
func NewMem() *Mem { return &Mem{root: newMemDir(), capacity: -1} }

// SetCapacity limits the bytes of all files together, from now on; a negative
// number lifts the limit. What no longer fits is refused with an error that
// wraps ErrNoSpace, after as many bytes as do fit.
func (m *Mem) SetCapacity(bytes int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.capacity = bytes
}

// Used returns the bytes of all files together.
func (m *Mem) Used() int64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.used
}

func memParts(name string) []string {
	name = strings.TrimPrefix(path.Clean(name), "/")
	if name == "." || name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (m *Mem) lookupLocked(op, name string) (*memNode, error) {
	n := m.root
	for _, part := range memParts(name) {
		if !n.isDir {
			return nil, pathError(op, name, syscall.ENOTDIR)
		}
		next, ok := n.entries[part]
		if !ok {
			return nil, pathError(op, name, fs.ErrNotExist)
		}
		n = next
	}
	return n, nil
}

func (m *Mem) dirLocked(op, name string) (*memNode, error) {
	n, err := m.lookupLocked(op, name)
	if err == nil && !n.isDir {
		return nil, pathError(op, name, syscall.ENOTDIR)
	}
	return n, err
}

func (m *Mem) fileLocked(op, name string) (*memNode, error) {
	n, err := m.lookupLocked(op, name)
	if err == nil && n.isDir {
		return nil, pathError(op, name, syscall.EISDIR)
	}
	return n, err
}

// parentLocked returns the folder that holds name, and the last part of name.
func (m *Mem) parentLocked(op, name string) (*memNode, string, error) {
	parts := memParts(name)
	if len(parts) == 0 {
		return nil, "", pathError(op, name, fs.ErrInvalid)
	}
	dir, err := m.dirLocked(op, path.Join(parts[:len(parts)-1]...))
	if err != nil {
		return nil, "", err
	}
	return dir, parts[len(parts)-1], nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.createLocked("create", name)
	if err != nil {
		return nil, err
	}
	m.truncateLocked(n, 0)
	return m.openLocked(n, name, true), nil
}

// createLocked returns the file of that name, made when missing.
func (m *Mem) createLocked(op, name string) (*memNode, error) {
	dir, base, err := m.parentLocked(op, name)
	if err != nil {
		return nil, err
	}
	n, ok := dir.entries[base]
	if ok && n.isDir {
		return nil, pathError(op, name, syscall.EISDIR)
	}
	if !ok {
		n = &memNode{mtime: time.Now(), names: 1}
		dir.entries[base] = n
	}
	return n, nil
}

func (m *Mem) openLocked(n *memNode, name string, writable bool) *memFile {
	n.opens++
	return &memFile{fs: m, node: n, name: name, writable: writable}
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, false) }

// Map implements FS. The mapping aliases the content of the file.
func (m *Mem) Map(name string) (Mapping, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.fileLocked("map", name)
	if err != nil {
		return nil, err
	}
	return &memMapping{f: m.openLocked(n, name, false), b: n.data[:len(n.data):len(n.data)]}, nil
}

// OpenWrite implements FS.
func (m *Mem) OpenWrite(name string) (File, error) { return m.open(name, true) }

func (m *Mem) open(name string, writable bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.fileLocked("open", name)
	if err != nil {
		return nil, err
	}
	return m.openLocked(n, name, writable), nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parentLocked("remove", name)
	if err != nil {
		return err
	}
	n, ok := dir.entries[base]
	switch {
	case !ok:
		return pathError("remove", name, fs.ErrNotExist)
	case n.isDir && len(n.entries) > 0:
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.unlinkLocked(dir, base)
	return nil
}

// unlinkLocked takes a name out of dir, with all that is under it.
func (m *Mem) unlinkLocked(dir *memNode, base string) {
	n := dir.entries[base]
	delete(dir.entries, base)
	for child := range n.entries {
		m.unlinkLocked(n, child)
	}
	n.names--
	m.freeLocked(n)
}

// freeLocked gives back the bytes of a file that nothing refers to.
func (m *Mem) freeLocked(n *memNode) {
	if !n.isDir && n.names == 0 && n.opens == 0 {
		m.used -= int64(len(n.data))
	}
}

// RemoveAll implements FS.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.parentLocked("removeall", name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if _, ok := dir.entries[base]; ok {
		m.unlinkLocked(dir, base)
	}
	return nil
}

// Rename implements FS.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	fromDir, fromBase, err := m.parentLocked("rename", from)
	if err != nil {
		return err
	}
	n, ok := fromDir.entries[fromBase]
	if !ok {
		return pathError("rename", from, fs.ErrNotExist)
	}
	toDir, toBase, err := m.parentLocked("rename", to)
	if err != nil {
		return err
	}
	old, ok := toDir.entries[toBase]
	switch {
	case ok && old == n:
		return nil
	case ok && (old.isDir || n.isDir):
		return pathError("rename", to, fs.ErrExist)
	case n.isDir && strings.HasPrefix(path.Clean(to)+"/", path.Clean(from)+"/"):
		return pathError("rename", to, fs.ErrInvalid)
	case ok:
		m.unlinkLocked(toDir, toBase)
	}
	delete(fromDir.entries, fromBase)
	toDir.entries[toBase] = n
	return nil
}

// Link implements FS.
func (m *Mem) Link(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.fileLocked("link", from)
	if err != nil {
		return err
	}
	dir, base, err := m.parentLocked("link", to)
	if err != nil {
		return err
	}
	if _, ok := dir.entries[base]; ok {
		return pathError("link", to, fs.ErrExist)
	}
	n.names++
	dir.entries[base] = n
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.root
	for _, part := range memParts(name) {
		next, ok := n.entries[part]
		if !ok {
			next = newMemDir()
			n.entries[part] = next
		}
		if !next.isDir {
			return pathError("mkdir", name, syscall.ENOTDIR)
		}
		n = next
	}
	return nil
}

// List implements FS.
func (m *Mem) List(name string) ([]string, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.dirLocked("list", name)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(n.entries)), nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (fs.FileInfo, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	n, err := m.lookupLocked("stat", name)
	if err != nil {
		return nil, err
	}
	return memInfo{name: path.Base(name), size: int64(len(n.data)), isDir: n.isDir, mtime: n.mtime}, nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.dirLocked("syncdir", name)
	if err != nil {
		return err
	}
	n.durable = maps.Clone(n.entries)
	return nil
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.createLocked("lock", name)
	if err != nil {
		return nil, err
	}
	if n.locked {
		return nil, fmt.Errorf("lock %s: %w", name, ErrLocked)
	}
	n.locked = true
	return &memLock{fs: m, node: n}, nil
}

// Free implements FS.
func (m *Mem) Free(name string) (uint64, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if _, err := m.lookupLocked("free", name); err != nil {
		return 0, err
	}
	return uint64(m.roomLocked()), nil
}

func (m *Mem) roomLocked() int64 {
	if m.capacity < 0 {
		return math.MaxInt64
	}
	return max(m.capacity-m.used, 0)
}

type memLock struct {
	fs   *Mem
	node *memNode
	once sync.Once
}

func (l *memLock) Close() error {
	err := fs.ErrClosed
	l.once.Do(func() {
		l.fs.mu.Lock()
		defer l.fs.mu.Unlock()
		l.node.locked, err = false, nil
	})
	return err
}

type memInfo struct {
	name  string
	size  int64
	isDir bool
	mtime time.Time
}

func (i memInfo) Name() string       { return i.name }
func (i memInfo) Size() int64        { return i.size }
func (i memInfo) ModTime() time.Time { return i.mtime }
func (i memInfo) IsDir() bool        { return i.isDir }
func (i memInfo) Sys() any           { return nil }

func (i memInfo) Mode() fs.FileMode {
	if i.isDir {
		return fs.ModeDir | dirMode
	}
	return fileMode
}
