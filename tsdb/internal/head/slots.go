package head

import "sync/atomic"

const (
	// ShardCount is the number of shards that the series are divided into.
	ShardCount = 32
	stripeBits = 6 // so many bits of neighbours share a shard
	shardBits  = 5
	stripe     = 1 << stripeBits
)

// shardOf returns the shard of a slot: neighbours share one, as they tend to
// come with the same request.
func shardOf(slot uint32) uint32 { return slot >> stripeBits & (ShardCount - 1) }

// Ref names a series of this process: its slot in the lower half and, above it,
// which of the series that had the slot in turn it is. 0 is none.
type Ref uint64

func makeRef(slot, epoch uint32) Ref { return Ref(epoch)<<32 | Ref(slot) }

// Slot returns the number of the series among those that are registered at the
// same time.
func (r Ref) Slot() uint32 { return uint32(r) }

func (r Ref) epoch() uint32 { return uint32(r >> 32) }

// slot is what the head knows of a series beside its labels and samples.
type slot struct {
	mark    atomic.Uint64 // its owner's, see Head.Mark
	epoch   atomic.Uint32 // of the series that has the slot, or is to have it next
	ordinal atomic.Uint32 // in the index; free when no series has the slot
	// used is the newest generation that got a sample or in which a batch began
	// that saw the series alive.
	used atomic.Uint32
}

const free = 1<<32 - 1

// touch notes that the series is used in a generation.
func (s *slot) touch(generation uint32) {
	for old := s.used.Load(); old < generation; old = s.used.Load() {
		if s.used.CompareAndSwap(old, generation) {
			return
		}
	}
}

// names tells whether ref is the series that has the slot.
func (s *slot) names(ref Ref) bool {
	return s.epoch.Load() == ref.epoch() && s.ordinal.Load() != free
}
