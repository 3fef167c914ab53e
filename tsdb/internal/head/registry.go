package head

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
	"github.com/varvedb/varve/tsdb/internal/index"
	"github.com/varvedb/varve/tsdb/internal/mem"
)

// ErrFull is returned when no more series can be registered.
var ErrFull = errors.New("registry of series is full")

// catalog is an index of label sets and who has them: series by ordinal, 0 for
// one that was dropped.
type catalog struct {
	index *index.Head
	refs  *mem.Records[atomic.Uint64]
}

func newCatalog(index *index.Head) *catalog {
	c := &catalog{index: index}
	c.refs = mem.NewRecords[atomic.Uint64](mem.Options{})
	runtime.AddCleanup(c, func(r *mem.Records[atomic.Uint64]) { r.Release() }, c.refs)
	return c
}

// at returns the series with an ordinal, 0 if it was dropped or is just being
// registered.
func (c *catalog) at(ordinal uint32) Ref {
	ref := Ref(c.refs.At(ordinal).Load())
	runtime.KeepAlive(c) // its memory goes with it
	return ref
}

// labels returns the label set of an ordinal that the index has.
func (c *catalog) labels(ordinal uint32, b *labels.ScratchBuilder) labels.Labels {
	lset, err := c.index.Labels(ordinal, b)
	if err != nil {
		panic(fmt.Sprintf("head: %v", err))
	}
	return lset
}

// add returns the ordinal of a label set. The caller holds the registry.
func (c *catalog) add(lset labels.Labels) (ordinal uint32, err error) {
	for c.refs.Len() <= c.index.Len() { // before readers see the ordinal
		c.refs.Add()
	}
	ordinal, _, err = c.index.Add(lset)
	return ordinal, err
}

// registry is the series that there are. Looking up takes no lock.
type registry struct {
	catalog atomic.Pointer[catalog]
	slots   *mem.Records[slot]
	count   atomic.Int64
	mu      struct {
		sync.Mutex // held to add and to drop series
		free       []uint32
	}
}

// newRegistry returns an empty registry. Its memory goes when nobody has it any
// more, so whoever looks at a slot keeps it alive.
func newRegistry() *registry {
	r := &registry{slots: mem.NewRecords[slot](mem.Options{})}
	runtime.AddCleanup(r, func(s *mem.Records[slot]) { s.Release() }, r.slots)
	r.catalog.Store(newCatalog(index.NewHead(index.Caches{})))
	return r
}

func (r *registry) slot(number uint32) *slot { return r.slots.At(number) }

// pin notes that a series is used in a generation and returns its mark; false if
// it was dropped.
// Collect does not drop a series of which pin said true as long as the batches
// of the generation last.
func (r *registry) pin(ref Ref, generation uint32) (mark uint64, alive bool) {
	if int(ref.Slot()) >= r.slots.Len() || ref.epoch() == 0 {
		return 0, false
	}
	s := r.slot(ref.Slot())
	s.touch(generation) // first: collect looks at it after it changed the epoch
	mark, alive = s.mark.Load(), s.names(ref)
	runtime.KeepAlive(r)
	return mark, alive
}

// find returns the live series with a label set, pinned.
func (r *registry) find(lset labels.Labels, generation uint32) (Ref, bool) {
	c := r.catalog.Load()
	ordinal, ok := c.index.Lookup(lset)
	if !ok {
		return 0, false
	}
	ref := c.at(ordinal)
	if ref == 0 {
		return 0, false
	}
	_, alive := r.pin(ref, generation)
	return ref, alive
}

