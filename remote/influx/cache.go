package influx

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb"
)

// cache maps the raw text of measurement and tags, under the labels that a
// request adds, to the series of its fields. Finding takes no lock; all methods
// may be called from many goroutines.
//
// It has two generations. New rows go into the young one; when that has used
// half of the budget it becomes the old one, and what was old is dropped. A row
// found in the old generation moves to the young one, so what is in use stays.
//
// Rows are compared byte by byte: the keyed hash only says where to look.
type cache struct {
	seed   maphash.Seed
	budget int64 // bytes of both generations

	young, old atomic.Pointer[table]

	mu struct {
		sync.Mutex // held by writers
		bytes      int64
		shapes     map[string]*shape // of the young generation, by their keys joined
		shapeKey   []byte
	}
}

// row is one measurement with its tags. All but set is fixed.
type row struct {
	hash uint64
	ctx  string // the labels that the request adds
	key  string // measurement and tags as written
	set  atomic.Pointer[fieldSet]
}

// fieldSet is the fields of a row, in the order in which they first came. It is
// fixed: a row with a new field gets a new set.
type fieldSet struct {
	shape  *shape
	series []tsdb.Series // 0 where the field was only ever a string
	// settled is the last tsdb.Stamp for which the store said that all series are.
	settled atomic.Uint64
}

// shape is the field keys which many rows have in common. It is fixed.
type shape struct {
	keys  []string       // as written, each with its equals sign
	index map[string]int // nil when there are few keys
}

// Fewer keys than this are searched one by one.
const indexedShape = 16

// A row has at most this many fields with this much text; further ones are
// resolved each time.
const (
	maxRowFields   = 1024
	maxRowKeyBytes = 64 << 10
)

// What a row and its fields cost beyond their text, about.
const (
	rowOverhead   = 160
	fieldOverhead = 16
)

// table is a hash table with open addressing. Only its slots change, each from
// nil to a row.
type table struct {
	slots []atomic.Pointer[row] // a power of two
	used  int                   // guarded by cache.mu
}

const minTableSlots = 1024

func newTable(slots int) *table { return &table{slots: make([]atomic.Pointer[row], slots)} }

func newCache(budget int64) *cache {
	c := &cache{seed: maphash.MakeSeed(), budget: budget}
	c.young.Store(newTable(minTableSlots))
	c.old.Store(newTable(1))
	c.mu.shapes = map[string]*shape{}
	return c
}

// hashContext returns what find wants to know of a context.
func (c *cache) hashContext(ctx string) uint64 { return maphash.String(c.seed, ctx) }

func (c *cache) hash(ctxHash uint64, key []byte) uint64 {
	return maphash.Bytes(c.seed, key) ^ ctxHash
}

// find returns the row of a key, nil when there is none.
func (c *cache) find(ctx string, ctxHash uint64, key []byte) *row {
	hash := c.hash(ctxHash, key)
	if r := c.young.Load().find(hash, ctx, key); r != nil {
		return r
	}
	r := c.old.Load().find(hash, ctx, key)
	if r != nil {
		c.promote(r)
	}
	return r
}

func (t *table) find(hash uint64, ctx string, key []byte) *row {
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		r := t.slots[i].Load()
		if r == nil {
			return nil
		}
		if r.hash == hash && r.key == string(key) && r.ctx == ctx {
			return r
		}
	}
}

// promote moves a row of the old generation to the young one.
func (c *cache) promote(r *row) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.young.Load().find(r.hash, r.ctx, []byte(r.key)) == nil {
		c.insertLocked(r)
	}
}

// add makes the fields known for a key: series[i] belongs to fields[i] and is
// 0 for a string. Fields which the row has already keep their place.
func (c *cache) add(ctx string, ctxHash uint64, key []byte, fields []field, series []tsdb.Series) {
	hash := c.hash(ctxHash, key)
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.young.Load().find(hash, ctx, key)
	if r == nil {
		r = &row{hash: hash, ctx: ctx, key: string(key)}
		r.set.Store(c.mergeLocked(&fieldSet{shape: &shape{}}, fields, series))
		c.insertLocked(r)
		return
	}
	before := r.bytes()
	r.set.Store(c.mergeLocked(r.set.Load(), fields, series))
	if c.mu.bytes += r.bytes() - before; c.mu.bytes > c.budget/2 {
		c.rotateLocked(r)
		c.young.Load().insert(r)
	}
}

