package part

import "sync"

// cache keeps what was used lately, up to a number of bytes. It may be used by
// many goroutines; the zero value with a limit is ready.
type cache[K comparable, V any] struct {
	limit int

	mu struct {
		sync.Mutex
		entries map[K]*cacheEntry[V]
		ring    []K // in the order they came, from hand on
		hand    int
		bytes   int
	}
}

type cacheEntry[V any] struct {
	value V
	bytes int
	used  bool // since the hand last came by
}

func (c *cache[K, V]) get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.mu.entries[key]
	if e == nil {
		return value, false
	}
	e.used = true
	return e.value, true
}

// put adds a value, which takes the given bytes, and throws out what was not
// used for long. Where the key is there already, nothing happens.
func (c *cache[K, V]) put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.entries[key] != nil || bytes > c.limit {
		return
	}
	if c.mu.entries == nil {
		c.mu.entries = map[K]*cacheEntry[V]{}
	}
	entry := &cacheEntry[V]{value: value, bytes: bytes}
	c.mu.bytes += bytes
	slot := -1
	for c.mu.bytes > c.limit {
		slot = c.evict(slot)
	}
	c.mu.entries[key] = entry
	if slot >= 0 {
		c.mu.ring[slot] = key
		return
	}
	c.mu.ring = append(c.mu.ring, key)
}

// evict throws one entry out and returns its place in the ring; a place that is
// free already is closed up.
func (c *cache[K, V]) evict(free int) int {
	if free >= 0 {
		last := len(c.mu.ring) - 1
		c.mu.ring[free] = c.mu.ring[last]
		c.mu.ring = c.mu.ring[:last]
	}
	for {
		if c.mu.hand >= len(c.mu.ring) {
			c.mu.hand = 0
		}
		key := c.mu.ring[c.mu.hand]
		if e := c.mu.entries[key]; e.used {
			e.used = false
			c.mu.hand++
			continue
		}
		c.mu.bytes -= c.mu.entries[key].bytes
		delete(c.mu.entries, key)
		slot := c.mu.hand
		c.mu.hand++
		return slot
	}
}
