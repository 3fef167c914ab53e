package write

import (
	"sync"
	"sync/atomic"
)

// cache remembers values by key, the most recent ones: it has two generations,
// and when the young one is full the old one is dropped. A value found in the
// old one moves to the young one.
//
// Lookups take no lock. It may be used by many goroutines at once.
type cache[V any] struct {
	shards   [cacheShards]cacheShard[V]
	maxSlots int // of one table; a power of two
}

const (
	cacheShards   = 16
	minCacheSlots = 64
)

type cacheShard[V any] struct {
	young, old atomic.Pointer[cacheTable[V]]
	mu         sync.Mutex // held to change the tables
	_          [40]byte   // keeps shards on cache lines of their own
}

// cacheTable is a hash table with linear probing, at most half full.
type cacheTable[V any] struct {
	slots []atomic.Pointer[cacheEntry[V]]
	used  int // guarded by the shard
}

type cacheEntry[V any] struct {
	key   key
	value *V
}

// newCache returns a cache of about the given number of values, both
// generations together.
func newCache[V any](entries int) *cache[V] {
	c := &cache[V]{maxSlots: minCacheSlots}
	for c.maxSlots*cacheShards < entries { // slots are twice the values, and there are two generations
		c.maxSlots *= 2
	}
	c.reset()
	return c
}

// reset forgets everything.
func (c *cache[V]) reset() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.young.Store(newCacheTable[V](minCacheSlots))
		s.old.Store(newCacheTable[V](minCacheSlots))
		s.mu.Unlock()
	}
}

func newCacheTable[V any](slots int) *cacheTable[V] {
	return &cacheTable[V]{slots: make([]atomic.Pointer[cacheEntry[V]], slots)}
}

func (c *cache[V]) shard(k key) *cacheShard[V] { return &c.shards[k.a%cacheShards] }

// get returns the value of k, or nil.
func (c *cache[V]) get(k key) *V {
	s := c.shard(k)
	if e := s.young.Load().find(k); e != nil {
		return e.value
	}
	e := s.old.Load().find(k)
	if e == nil {
		return nil
	}
	c.add(e)
	return e.value
}

// put sets the value of k, which must not be nil.
func (c *cache[V]) put(k key, v *V) { c.add(&cacheEntry[V]{key: k, value: v}) }

func (c *cache[V]) add(e *cacheEntry[V]) {
	s := c.shard(e.key)
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.young.Load()
	if 2*(t.used+1) > len(t.slots) {
		if 2*len(t.slots) <= c.maxSlots {
			t = t.doubled()
		} else {
			s.old.Store(t)
			t = newCacheTable[V](minCacheSlots)
		}
		s.young.Store(t)
	}
	t.insert(e)
}

func (t *cacheTable[V]) find(k key) *cacheEntry[V] {
	mask := uint64(len(t.slots) - 1)
	for i := k.b & mask; ; i = (i + 1) & mask {
		e := t.slots[i].Load()
		if e == nil || e.key == k {
			return e
		}
	}
}

func (t *cacheTable[V]) insert(e *cacheEntry[V]) {
	mask := uint64(len(t.slots) - 1)
	for i := e.key.b & mask; ; i = (i + 1) & mask {
		have := t.slots[i].Load()
		if have == nil {
			t.used++
		} else if have.key != e.key {
			continue
		}
		t.slots[i].Store(e)
		return
	}
}

func (t *cacheTable[V]) doubled() *cacheTable[V] {
	bigger := newCacheTable[V](2 * len(t.slots))
	for i := range t.slots {
		if e := t.slots[i].Load(); e != nil {
			bigger.insert(e)
		}
	}
	return bigger
}
