package write

import (
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb"
)

// cache remembers series by key, the most recent ones: it has two generations,
// and when the young one is full the old one is dropped. A series found in the
// old one moves to the young one.
//
// A series costs 32 to 39 bytes, none of which the garbage collector looks at.
// Lookups take no lock. It may be used by many goroutines at once.
type cache struct {
	shards   [cacheShards]cacheShard
	maxSlots int // of one table
}

const (
	cacheShards   = 64
	minCacheSlots = 16
)

// cacheShard holds the keys of one remainder. Shards grow one by one, so that
// little is held twice at a time.
type cacheShard struct {
	young, old atomic.Pointer[cacheTable]
	mu         sync.Mutex // held to change the tables
	used       int        // of young, guarded by mu
	_          [32]byte   // keeps shards on cache lines of their own
}

// cacheTable is a hash table with linear probing, at most three quarters full.
type cacheTable struct{ slots []cacheSlot }

// cacheSlot is empty as long as its series is 0. A filled one keeps its key: the
// key is stored first, and whoever sees the series sees it.
type cacheSlot struct{ a, b, series atomic.Uint64 }

// newCache returns a cache of about the given number of series, both
// generations together.
func newCache(entries int) *cache {
	c := &cache{maxSlots: max(minCacheSlots, entries/(2*cacheShards)/3*4)}
	c.reset()
	return c
}

// reset forgets everything.
func (c *cache) reset() {
	for i := range c.shards {
		s := &c.shards[i]
		s.mu.Lock()
		s.young.Store(newCacheTable(minCacheSlots))
		s.old.Store(newCacheTable(1))
		s.used = 0
		s.mu.Unlock()
	}
}

func newCacheTable(slots int) *cacheTable { return &cacheTable{slots: make([]cacheSlot, slots)} }

// get returns the series of k, or 0.
func (c *cache) get(k key) tsdb.Series {
	s := &c.shards[k.a%cacheShards]
	if series := s.young.Load().find(k); series != 0 {
		return series
	}
	return c.getOld(s, k)
}

func (c *cache) getOld(s *cacheShard, k key) tsdb.Series {
	series := s.old.Load().find(k)
	if series != 0 {
		c.put(k, series)
	}
	return series
}

// warm looks at the slots of keys that get will be asked for. The memory behind
// them is fetched at the same time, where one get after another would wait each
// for its own.
func (c *cache) warm(keys []key) {
	for _, k := range keys {
		t := c.shards[k.a%cacheShards].young.Load()
		i := t.first(k)
		t.slots[i].series.Load()
		t.slots[min(i+2, len(t.slots)-1)].series.Load() // on the next cache line
	}
}

// put sets the series of k, which must not be 0.
func (c *cache) put(k key, series tsdb.Series) {
	s := &c.shards[k.a%cacheShards]
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.young.Load()
	slot := t.slot(k)
	if slot.series.Load() == 0 {
		if 4*(s.used+1) > 3*len(t.slots) {
			t = s.makeRoom(c.maxSlots)
			slot = t.slot(k)
		}
		s.used++
		slot.a.Store(k.a)
		slot.b.Store(k.b)
	}
	slot.series.Store(uint64(series))
}

// makeRoom returns a young table with room for one more. Tables grow by a fifth,
// as doubling would leave half of their memory unused.
func (s *cacheShard) makeRoom(maxSlots int) *cacheTable {
	t := s.young.Load()
	if len(t.slots) == maxSlots {
		s.old.Store(t)
		t = newCacheTable(minCacheSlots)
		s.used = 0
	} else {
		t = t.grown(min(len(t.slots)+max(minCacheSlots, len(t.slots)/5), maxSlots))
	}
	s.young.Store(t)
	return t
}

// find returns the series of k, or 0. Each slot is looked at once: one that is
// empty may be another key's the next moment.
func (t *cacheTable) find(k key) tsdb.Series {
	for i := t.first(k); ; {
		s := &t.slots[i]
		series := s.series.Load()
		if series == 0 || s.a.Load() == k.a && s.b.Load() == k.b {
			return tsdb.Series(series)
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

// slot returns the slot of k, or the empty one where it would go; for writers,
// who hold the lock of the shard or have the table for themselves.
func (t *cacheTable) slot(k key) *cacheSlot {
	for i := t.first(k); ; {
		s := &t.slots[i]
		if s.series.Load() == 0 || s.a.Load() == k.a && s.b.Load() == k.b {
			return s
		}
		if i++; i == len(t.slots) {
			i = 0
		}
	}
}

// first returns where the search for k begins.
func (t *cacheTable) first(k key) int {
	i, _ := bits.Mul64(k.b, uint64(len(t.slots)))
	return int(i)
}

// grown returns a table of that many slots with what is in t.
func (t *cacheTable) grown(slots int) *cacheTable {
	bigger := newCacheTable(slots)
	for i := range t.slots {
		from := &t.slots[i]
		series := from.series.Load()
		if series == 0 {
			continue
		}
		k := key{from.a.Load(), from.b.Load()}
		to := bigger.slot(k)
		to.a.Store(k.a)
		to.b.Store(k.b)
		to.series.Store(series)
	}
	return bigger
}