// mergeLocked returns the set with the fields added to it.
func (c *cache) mergeLocked(set *fieldSet, fields []field, series []tsdb.Series) *fieldSet {
	keys := append([]string(nil), set.shape.keys...)
	merged := append([]tsdb.Series(nil), set.series...)
	known := make(map[string]int, len(keys)+len(fields))
	keyBytes := 0
	for i, k := range keys {
		known[k] = i
		keyBytes += len(k)
	}
	for i, f := range fields {
		at, ok := known[string(f.key)]
		switch {
		case ok && series[i] != 0:
			merged[at] = series[i]
		case !ok && len(keys) < maxRowFields && keyBytes+len(f.key) <= maxRowKeyBytes:
			k := string(f.key)
			keyBytes += len(k)
			known[k] = len(keys)
			keys = append(keys, k)
			merged = append(merged, series[i])
		}
	}
	return &fieldSet{shape: c.shapeLocked(keys), series: merged}
}

// shapeLocked returns the one shape with these keys.
func (c *cache) shapeLocked(keys []string) *shape {
	joined := c.mu.shapeKey[:0]
	for _, k := range keys {
		joined = append(append(joined, k...), ',') // a raw key holds no bare comma after its equals sign
	}
	c.mu.shapeKey = joined
	if s, ok := c.mu.shapes[string(joined)]; ok {
		return s
	}
	s := &shape{keys: keys}
	if len(keys) >= indexedShape {
		s.index = make(map[string]int, len(keys))
		for i, k := range keys {
			s.index[k] = i
		}
	}
	c.mu.shapes[string(joined)] = s
	c.mu.bytes += int64(2*len(joined) + len(keys)*3*fieldOverhead)
	return s
}

func (c *cache) insertLocked(r *row) {
	if r.bytes() > c.budget/4 {
		return // it would push out everything else
	}
	if c.mu.bytes += r.bytes(); c.mu.bytes > c.budget/2 {
		c.rotateLocked(r)
	}
	t := c.young.Load()
	if 2*(t.used+1) > len(t.slots) {
		t = t.grown()
		c.young.Store(t)
	}
	t.insert(r)
}

// rotateLocked starts a new generation for r.
func (c *cache) rotateLocked(r *row) {
	c.old.Store(c.young.Load())
	c.young.Store(newTable(minTableSlots))
	c.mu.bytes = r.bytes()
	c.mu.shapes = map[string]*shape{}
}

func (t *table) insert(r *row) {
	mask := uint64(len(t.slots) - 1)
	i := r.hash & mask
	for t.slots[i].Load() != nil {
		i = (i + 1) & mask
	}
	t.slots[i].Store(r)
	t.used++
}

func (t *table) grown() *table {
	bigger := newTable(2 * len(t.slots))
	for i := range t.slots {
		if r := t.slots[i].Load(); r != nil {
			bigger.insert(r)
		}
	}
	return bigger
}

// full reports that add would not take further fields.
func (s *shape) full() bool { return len(s.keys) >= maxRowFields }

// bytes is what a row costs, about.
func (r *row) bytes() int64 {
	return int64(rowOverhead + len(r.key) + len(r.ctx) + fieldOverhead*len(r.set.Load().series))
}

// find returns the place of a key, looking first at the place where a sender
// that keeps its order has it; -1 when the shape does not have it.
func (s *shape) find(key []byte, expected int) int {
	if expected < len(s.keys) && s.keys[expected] == string(key) {
		return expected
	}
	if s.index != nil {
		if i, ok := s.index[string(key)]; ok {
			return i
		}
		return -1
	}
	for i, k := range s.keys {
		if k == string(key) {
			return i
		}
	}
	return -1
}

// size returns the bytes in use, about, and the rows of the young generation.
func (c *cache) size() (bytes int64, rows int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.bytes, c.young.Load().used
}
