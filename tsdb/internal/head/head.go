package head

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/index"
)

// Head is the registry and the generations. All methods may be called by many
// goroutines, except where they say otherwise.
type Head struct {
	registry *registry
	shards   [ShardCount]shard
	active   atomic.Pointer[Generation] // changed by Seal alone
	bytes    atomic.Int64               // of all generations that are held
	line     line
	held     struct {
		sync.Mutex
		gens []*Generation // not dropped, or with batches; oldest first
	}
}

// shard is a part of the series, by slot. Lock order: mu, line, queue.
type shard struct {
	// mu guards what generations hold of the series of the shard.
	mu    sync.RWMutex
	spare []piece // guarded by mu
	queue struct {
		sync.Mutex
		pieces []piece
	}
}

// piece is what a request brings for a shard, waiting to be applied.
type piece struct {
	lo, hi  uint64 // its sequence numbers
	samples *Samples
}

// New returns an empty head.
func New() *Head {
	h := &Head{registry: newRegistry()}
	h.begin(1)
	return h
}

// KeepLabels makes the head keep label sets that were asked for in c. It is called
// before the head is used.
func (h *Head) KeepLabels(c *index.LabelSets) {
	h.registry.catalog.Store(newCatalog(index.NewHead(index.Caches{Sets: c})))
}

// begin makes a new active generation.
func (h *Head) begin(id uint32) {
	g := newGeneration(id)
	h.held.Lock()
	defer h.held.Unlock()
	h.held.gens = append(h.held.gens, g)
	h.active.Store(g)
}

// SeriesCount returns the number of registered series.
func (h *Head) SeriesCount() int { return int(h.registry.count.Load()) }

// Bytes returns the memory that the samples take in all generations that were
// not dropped.
func (h *Head) Bytes() int64 { return h.bytes.Load() }

// Active returns the generation that takes samples now.
func (h *Head) Active() *Generation { return h.active.Load() }

// Enter begins a batch in the active generation, which it returns: series that
// were seen alive in a batch are not dropped before Leave.
func (h *Head) Enter() *Generation {
	for {
		g := h.active.Load()
		g.batches.Add(1)
		if h.active.Load() == g {
			return g
		}
		g.batches.Add(-1)
	}
}

// Leave ends a batch.
func (g *Generation) Leave() { g.batches.Add(-1) }

// Find returns the series with a label set for a batch that began in g; false
// if there is none. It takes no lock.
func (h *Head) Find(lset labels.Labels, g *Generation) (Ref, bool) {
	return h.registry.find(lset, g.id)
}

// Register finds or makes the series with a label set for a batch that began in
// g; created tells which. lset is sorted, without empty names or values; it is
// not kept.
func (h *Head) Register(lset labels.Labels, g *Generation) (ref Ref, created bool, err error) {
	return h.registry.register(lset, g.id)
}

// Live tells whether a series is registered, and its mark. If so it stays until
// the batch, which began in g, ends. It takes no lock.
func (h *Head) Live(ref Ref, g *Generation) (mark uint64, alive bool) {
	return h.registry.pin(ref, g.id)
}

// Labels returns the label set of a live series, made with b, which is reset. It
// owns its strings.
func (h *Head) Labels(ref Ref, b *labels.ScratchBuilder) labels.Labels {
	c, ordinal, ok := h.registry.where(ref)
	if !ok {
		return labels.EmptyLabels()
	}
	return c.labels(ordinal, b)
}

// EachLabel calls f with every label of the live series that has a slot, by
// name. The strings never change.
func (h *Head) EachLabel(slot uint32, f func(name, value string)) {
	ref := makeRef(slot, h.registry.slot(slot).epoch.Load())
	if c, ordinal, ok := h.registry.where(ref); ok {
		c.index.EachLabel(ordinal, f)
	}
}

// Mark returns a number that belongs to the head's owner: 0 for a new series.
func (h *Head) Mark(slot uint32) uint64 {
	v := h.registry.slot(slot).mark.Load()
	runtime.KeepAlive(h)
	return v
}

// SwapMark replaces the mark of a slot if it is old.
func (h *Head) SwapMark(slot uint32, old, v uint64) {
	h.registry.slot(slot).mark.CompareAndSwap(old, v)
	runtime.KeepAlive(h)
}

// Seal closes the active generation and begins the next one. No Enqueue or
// Drain may run meanwhile.
func (h *Head) Seal() *Generation {
	old := h.active.Load()
	h.begin(old.id + 1)
	return old
}

// Drop gives the memory of a sealed generation back. Nobody may read what
// Select or Contents returned of it any more. Series whose last sample in it is
// stale, and that no later one has, count as idle from now on.
func (h *Head) Drop(g *Generation) {
	if h.isOldest(g) {
		h.forget(g, g.maxt.Load()-staleAfter)
	}
	g.dropped.Store(true)
	h.bytes.Add(-g.Bytes())
	g.release()
}

// staleAfter is how many milliseconds before the newest sample of a generation the
// last one of a series lies that is thought to have ended.
const staleAfter = 60 * 60 * 1000

// isOldest says whether nobody reads an older generation, where a series must keep
// its slot, nor uses series that were seen alive in g.
func (h *Head) isOldest(g *Generation) bool {
	h.held.Lock()
	defer h.held.Unlock()
	return g.batches.Load() == 0 && !slices.ContainsFunc(h.held.gens, func(x *Generation) bool {
		return x.id < g.id && (!x.dropped.Load() || x.batches.Load() > 0)
	})
}

// forget makes those series of g idle that have no sample since before and were not
// used in a later generation.
func (h *Head) forget(g *Generation, before int64) {
	for _, s := range g.shards {
		for i := range uint32(s.records.Len()) {
			if r := s.records.At(i); r.maxt < before && r.mint <= r.maxt {
				h.registry.slot(r.slot).used.CompareAndSwap(g.id, 0)
			}
		}
	}
	runtime.KeepAlive(h)
}

// oldest returns the oldest generation that some series must be kept for: one
// that was not dropped, or has batches, or is the one before the active one.
func (h *Head) oldest() uint32 {
	h.held.Lock()
	defer h.held.Unlock()
	active := h.active.Load()
	h.held.gens = slices.DeleteFunc(h.held.gens, func(g *Generation) bool {
		return g != active && g.dropped.Load() && g.batches.Load() == 0
	})
	return min(h.held.gens[0].id, active.id-1)
}

// Collect drops the series that were last used before all generations that are
// held, have batches, or come before the active one, and returns how many they
// were. Slots are used anew after it. No Enqueue or Drain may run meanwhile.
func (h *Head) Collect() int { return h.registry.collect(h.oldest()) }

// Idle counts the series that Collect would drop.
func (h *Head) Idle() int {
	n := 0
	h.registry.mu.Lock()
	defer h.registry.mu.Unlock()
	h.registry.idleLocked(h.oldest(), func(uint32, *slot) { n++ })
	return n
}

// Compact makes the index anew when dropped series take much of it. Only new
// series wait for it.
func (h *Head) Compact() error { return h.registry.compact() }

// HasLabel tells whether a registered series, or one that was dropped not long
// ago, has a label.
func (h *Head) HasLabel(name string) bool {
	return h.registry.catalog.Load().index.HasLabel(name)
}
