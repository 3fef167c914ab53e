package cache

import (
	"container/list"
	"sync"
	"sync/atomic"
	"time"
)

// Store tells whether samples are what they were: see DB.Generation of tsdb. One
// store is one comparable value.
type Store interface {
	Generation(mint, maxt int64) uint64
}

// Cache keeps entries of many plans, those that were used last, within a budget. It
// is safe for concurrent use.
type Cache struct {
	opts Options

	mu      sync.Mutex
	entries map[place]*list.Element // of *kept
	used    list.List               // the latest first
	bytes   int64

	hits, misses, evictions atomic.Int64
}

// place is a bucket of a plan.
type place struct {
	store  Store
	plan   [32]byte // sum of all that the value at a step hangs on
	bucket int64
}

type kept struct {
	place
	*entry
}

// Options configure a Cache.
type Options struct {
	// Bytes bounds the memory of all entries, their administration included.
	Bytes int64
	// An evaluation is kept if it took MinTime or read MinSamples. 0 stands for
	// DefaultMinTime and DefaultMinSamples, a negative number for anything.
	MinTime    time.Duration
	MinSamples int64
}

// Defaults of Options.
const (
	DefaultMinTime    = 2 * time.Millisecond
	DefaultMinSamples = 50_000
)

// New returns an empty cache.
func New(opts Options) *Cache {
	if opts.MinTime == 0 {
		opts.MinTime = DefaultMinTime
	}
	if opts.MinSamples == 0 {
		opts.MinSamples = DefaultMinSamples
	}
	return &Cache{opts: opts, entries: map[place]*list.Element{}}
}

// Stats are counts since the cache was made, and what it holds.
type Stats struct {
	// Hits and Misses are the buckets that were taken from the cache, and those
	// that could have been but were evaluated.
	Hits, Misses int64
	// Evictions are the entries that made room for others.
	Evictions      int64
	Entries, Bytes int64
}

// Stats returns the figures of now.
func (c *Cache) Stats() Stats {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{
		Hits: c.hits.Load(), Misses: c.misses.Load(), Evictions: c.evictions.Load(),
		Entries: int64(len(c.entries)), Bytes: c.bytes,
	}
}

// find puts the entries of the buckets that may be kept in their place, whether
// they are valid or not.
func (c *Cache) find(at place, buckets []bucket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range buckets {
		if b := &buckets[i]; !b.live {
			at.bucket = b.number
			if e, ok := c.entries[at]; ok {
				c.used.MoveToFront(e)
				b.entry = e.Value.(kept).entry
			}
		}
	}
}

// put keeps an entry, in the place of another of its bucket.
func (c *Cache) put(at place, e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.removeLocked(at)
	c.entries[at] = c.used.PushFront(kept{at, e})
	c.bytes += e.bytes
	for c.bytes > c.opts.Bytes {
		c.removeLocked(c.used.Back().Value.(kept).place)
		c.evictions.Add(1)
	}
}

// drop removes the entries of the buckets.
func (c *Cache) drop(at place, buckets []bucket) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range buckets {
		at.bucket = b.number
		c.removeLocked(at)
	}
}

func (c *Cache) removeLocked(at place) {
	if e, ok := c.entries[at]; ok {
		c.bytes -= c.used.Remove(e).(kept).bytes
		delete(c.entries, at)
	}
}
