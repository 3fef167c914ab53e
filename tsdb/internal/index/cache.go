package index

import (
	"container/list"
	"sync"
)

// Cache is a bounded store of answers that any number of segments and heads
// share. What is in it stays right for ever: an answer of a segment never
// changes, one of a head says up to where it looked and is extended from there.
// So nothing is dropped but the least recently used, to keep the bound, and
// what belongs to a source that is closed. It may be used by many goroutines.
type Cache struct {
	maxBytes int
	mu       struct {
		sync.Mutex
		entries map[string]*list.Element
		recent  list.List // of *cached, the latest in front
		bytes   int
		sources uint64
		hits    uint64
		misses  uint64
	}
}

type cached struct {
	key   string
	value any
	bytes int
}

// cacheOverhead is what an entry takes beside its key and value.
const cacheOverhead = 160

// NewCache returns a cache of at most the given number of bytes.
func NewCache(maxBytes int) *Cache {
	c := &Cache{maxBytes: maxBytes}
	c.mu.entries = map[string]*list.Element{}
	return c
}

// CacheStats are counts since the cache was made, and what it holds.
type CacheStats struct {
	Hits, Misses   uint64
	Entries, Bytes int
}

// Stats returns the counts.
func (c *Cache) Stats() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CacheStats{c.mu.hits, c.mu.misses, len(c.mu.entries), c.mu.bytes}
}

// source returns the number of a new source; a nil cache has none.
func (c *Cache) source() uint64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.sources++
	return c.mu.sources
}

func (c *Cache) get(key []byte) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.mu.entries[string(key)]
	if !ok {
		c.mu.misses++
		return nil
	}
	c.mu.hits++
	c.mu.recent.MoveToFront(e)
	return e.Value.(*cached).value
}

func (c *Cache) put(key []byte, value any, bytes int) {
	bytes += len(key) + cacheOverhead
	if bytes > c.maxBytes/4 {
		return // it would push out too much else
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.mu.entries[string(key)]; ok {
		c.removeLocked(e)
	}
	entry := &cached{string(key), value, bytes}
	c.mu.entries[entry.key] = c.mu.recent.PushFront(entry)
	c.mu.bytes += bytes
	for c.mu.bytes > c.maxBytes {
		c.removeLocked(c.mu.recent.Back())
	}
}

func (c *Cache) removeLocked(e *list.Element) {
	entry := c.mu.recent.Remove(e).(*cached)
	delete(c.mu.entries, entry.key)
	c.mu.bytes -= entry.bytes
}

// drop removes all entries of a source.
func (c *Cache) drop(source uint64) {
	if c == nil {
		return
	}
	prefix := sourceKey(nil, source)
	c.mu.Lock()
	defer c.mu.Unlock()
	for e := c.mu.recent.Front(); e != nil; {
		next := e.Next()
		if key := e.Value.(*cached).key; len(key) >= len(prefix) && key[:len(prefix)] == string(prefix) {
			c.removeLocked(e)
		}
		e = next
	}
}

// Caches are the caches of an index. A nil one is off. The zero value works.
type Caches struct {
	Values  *Cache // by label and regular expression: the values it accepts
	Results *Cache // by list of matchers: the series they select
	Sets    *LabelSets
}
