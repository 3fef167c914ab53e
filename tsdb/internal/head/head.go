package head

import (
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"
)

const shardCount = 32

// Head is the registry and the generations. All methods may be called by many
// goroutines, except where they say otherwise.
type Head struct {
	shards [shardCount]shard
	index  postings
	refs   refTable
	count  atomic.Int64

	active atomic.Pointer[Generation] // changed by Seal alone
}

// shard is a part of the series, by label hash. Lock order: registry before
// mu; queue.Mutex is taken alone.
type shard struct {
	registry struct {
		sync.RWMutex
		byHash map[uint64]*Series
	}
	// mu guards what the series of the shard hold.
	mu    sync.RWMutex
	queue struct {
		sync.Mutex
		pieces []piece
	}
}

// piece is a group of samples that waits to be applied to a shard.
type piece struct {
	seq     uint64
	samples []Sample
}

// New returns an empty head.
func New() *Head {
	h := &Head{}
	for i := range h.shards {
		h.shards[i].registry.byHash = map[uint64]*Series{}
	}
	h.index.init()
	h.active.Store(newGeneration(1))
	return h
}

// SeriesCount returns the number of registered series.
func (h *Head) SeriesCount() int { return int(h.count.Load()) }

// Active returns the generation that takes samples now.
func (h *Head) Active() *Generation { return h.active.Load() }

// Find returns the live series with this label set, nil if there is none.
func (h *Head) Find(lset labels.Labels) *Series {
	return h.find(lset, lset.Hash())
}

func (h *Head) find(lset labels.Labels, hash uint64) *Series {
	sh := &h.shards[hash%shardCount]
	sh.registry.RLock()
	defer sh.registry.RUnlock()
	return sh.lookup(lset, hash)
}

func (sh *shard) lookup(lset labels.Labels, hash uint64) *Series {
	for s := sh.registry.byHash[hash]; s != nil; s = s.next {
		if labels.Equal(s.lset, lset) {
			return s
		}
	}
	return nil
}

// Register finds or makes the series with this label set; created tells which.
// The strings of lset are copied when one is made.
func (h *Head) Register(lset labels.Labels) (s *Series, created bool) {
	hash := lset.Hash()
	if s := h.find(lset, hash); s != nil {
		return s, false
	}
	return h.insert(&Series{hash: hash, lset: lset.Copy(), shard: uint32(hash % shardCount)})
}

// insert puts s into the registry unless an equal one is there already.
func (h *Head) insert(s *Series) (live *Series, created bool) {
	sh := &h.shards[s.shard]
	sh.registry.Lock()
	defer sh.registry.Unlock()
	if old := sh.lookup(s.lset, s.hash); old != nil {
		return old, false
	}
	if s.ref == 0 {
		s.ref = h.refs.add(s)
	}
	s.lastGen = h.active.Load().id
	s.next = sh.registry.byHash[s.hash]
	sh.registry.byHash[s.hash] = s
	h.index.add(s)
	h.count.Add(1)
	s.dead.Store(false) // last: whoever sees it alive may write to it at once
	return s, true
}

// At returns the series with a number, which may have been dropped; nil if there
// never was one.
func (h *Head) At(ref Ref) *Series { return h.refs.at(ref) }

// Dropped tells whether the series has to be revived before it is used.
func (s *Series) Dropped() bool { return s.dead.Load() }

// Revive returns the live series for a handle that may have been dropped: s
// itself, put back if need be, or the one that took its place.
func (h *Head) Revive(s *Series) *Series {
	if !s.dead.Load() {
		return s
	}
	live, _ := h.insert(s)
	return live
}

// Seal closes the active generation and begins the next one. No Enqueue or
// Drain may run meanwhile.
func (h *Head) Seal() *Generation {
	old := h.active.Load()
	h.active.Store(newGeneration(old.id + 1))
	return old
}

// Drop forgets the samples of a sealed generation. Readers that hold them go
// on reading.
func (h *Head) Drop(g *Generation) {
	for i := range h.shards {
		sh := &h.shards[i]
		sh.mu.Lock()
		for _, d := range g.bySeries[i] {
			d.unlink()
		}
		sh.mu.Unlock()
	}
}

func (d *seriesData) unlink() {
	at := &d.series.data
	for *at != nil {
		if *at == d {
			*at = d.prev
			return
		}
		at = &(*at).prev
	}
}

// Collect drops the series that hold no samples and got none since the
// generation before the active one from the registry and returns how many they
// were. No Enqueue, Drain or Revive may run meanwhile.
func (h *Head) Collect() int {
	dropped := map[*Series]struct{}{}
	active := h.active.Load().id
	for i := range h.shards {
		sh := &h.shards[i]
		sh.registry.Lock()
		sh.mu.RLock()
		for hash, s := range sh.registry.byHash {
			kept := sh.keepChain(s, active, dropped)
			if kept == nil {
				delete(sh.registry.byHash, hash)
			} else {
				sh.registry.byHash[hash] = kept
			}
		}
		sh.mu.RUnlock()
		sh.registry.Unlock()
	}
	h.index.remove(dropped)
	h.count.Add(-int64(len(dropped)))
	return len(dropped)
}

// Idle counts the series that Collect would drop.
func (h *Head) Idle() int {
	n := 0
	active := h.active.Load().id
	for i := range h.shards {
		sh := &h.shards[i]
		sh.registry.RLock()
		sh.mu.RLock()
		for _, s := range sh.registry.byHash {
			for ; s != nil; s = s.next {
				if s.idle(active) {
					n++
				}
			}
		}
		sh.mu.RUnlock()
		sh.registry.RUnlock()
	}
	return n
}

func (s *Series) idle(active uint64) bool { return s.data == nil && s.lastGen+1 < active }

func (sh *shard) keepChain(s *Series, active uint64, dropped map[*Series]struct{}) (kept *Series) {
	for s != nil {
		next := s.next
		if s.idle(active) {
			s.dead.Store(true)
			s.next = nil
			dropped[s] = struct{}{}
		} else {
			s.next = kept
			kept = s
		}
		s = next
	}
	return kept
}
