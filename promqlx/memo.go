package promqlx

import "sync"

// memo remembers what costs time to make again, in two generations: when the young
// one is full it becomes the old one, and what the old one had that was not asked
// for since is forgotten. It is safe for concurrent use; what it gives out is shared.
type memo[K comparable, V any] struct {
	max int // bytes of a generation

	mu struct {
		sync.Mutex
		young, old map[K]remembered[V]
		bytes      int // of the young
	}
}

type remembered[V any] struct {
	value V
	bytes int
}

// get returns what is remembered of k.
func (m *memo[K, V]) get(k K) (v V, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.mu.young[k]
	if !ok {
		if r, ok = m.mu.old[k]; ok {
			m.putLocked(k, r)
		}
	}
	return r.value, ok
}

// put remembers v, which takes about so many bytes with its key, if that is not
// more than half a generation.
func (m *memo[K, V]) put(k K, v V, bytes int) {
	if bytes > m.max/2 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.putLocked(k, remembered[V]{v, bytes})
}

func (m *memo[K, V]) putLocked(k K, r remembered[V]) {
	if _, ok := m.mu.young[k]; !ok {
		if m.mu.bytes+r.bytes > m.max {
			m.mu.old, m.mu.young, m.mu.bytes = m.mu.young, nil, 0
		}
		m.mu.bytes += r.bytes
	}
	if m.mu.young == nil {
		m.mu.young = map[K]remembered[V]{}
	}
	m.mu.young[k] = r
}
