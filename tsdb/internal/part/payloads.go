package part

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve/tsdb/internal/b1"
)

// Payloads keeps payloads of blocks that are read again and again, of any number of
// parts, up to a number of bytes. They are found in their page without a lock. One
// is kept from its second reading on, and once there is no room, of those that come
// only some are, so that reading more than there is room for, over and over, leaves
// most of it. It may be used by many goroutines; nil keeps nothing.
type Payloads struct {
	limit int

	mu struct {
		sync.Mutex
		ring  []kept // from next on in the order they came
		next  int
		bytes int
		seen  uint // that came when there was no room
	}
}

// kept is a payload of a page.
type kept struct {
	page  *groupPage
	row   int
	bytes int
}

const (
	keptOverhead = 64 // bytes that keeping a payload takes
	keepOneOf    = 8
)

// NewPayloads returns an empty one.
func NewPayloads(bytes int) *Payloads { return &Payloads{limit: bytes} }

// Bytes returns what is kept.
func (c *Payloads) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.bytes
}

// pagePayloads are those of a page that are kept.
type pagePayloads struct {
	list [b1.PageBlocks]atomic.Pointer[[]byte]
	read [b1.PageBlocks / 64]atomic.Uint64 // bits of those that were read before
}

// payload returns that of a row, nil if it is not kept.
func (page *groupPage) payload(row int) []byte {
	if p := page.kept.Load(); p != nil {
		if b := p.list[row].Load(); b != nil {
			return *b
		}
	}
	return nil
}

// wants tells whether a payload that is about to be read is to be kept.
func (c *Payloads) wants(page *groupPage, row, bytes int) bool {
	if c == nil || bytes+keptOverhead > c.limit/16 {
		return false
	}
	p := page.kept.Load()
	if p == nil {
		page.kept.CompareAndSwap(nil, &pagePayloads{})
		p = page.kept.Load()
	}
	bit := uint64(1) << (row % 64)
	if p.read[row/64].Or(bit)&bit == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.bytes+bytes+keptOverhead <= c.limit {
		return true
	}
	c.mu.seen++
	return c.mu.seen%keepOneOf == 0
}

// keep keeps a payload, which must not be changed from now on.
func (c *Payloads) keep(page *groupPage, row int, b []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !page.kept.Load().list[row].CompareAndSwap(nil, &b) {
		return
	}
	c.mu.bytes += len(b) + keptOverhead
	for c.mu.bytes > c.limit {
		c.dropLocked(c.mu.next)
		c.mu.next++
	}
	if c.mu.next > len(c.mu.ring)/2 {
		c.mu.ring = slices.Delete(c.mu.ring, 0, c.mu.next)
		c.mu.next = 0
	}
	c.mu.ring = append(c.mu.ring, kept{page, row, len(b) + keptOverhead})
}

// dropLocked forgets an entry of the ring.
func (c *Payloads) dropLocked(i int) {
	e := &c.mu.ring[i]
	if e.page != nil {
		e.page.kept.Load().list[e.row].Store(nil)
		c.mu.bytes -= e.bytes
	}
	*e = kept{}
}

// forget drops all that is kept of a part.
func (c *Payloads) forget(g *groups) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := c.mu.next; i < len(c.mu.ring); i++ {
		if page := c.mu.ring[i].page; page != nil && page.of == g {
			c.dropLocked(i)
		}
	}
}
