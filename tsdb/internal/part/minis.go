package part

import (
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/varvedb/varve/tsdb/internal/b1"
)

// Minis keeps minis, which are stretches of the floats of a series, decoded, or whole
// blocks of them, for reads to come, of any number of parts, up to a
// number of bytes. They are found in their page without a lock, header and payload of
// the block untouched. One is kept from its first reading on while there is plenty of
// room, else from the second; of those that come when there is no room only some are,
// in the place of those not read for longest. It may be used by many goroutines; nil
// keeps nothing.
type Minis struct {
	limit int64
	bytes atomic.Int64  // that are kept
	late  atomic.Uint64 // that came when there was no room

	// met has a word for what was read once, in the place that its hash says;
	// what falls on the same place displaces it.
	met struct {
		sync.Once
		seed  maphash.Seed
		words []atomic.Uint32
	}

	mu struct {
		sync.Mutex
		ring []*mini // from next on: a queue with second chances
		next int
	}
}

const (
	// miniOverhead is the bytes of a mini beside its columns: itself, its place in
	// the ring and in the list of its row.
	miniOverhead = int(unsafe.Sizeof(mini{})) + 80
	// miniRowsBytes is those of the rows of a page that has any.
	miniRowsBytes = int64(unsafe.Sizeof(miniRows{}))
	// metBytes is for how many bytes there is a word of met.
	metBytes = 512
	// secondChances bounds how many minis that were read lately one that comes passes.
	secondChances = 64
)

// miniRows are the minis of a page that are kept, each list in the order of time.
type miniRows struct {
	list [b1.PageBlocks]atomic.Pointer[[]*mini]
	of   *groups
	n    int // of all lists; guarded by Minis.mu
}

// miniKey is what a mini is known by.
type miniKey struct {
	group *groups
	begin int64 // of the group
	row   int
	k     int
}

// NewMinis returns an empty one.
func NewMinis(bytes int) *Minis { return &Minis{limit: int64(bytes) - int64(bytes)/metBytes*4} }

// Bytes returns what is kept.
func (c *Minis) Bytes() int { return int(c.bytes.Load()) }

// roomy tells whether what is read for the first time is kept.
func (c *Minis) roomy() bool { return c.bytes.Load() < c.limit/4*3 }

// empty tells whether there is so much room that what a reading is next to is kept too.
func (c *Minis) empty() bool { return c.bytes.Load() < c.limit/4 }

// wants tells whether a mini that was read is to be kept.
func (c *Minis) wants(key miniKey) bool {
	if c.roomy() {
		return true
	}
	c.met.Do(func() {
		c.met.seed, c.met.words = maphash.MakeSeed(), make([]atomic.Uint32, c.limit/metBytes+1)
	})
	hash := maphash.Comparable(c.met.seed, key)
	word, tag := &c.met.words[hash%uint64(len(c.met.words))], uint32(hash>>32)|1
	if word.Load() != tag {
		word.Store(tag)
		return false
	}
	return c.bytes.Load() < c.limit*15/16 || c.late.Add(1)%keepOneOf == 0
}

// fits tells whether a mini of so many bytes is not too large to be kept.
func (c *Minis) fits(bytes int) bool { return int64(bytes)+miniRowsBytes <= c.limit/16 }

// keep keeps a mini of a page, which must not be changed from now on, unless it is too
// large. It returns whether what it has is kept.
func (c *Minis) keep(page *groupPage, m *mini) bool {
	m.bytes = int64(m.size())
	if !c.fits(m.size()) {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeRoomLocked(m.bytes + miniRowsBytes)
	if page.minis.Load() == nil {
		page.minis.Store(&miniRows{of: page.of})
	}
	for _, x := range page.decoded(m.row) {
		if x.first <= m.first && m.first+m.count <= x.first+x.count {
			return true
		}
		if x.first < m.first+m.count && m.first < x.first+x.count {
			c.dropLocked(x)
		}
	}
	rows, list := page.minis.Load(), page.decoded(m.row)
	at, _ := slices.BinarySearchFunc(list, m.first, func(x *mini, first int) int { return x.first - first })
	list = slices.Insert(slices.Clip(list), at, m)
	m.rows = rows
	rows.list[m.row].Store(&list)
	if rows.n++; rows.n == 1 {
		c.bytes.Add(miniRowsBytes)
	}
	c.bytes.Add(m.bytes)
	if c.mu.next > len(c.mu.ring)/2 {
		c.mu.ring = slices.Delete(c.mu.ring, 0, c.mu.next)
		c.mu.next = 0
	}
	c.mu.ring = append(c.mu.ring, m)
	return true
}

// makeRoomLocked drops what was not read for longest until so many bytes fit.
func (c *Minis) makeRoomLocked(bytes int64) {
	for chances := secondChances; c.bytes.Load()+bytes > c.limit && c.mu.next < len(c.mu.ring); {
		m := c.mu.ring[c.mu.next]
		c.mu.ring[c.mu.next] = nil
		c.mu.next++
		if m.used.Swap(false) && chances > 0 {
			chances--
			c.mu.ring = append(c.mu.ring, m)
			continue
		}
		c.dropLocked(m)
	}
}

// dropLocked takes a mini out of its row, unless it is out already.
func (c *Minis) dropLocked(m *mini) {
	if m.dropped {
		return
	}
	m.dropped = true
	kept := &m.rows.list[m.row]
	if list := *kept.Load(); len(list) == 1 {
		kept.Store(nil)
	} else {
		list = slices.DeleteFunc(slices.Clone(list), func(x *mini) bool { return x == m })
		kept.Store(&list)
	}
	c.bytes.Add(-m.bytes)
	if m.rows.n--; m.rows.n == 0 {
		c.bytes.Add(-miniRowsBytes)
	}
}

// forget drops all that is kept of a part.
func (c *Minis) forget(g *groups) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.ring = slices.DeleteFunc(c.mu.ring[c.mu.next:], func(m *mini) bool {
		if m.rows.of != g {
			return false
		}
		c.dropLocked(m)
		return true
	})
	c.mu.next = 0
}
