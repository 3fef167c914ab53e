package manifest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// rewriteBytes is the size up to which the file is never written anew.
const rewriteBytes = 1 << 20

var (
	// ErrUnsettled is wrapped by the error of an Apply after which the file
	// could not be made good: the edit is not in the state, but may be in the
	// file, and so be found by the next Open. Files that the edit tells of must
	// stay as they are until an Apply succeeds.
	ErrUnsettled = errors.New("manifest not made good")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("manifest closed")
)

// Manifest is a manifest that is open for edits. Its methods may be called by
// many goroutines at once.
type Manifest struct {
	fs   vfs.FS
	dir  string
	torn int64

	// applying is held during an edit; it guards the fields below. Lock order:
	// applying, mu.
	applying  sync.Mutex
	file      vfs.File // nil: the file must be written anew
	size      int64
	compacted int64 // size of the file if it were written anew, when last known
	unsettled bool  // the file may hold an edit that is not in the state
	closed    bool

	mu struct {
		sync.RWMutex
		state State
	}
}

// Open opens the manifest in dir, which must exist, and makes one when there is
// none. A torn last record is cut off. Damage before that is a *CorruptionError,
// a newer format an error that wraps ErrVersion; nothing is changed then.
func Open(fsys vfs.FS, dir string) (*Manifest, error) {
	c, err := readFile(fsys, dir)
	if errors.Is(err, fs.ErrNotExist) {
		c, err = create(fsys, dir, rand.Read)
	}
	if err != nil {
		return nil, fmt.Errorf("open manifest: %w", err)
	}
	m := &Manifest{fs: fsys, dir: dir, torn: c.torn, size: c.size}
	m.mu.state = c.state
	if err := m.settle(); err != nil {
		return nil, fmt.Errorf("open manifest: %w", err)
	}
	return m, nil
}

// create makes a manifest with an empty state; random fills the key.
func create(fsys vfs.FS, dir string, random func([]byte) (int, error)) (contents, error) {
	c := contents{state: newState()}
	if _, err := random(c.state.LabelHashKey[:]); err != nil {
		return c, fmt.Errorf("draw label hash key: %w", err)
	}
	data, err := encodeFile(c.state)
	if err != nil {
		return c, err
	}
	c.size = int64(len(data))
	return c, vfs.WriteFileAtomic(fsys, path.Join(dir, FileName), data)
}

// settle opens the file for edits, without its torn end and durable as it was
// read: the process that wrote it may have died before it was.
func (m *Manifest) settle() (err error) {
	leftover := path.Join(m.dir, FileName+".tmp") // of a file written anew
	if err := m.fs.Remove(leftover); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := m.fs.SyncDir(m.dir); err != nil {
		return err
	}
	f, err := m.fs.OpenWrite(path.Join(m.dir, FileName))
	if err != nil {
		return err
	}
	if m.torn > 0 {
		if err := f.Truncate(m.size); err != nil {
			return errors.Join(fmt.Errorf("cut torn record: %w", err), f.Close())
		}
	}
	if err := f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	m.file = f
	return nil
}

// Read returns the state of the manifest in dir for tools. It writes nothing and
// passes over a torn last record.
func Read(fsys vfs.FS, dir string) (State, error) {
	c, err := readFile(fsys, dir)
	if err != nil {
		return State{}, fmt.Errorf("read manifest: %w", err)
	}
	return c.state, nil
}

// State returns a copy of the state, which the caller owns but for the matchers
// of tombstones: they must not be changed.
func (m *Manifest) State() State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.mu.state.clone()
}

// TornBytes returns the length of the torn record that Open cut off.
func (m *Manifest) TornBytes() int64 { return m.torn }

// SizeBytes returns the size of the file.
func (m *Manifest) SizeBytes() int64 {
	m.applying.Lock()
	defer m.applying.Unlock()
	return m.size
}

// Apply makes e durable and then part of the state, in full. It keeps nothing
// of e. An edit that changes nothing is not written.
//
// After an error the state is as before, and so is the file, unless the error
// wraps ErrUnsettled; either way the next Apply may be tried.
func (m *Manifest) Apply(e Edit) error {
	m.applying.Lock()
	defer m.applying.Unlock()
	if m.closed {
		return ErrClosed
	}
	old := m.mu.state // only changed under applying
	if err := old.check(e); err != nil {
		return fmt.Errorf("apply edit: %w", err)
	}
	if m.file == nil {
		if err := m.rewrite(old); err != nil {
			return fmt.Errorf("apply edit: %w", err)
		}
	}
	if !old.changes(e) {
		return nil
	}
	if err := m.append(e); err != nil {
		return fmt.Errorf("apply edit: %w", err)
	}
	m.mu.Lock()
	m.mu.state.apply(e)
	m.mu.Unlock()
	m.compact()
	return nil
}

// append writes and fsyncs a record; after an error it takes it back.
func (m *Manifest) append(e Edit) error {
	b, err := appendFramed(nil, record{Edit: e})
	if err != nil {
		return err
	}
	if _, err := m.file.Write(b); err != nil {
		if m.cut() == nil {
			return err
		}
		return m.takeBack(err)
	}
	if err := m.file.Sync(); err != nil {
		return m.takeBack(err) // a second fsync of this file could not be believed
	}
	m.size += int64(len(b))
	return nil
}

// cut removes what was written behind the last sound record.
func (m *Manifest) cut() error {
	if err := m.file.Truncate(m.size); err != nil {
		return err
	}
	return m.file.Sync()
}

// takeBack writes the file anew without the edit that failed for cause.
func (m *Manifest) takeBack(cause error) error {
	m.unsettled = true
	return errors.Join(cause, m.rewrite(m.mu.state))
}

// rewrite replaces the file by one that holds s and nothing else. After an
// error there is no file to append to, and the next Apply begins with this.
func (m *Manifest) rewrite(s State) error {
	m.closeFile()
	name := path.Join(m.dir, FileName)
	data, err := encodeFile(s)
	if err == nil {
		err = vfs.WriteFileAtomic(m.fs, name, data)
	}
	if err != nil && m.unsettled {
		return fmt.Errorf("%w: %w", ErrUnsettled, err)
	}
	if err != nil {
		return err
	}
	m.unsettled = false
	f, err := m.fs.OpenWrite(name)
	if err != nil {
		return err
	}
	m.file, m.size, m.compacted = f, int64(len(data)), int64(len(data))
	return nil
}

// compact writes the file anew when most of it is history. When that fails the
// edit before it stands, and the next Apply tries again.
func (m *Manifest) compact() {
	if m.size <= rewriteBytes || m.size <= 2*m.compacted {
		return
	}
	data, err := encodeFile(m.mu.state)
	if err != nil {
		return
	}
	m.compacted = int64(len(data))
	if m.size > 2*m.compacted {
		_ = m.rewrite(m.mu.state)
	}
}

// closeFile closes a file that is not written again; what it holds is durable
// or given up.
func (m *Manifest) closeFile() {
	if m.file != nil {
		_ = m.file.Close()
		m.file = nil
	}
}

// Close closes the manifest. Every edit that was applied is durable already.
func (m *Manifest) Close() error {
	m.applying.Lock()
	defer m.applying.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.closed = true
	m.closeFile()
	return nil
}
