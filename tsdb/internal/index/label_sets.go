package index

import (
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// LabelSets keeps label sets that were made, of any number of segments and heads, up
// to a number of bytes. A set never changes, so nothing is dropped but to keep the
// bound, and what belongs to a source that is closed. Once there is no room only
// some of those that come are kept, so that asking for more than there is room for,
// over and over, leaves most of what is kept. It may be used by many goroutines; nil
// keeps nothing.
type LabelSets struct {
	limit int

	mu struct {
		sync.Mutex
		pages   map[setsKey]*setsPage
		ring    []setsKey // in the order they came, from hand on
		hand    int
		bytes   int
		refused uint // pages that came when there was no room
		sources uint64
	}
}

// setsKey names the sets of some series that follow each other.
type setsKey struct {
	source uint64
	page   uint32
}

// setsPage has the sets of a few series, made or not.
type setsPage struct {
	made  uint32 // a bit each
	used  bool   // since the hand last came by
	bytes int
	sets  [setsPerPage]labels.Labels
}

const (
	setsPerPage  = 32
	setsPageCost = setsPerPage*16 + 128 // bytes of a page without what its sets refer to
	setCost      = 16                   // that the allocator may add to those of a set
	keptOneOf    = 8
)

// NewLabelSets returns an empty one.
func NewLabelSets(bytes int) *LabelSets { return &LabelSets{limit: bytes} }

// Bytes returns what is kept.
func (c *LabelSets) Bytes() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.mu.bytes
}

// source returns the number of a new source; of nil it is 0.
func (c *LabelSets) source() uint64 {
	if c == nil {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.sources++
	return c.mu.sources
}

// get fills sets with those of the series that are kept, and appends the places of
// the others to missing.
func (c *LabelSets) get(source uint64, series []uint32, sets []labels.Labels, missing []int) []int {
	if c == nil {
		for i := range series {
			missing = append(missing, i)
		}
		return missing
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var page *setsPage
	last := ^uint32(0) // no page has this number
	for i, id := range series {
		if number := id / setsPerPage; number != last {
			last = number
			if page = c.mu.pages[setsKey{source, number}]; page != nil {
				page.used = true
			}
		}
		if page == nil || page.made>>(id%setsPerPage)&1 == 0 {
			missing = append(missing, i)
			continue
		}
		sets[i] = page.sets[id%setsPerPage]
	}
	return missing
}

// put keeps the sets of series that were missing.
func (c *LabelSets) put(source uint64, series []uint32, sets []labels.Labels, missing []int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var page *setsPage
	last := ^uint32(0)
	for _, i := range missing {
		id := series[i]
		if number := id / setsPerPage; number != last {
			last, page = number, c.pageLocked(setsKey{source, number})
		}
		if page == nil || page.made>>(id%setsPerPage)&1 != 0 {
			continue
		}
		page.made |= 1 << (id % setsPerPage)
		page.sets[id%setsPerPage] = sets[i]
		size := int(sets[i].ByteSize()) + setCost
		page.bytes += size
		c.mu.bytes += size
	}
	for c.mu.bytes > c.limit && len(c.mu.ring) > 0 {
		c.evictLocked()
	}
}

// pageLocked finds or makes a page; it returns nil if a new one is not kept.
func (c *LabelSets) pageLocked(key setsKey) *setsPage {
	if page := c.mu.pages[key]; page != nil {
		return page
	}
	if c.mu.bytes+setsPageCost > c.limit*15/16 {
		if c.mu.refused++; c.mu.refused%keptOneOf != 0 {
			return nil
		}
	}
	if c.mu.pages == nil {
		c.mu.pages = map[setsKey]*setsPage{}
	}
	page := &setsPage{bytes: setsPageCost}
	c.mu.pages[key] = page
	c.mu.ring = append(c.mu.ring, key)
	c.mu.bytes += setsPageCost
	return page
}

// evictLocked drops a page that was not used since the hand came by.
func (c *LabelSets) evictLocked() {
	for {
		if c.mu.hand >= len(c.mu.ring) {
			c.mu.hand = 0
		}
		key := c.mu.ring[c.mu.hand]
		page := c.mu.pages[key]
		if page.used {
			page.used = false
			c.mu.hand++
			continue
		}
		c.mu.bytes -= page.bytes
		delete(c.mu.pages, key)
		last := len(c.mu.ring) - 1
		c.mu.ring[c.mu.hand] = c.mu.ring[last]
		c.mu.ring = c.mu.ring[:last]
		return
	}
}

// drop forgets all sets of a source.
func (c *LabelSets) drop(source uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	left := c.mu.ring[:0]
	for _, key := range c.mu.ring {
		if key.source != source {
			left = append(left, key)
			continue
		}
		c.mu.bytes -= c.mu.pages[key].bytes
		delete(c.mu.pages, key)
	}
	c.mu.ring, c.mu.hand = left, 0
}
