package head

import (
	"math"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/varvedb/varve/tsdb/internal/mem"
	"github.com/varvedb/varve/tsdb/internal/tail"
)

const (
	emptyMinT = math.MaxInt64
	emptyMaxT = math.MinInt64
)

// Generation is the samples of the head between two flushes. Only the newest
// one of a head changes.
type Generation struct {
	id      uint32
	dropped atomic.Bool
	batches atomic.Int64 // that began in it and did not end
	bytes   atomic.Int64
	samples atomic.Int64
	seqMin  atomic.Uint64
	seqMax  atomic.Uint64
	mint    atomic.Int64
	maxt    atomic.Int64
	shards  [ShardCount]*holdings // each guarded by its shard
	cursors sync.Pool             // of *tail.Cursor
}

// holdings are what a generation holds of the series of a shard.
type holdings struct {
	arena   *mem.Arena
	records *mem.Records[record]
	lanes   *mem.Records[lane]
	pages   []*page // by stripe of slots
	extras  map[uint32]*extra
	finder  *finder // nil until a sample comes again
}

// record is what a generation holds of a series.
type record struct {
	slot  uint32
	lanes uint32 // number of the first lane plus one
	// There is an extra; it takes what comes in order, and what comes late.
	more, moreRuns, moreLate bool
	// mint and maxt are those of the samples; mint > maxt when there are none.
	mint, maxt int64
	floats     tail.Tail // a prefix of the samples that came in order
	late       lateList  // a prefix of those that did not and are in no lane, in order of arrival
}

const (
	recordBytes = int(unsafe.Sizeof(record{}))
	laneBytes   = int(unsafe.Sizeof(lane{}))
)

func newGeneration(id uint32) *Generation {
	g := &Generation{id: id}
	g.seqMin.Store(math.MaxUint64)
	g.mint.Store(emptyMinT)
	g.maxt.Store(emptyMaxT)
	for i := range g.shards {
		g.shards[i] = &holdings{
			arena:   mem.New(mem.Options{}),
			records: mem.NewRecords[record](mem.Options{}), lanes: mem.NewRecords[lane](mem.Options{}),
		}
	}
	return g
}

// release gives the memory back.
func (g *Generation) release() {
	for _, s := range g.shards {
		s.pages, s.extras, s.finder = nil, nil, nil
		s.arena.Release()
		s.records.Release()
		s.lanes.Release()
	}
}

// ID numbers the generations of a head, from 1.
func (g *Generation) ID() uint32 { return g.id }

// Bytes returns the memory that the samples take.
func (g *Generation) Bytes() int64 { return g.bytes.Load() }

// Samples counts the samples, replaced ones included.
func (g *Generation) Samples() int64 { return g.samples.Load() }

// SeqRange returns the lowest and the highest sequence number it holds; ok is
// false when it is empty.
func (g *Generation) SeqRange() (lo, hi uint64, ok bool) {
	lo, hi = g.seqMin.Load(), g.seqMax.Load()
	return lo, hi, lo <= hi
}

// TimeRange bounds the times of the samples, deleted ones included; mint > maxt
// when there were none.
func (g *Generation) TimeRange() (mint, maxt int64) { return g.mint.Load(), g.maxt.Load() }

// page has the number of the record, plus one, of each slot of a stripe.
type page [stripe]uint32

const pageBytes = int(unsafe.Sizeof(page{}) + unsafe.Sizeof((*page)(nil)))

// stripeOf returns the number of the stripe of a slot, among those of its shard.
func stripeOf(slot uint32) int { return int(slot >> (stripeBits + shardBits)) }

// cursor returns a cursor that was used before or a new one.
func (g *Generation) cursor() *tail.Cursor {
	if c, ok := g.cursors.Get().(*tail.Cursor); ok {
		return c
	}
	return new(tail.Cursor)
}

// mustBeHeld panics if the memory of g is gone: to read on would kill the process.
func (g *Generation) mustBeHeld() {
	if g.dropped.Load() {
		panic("head: samples are read after the last holder of their generation left")
	}
}

// find returns the record of a slot and its number, nil if there is none.
func (s *holdings) find(slot uint32) (*record, uint32) {
	i := stripeOf(slot)
	if i >= len(s.pages) || s.pages[i] == nil {
		return nil, 0
	}
	n := s.pages[i][slot%stripe]
	if n == 0 {
		return nil, 0
	}
	return s.records.At(n - 1), n - 1
}

// open returns the record of a slot, which it makes if there is none, its number
// and the bytes it took.
func (s *holdings) open(slot uint32) (r *record, number uint32, grown int) {
	if r, number = s.find(slot); r != nil {
		return r, number, 0
	}
	i := stripeOf(slot)
	for i >= len(s.pages) {
		s.pages = append(s.pages, nil)
	}
	if s.pages[i] == nil {
		s.pages[i] = new(page)
		grown += pageBytes
	}
	number = s.records.Add()
	s.pages[i][slot%stripe] = number + 1
	r = s.records.At(number)
	r.slot, r.mint, r.maxt = slot, emptyMinT, emptyMaxT
	return r, number, grown + recordBytes
}

// extra returns what a record has in ordinary memory, which it makes, and the
// bytes it took.
func (s *holdings) extra(r *record, number uint32) (e *extra, grown int) {
	if r.more {
		return s.extras[number], 0
	}
	if s.extras == nil {
		s.extras = map[uint32]*extra{}
	}
	e = &extra{}
	s.extras[number] = e
	r.more = true
	return e, extraBytes
}
