package part

import (
	"path"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Mapped bounds the memory that mapped data files of any number of parts take, to
// about a number of bytes. Of blocks whose checksum was compared before statistics
// look at little: through the mapping they read that alone, without a call of the
// system. It may be used by many goroutines; nil maps nothing.
type Mapped struct {
	limit int64
	bytes atomic.Int64 // that were touched since the last drop

	mu struct {
		sync.Mutex
		files []*mappedFile
	}
}

// NewMapped returns one that has no files yet.
func NewMapped(bytes int64) *Mapped { return &Mapped{limit: bytes} }

// mappedStretch is how many bytes the system fetches around one that is touched.
const mappedStretch = 64 << 10

// mappedFile is a data file as memory.
type mappedFile struct {
	vfs.Mapping
	of      *Mapped
	b       []byte
	touched []atomic.Uint64 // bits of stretches
}

// Bytes returns an estimate of what is in memory.
func (m *Mapped) Bytes() int64 { return m.bytes.Load() }

// open maps a file of the given size; nil if that fails: it is read then.
func (m *Mapped) open(fsys vfs.FS, name string, size int64) *mappedFile {
	mapping, err := fsys.Map(name)
	if err != nil {
		return nil
	}
	f := &mappedFile{Mapping: mapping, of: m, b: mapping.Bytes()}
	if int64(len(f.b)) != size {
		_ = mapping.Close() // as if it had failed
		return nil
	}
	f.touched = make([]atomic.Uint64, size/mappedStretch/64+1)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.files = append(m.mu.files, f)
	return f
}

// at returns n bytes of the file.
func (f *mappedFile) at(offset int64, n int) []byte {
	for k := offset / mappedStretch; k <= (offset+int64(n)-1)/mappedStretch; k++ {
		word, bit := &f.touched[k/64], uint64(1)<<(k%64)
		if word.Load()&bit == 0 && word.Or(bit)&bit == 0 && f.of.bytes.Add(mappedStretch) > f.of.limit {
			f.of.drop()
		}
	}
	return f.b[offset:][:n:n]
}

// drop gives all memory back. Those who read meanwhile fetch theirs anew.
func (m *Mapped) drop() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.bytes.Load() <= m.limit {
		return // someone else did
	}
	m.bytes.Store(0)
	for _, f := range m.mu.files {
		some := uint64(0)
		for i := range f.touched {
			if f.touched[i].Load() != 0 {
				some |= f.touched[i].Swap(0)
			}
		}
		if some != 0 {
			_ = f.Drop() // it stays in memory, no more
		}
	}
}

// Close unmaps the file.
func (f *mappedFile) Close() error {
	m := f.of
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, other := range m.mu.files {
		if other == f {
			last := len(m.mu.files) - 1
			m.mu.files[i], m.mu.files[last] = m.mu.files[last], nil
			m.mu.files = m.mu.files[:last]
			break
		}
	}
	return f.Mapping.Close()
}

// checkedBlocks are the blocks of a group whose checksum was compared.
type checkedBlocks [2]atomic.Uint64

func (c *checkedBlocks) has(row int) bool { return c[row/64].Load()>>(row%64)&1 != 0 }
func (c *checkedBlocks) add(row int) {
	if !c.has(row) {
		c[row/64].Or(1 << (row % 64))
	}
}
func (c *checkedBlocks) remove(row int) { c[row/64].And(^(uint64(1) << (row % 64))) }

// mapping returns the data file as memory, nil if that is not wanted or cannot be
// had.
func (g *groups) mapping() *mappedFile {
	g.mapOnce.Do(func() {
		if g.p.mapped != nil && vfs.Maps(g.p.fs) {
			g.mapped = g.p.mapped.open(g.p.fs, path.Join(g.p.dir, DataFile), g.p.dataSize)
		}
	})
	return g.mapped
}

// inPlace returns the payload where the file is mapped, if its checksum was compared
// before: who uses it is guarded.
func (r *reader) inPlace() []byte {
	if !r.lazy || !r.g.checked[r.group].has(r.row) {
		return nil
	}
	f := r.g.mapping()
	if f == nil || r.h.Length == 0 {
		return nil
	}
	return f.at(r.offset(), int(r.h.Length))
}

// guarded calls f, which may look at the payload where the file is mapped. If the
// disk does not deliver it, or the file was cut meanwhile, f is called again with a
// payload that is read, which tells what is wrong.
func (r *reader) guarded(f func()) {
	if !r.lazy {
		f()
		return
	}
	if !r.tried(f) {
		r.payload, r.opened = nil, false
		r.g.checked[r.group].remove(r.row)
		f()
	}
}

func (r *reader) tried(f func()) (ok bool) {
	defer r.caught(debug.SetPanicOnFault(true))
	f()
	return true
}

// caught ends a panic that is a fault of the mapped file; it is to be deferred, with
// what debug.SetPanicOnFault returned.
func (r *reader) caught(old bool) {
	debug.SetPanicOnFault(old)
	x := recover()
	if x == nil {
		return
	}
	fault, ok := x.(interface {
		error
		Addr() uintptr
	})
	if !ok || r.g.mapped == nil {
		panic(x)
	}
	b := r.g.mapped.b
	if at := fault.Addr() - uintptr(unsafe.Pointer(unsafe.SliceData(b))); at >= uintptr(len(b)) {
		panic(x)
	}
}