// register finds or makes the series with a label set, pinned.
func (r *registry) register(lset labels.Labels, generation uint32) (ref Ref, created bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.catalog.Load()
	ordinal, err := c.add(lset)
	if err != nil {
		return 0, false, err
	}
	if ref := c.at(ordinal); ref != 0 {
		if _, alive := r.pin(ref, generation); !alive {
			panic("head: a registered series is not alive")
		}
		return ref, false, nil
	}
	number, err := r.takeSlotLocked()
	if err != nil {
		return 0, false, err
	}
	s := r.slot(number)
	s.mark.Store(0)
	s.touch(generation)
	s.ordinal.Store(ordinal)
	ref = makeRef(number, s.epoch.Load())
	c.refs.At(ordinal).Store(uint64(ref)) // last: whoever sees it may use it at once
	r.count.Add(1)
	return ref, true, nil
}

func (r *registry) takeSlotLocked() (uint32, error) {
	if n := len(r.mu.free); n > 0 {
		number := r.mu.free[n-1]
		r.mu.free = r.mu.free[:n-1]
		return number, nil
	}
	if r.slots.Len() >= math.MaxUint32 {
		return 0, fmt.Errorf("register series: %w", ErrFull)
	}
	number := r.slots.Add()
	r.slot(number).epoch.Store(1)
	return number, nil
}

// where returns the ordinal of a live series and the catalog that has it; false
// if it was dropped.
func (r *registry) where(ref Ref) (c *catalog, ordinal uint32, ok bool) {
	s := r.slot(ref.Slot())
	c, ordinal = r.catalog.Load(), s.ordinal.Load()
	if int(ordinal) >= c.index.Len() || c.at(ordinal) != ref { // the catalog is being replaced
		r.mu.Lock()
		c, ordinal = r.catalog.Load(), s.ordinal.Load()
		r.mu.Unlock()
	}
	ok = s.names(ref)
	runtime.KeepAlive(r)
	return c, ordinal, ok
}

// idleLocked calls fn with the slots of the series that were not used in the
// generation oldest or a later one. The caller holds the registry.
func (r *registry) idleLocked(oldest uint32, fn func(number uint32, s *slot)) {
	for i := range uint32(r.slots.Len()) {
		if s := r.slot(i); s.ordinal.Load() != free && s.used.Load() < oldest {
			fn(i, s)
		}
	}
}

// collect drops the series that were not used in the generation oldest or a
// later one and returns how many they were. They must have no samples that
// anyone may read, and nobody may be between pin and the end of a batch of a
// generation before oldest.
func (r *registry) collect(oldest uint32) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.catalog.Load()
	n := 0
	r.idleLocked(oldest, func(number uint32, s *slot) {
		epoch := s.epoch.Load()
		s.epoch.Store(max(1, epoch+1))
		if s.used.Load() >= oldest { // pin came first
			s.epoch.Store(epoch)
			return
		}
		c.refs.At(s.ordinal.Load()).Store(0)
		s.ordinal.Store(free)
		r.mu.free = append(r.mu.free, number)
		n++
	})
	r.count.Add(-int64(n))
	return n
}

// compact makes a new catalog without the series that were dropped once they
// are many. Series are found meanwhile, but not made. Who holds the old one can
// go on with it: it has all series of the moment before.
func (r *registry) compact() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.catalog.Load()
	dropped := old.index.Len() - int(r.count.Load())
	if dropped < minDropped || dropped*4 < old.index.Len() {
		return nil
	}
	var refs []Ref
	var keep bitmap.Builder
	for ordinal := range uint32(old.index.Len()) {
		if ref := old.at(ordinal); ref != 0 {
			refs = append(refs, ref)
			keep.Add(ordinal)
		}
	}
	index, err := index.NewHeadFrom(old.index, keep.Set())
	if err != nil {
		return fmt.Errorf("compact index of head: %w", err)
	}
	next := newCatalog(index)
	for i, ref := range refs {
		next.refs.At(next.refs.Add()).Store(uint64(ref))
		r.slot(ref.Slot()).ordinal.Store(uint32(i))
	}
	r.catalog.Store(next)
	old.index.Close()
	return nil
}

// minDropped is the number of dropped series that an index bears in any case.
const minDropped = 1000
