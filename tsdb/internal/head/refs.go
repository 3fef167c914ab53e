package head

import (
	"sync"
	"sync/atomic"
)

const refChunk = 1024

// refTable finds series by number. Looking up takes no lock.
type refTable struct {
	chunks atomic.Pointer[[]*[refChunk]atomic.Pointer[Series]]
	mu     struct {
		sync.Mutex
		next Ref
	}
}

// add gives a series a number.
func (t *refTable) add(s *Series) Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.next++
	ref := t.mu.next
	var chunks []*[refChunk]atomic.Pointer[Series]
	if p := t.chunks.Load(); p != nil {
		chunks = *p
	}
	if int(ref/refChunk) == len(chunks) {
		chunks = append(chunks[:len(chunks):len(chunks)], new([refChunk]atomic.Pointer[Series]))
		t.chunks.Store(&chunks)
	}
	chunks[ref/refChunk][ref%refChunk].Store(s)
	return ref
}

// at returns the series with a number, nil if there is none.
func (t *refTable) at(ref Ref) *Series {
	p := t.chunks.Load()
	if p == nil || int(ref/refChunk) >= len(*p) {
		return nil
	}
	return (*p)[ref/refChunk][ref%refChunk].Load()
}
