package index

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// ErrFull is returned when a head can take no more series or label names.
var ErrFull = errors.New("head index is full")

// Head is an index that series are added to. Series get ordinals in the order of
// their arrival, the values of a label from 1 in that of theirs. Adding takes a
// lock; looking up and everything a View does takes none, and sees the series
// that had been added when it began.
//
// What is appended is published by one atomic store of the number of series:
// everything that belongs to the series below it was written before, and is not
// written again. Growing arrays are replaced, so that a reader keeps the old.
type Head struct {
	caches Caches
	ids    [3]uint64 // of this source in the caches
	seed   maphash.Seed
	keys   [2]uint64

	n        atomic.Uint32
	arena    arena
	byName   table
	count    atomic.Uint32 // labels
	labels   chunked[*headLabel]
	series   table
	location chunked[uint32] // block<<rowBits | row
	blocks   chunked[*headBlock]
	every    atomic.Pointer[bitmap.Set] // of all series, as last asked for

	mu struct {
		sync.Mutex
		shapes map[string]*shape
		blocks uint32
		key    []byte
		last   *shape // of the series added last
	}
}

// headLabel is a label name of a head.
type headLabel struct {
	name     string
	id       uint32
	last     uint32 // value of the series added last that has the label; its writer's
	byValue  table
	count    atomic.Uint32
	values   chunked[headValue] // by ordinal less one
	presence bitmap.Growing
	bytes    atomic.Uint64 // of distinct values
}

// headValue is a value and the series that have it.
type headValue struct {
	text   uint64 // in the arena
	series bitmap.Growing
}

// NewHead returns an empty head.
func NewHead(caches Caches) *Head {
	h := &Head{caches: caches, seed: maphash.MakeSeed(), ids: [3]uint64{caches.Values.source(), caches.Results.source(), caches.Sets.source()}}
	h.keys = [2]uint64{maphash.String(h.seed, "a") | 1, maphash.String(h.seed, "b") | 1}
	h.mu.shapes = map[string]*shape{}
	return h
}

// Len returns the number of series.
func (h *Head) Len() int { return int(h.n.Load()) }

// Close drops the cached answers of the head.
func (h *Head) Close() {
	h.caches.Values.drop(h.ids[0])
	h.caches.Results.drop(h.ids[1])
	h.caches.Sets.drop(h.ids[2])
}

func (h *Head) hashText(s string) uint32 {
	x := maphash.String(h.seed, s)
	return uint32(x) ^ uint32(x>>32)
}

// mix folds a label into the hash of a label set.
func (h *Head) mix(hash uint64, label, value uint32) uint64 {
	hi, lo := bits.Mul64(hash^h.keys[0], (uint64(label)<<32|uint64(value))^h.keys[1])
	return hi ^ lo
}

func fold(hash uint64) uint32 { return uint32(hash) ^ uint32(hash>>32) }

func (h *Head) findLabel(name string) *headLabel {
	p := h.byName.probe(h.hashText(name))
	for id, ok := p.next(); ok; id, ok = p.next() {
		if l := *h.labels.at(id); l.name == name {
			return l
		}
	}
	return nil
}

// HasLabel tells whether any series has a label. It is a look-up without a View.
func (h *Head) HasLabel(name string) bool {
	l := h.findLabel(name)
	return l != nil && l.count.Load() > 0
}

// find returns the ordinal of a value, 0 if there is none.
func (l *headLabel) find(h *Head, value string) uint32 { return l.lookup(h, value, h.hashText(value)) }

func (l *headLabel) lookup(h *Head, value string, hash uint32) uint32 {
	p := l.byValue.probe(hash)
	for id, ok := p.next(); ok; id, ok = p.next() {
		if h.arena.at(l.values.at(id).text) == value {
			return id + 1
		}
	}
	return 0
}

// pair is a label and a value ordinal of it.
type pair struct{ label, value uint32 }

// Lookup returns the ordinal of the series with exactly the label set lset.
func (h *Head) Lookup(lset labels.Labels) (uint32, bool) {
	var buf [64]pair
	pairs := buf[:0]
	hash, missing := h.keys[1], false
	lset.Range(func(x labels.Label) {
		if missing {
			return
		}
		l := h.findLabel(x.Name)
		if l == nil {
			missing = true
			return
		}
		o := l.find(h, x.Value)
		missing = o == 0
		hash = h.mix(hash, l.id, o)
		pairs = append(pairs, pair{l.id, o})
	})
	if missing {
		return 0, false
	}
	id, ok := h.lookup(fold(hash), pairs)
	if !ok || id >= h.n.Load() {
		return 0, false // it is just being added
	}
	return id, true
}

func (h *Head) lookup(hash uint32, pairs []pair) (uint32, bool) {
	p := h.series.probe(hash)
	for id, ok := p.next(); ok; id, ok = p.next() {
		if h.hasPairs(id, pairs) {
			return id, true
		}
	}
	return 0, false
}

// Add returns the ordinal of the series with the label set lset, which it adds
// if it is new. lset is sorted, without empty names or values; it is not kept,
// nor are its strings. Of an lset that is refused some strings may stay.
func (h *Head) Add(lset labels.Labels) (series uint32, added bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var buf [64]pair
	pairs := buf[:0]
	hash := h.keys[1]
	last := ""
	err = lset.Validate(func(x labels.Label) error {
		if x.Value == "" || x.Name == "" || x.Name <= last {
			return fmt.Errorf("label %q is empty or out of order", x.Name)
		}
		last = x.Name
		l, err := h.internLabelLocked(len(pairs), x.Name)
		if err != nil {
			return err
		}
		o, err := h.internValueLocked(l, x.Value)
		if err != nil {
			return err
		}
		hash = h.mix(hash, l.id, o)
		pairs = append(pairs, pair{l.id, o})
		return nil
	})
	if err != nil {
		return 0, false, fmt.Errorf("add series %s: %w", lset, err)
	}
	if id, ok := h.lookup(fold(hash), pairs); ok {
		return id, false, nil
	}
	if series, err = h.appendLocked(fold(hash), pairs); err != nil {
		return 0, false, fmt.Errorf("add series %s: %w", lset, err)
	}
	return series, true, nil
}

// appendLocked adds a series that is not there.
func (h *Head) appendLocked(hash uint32, pairs []pair) (uint32, error) {
	id := h.n.Load()
	if id >= math.MaxUint32-1 {
		return 0, fmt.Errorf("%w at %d", ErrFull, id)
	}
	s, err := h.storeLocked(id, pairs)
	if err != nil {
		return 0, err
	}
	for i, p := range pairs {
		l := s.list[i]
		l.values.at(p.value - 1).series.Append(id)
		l.presence.Append(id)
	}
	h.mu.last = s
	h.series.insert(hash, id) // before n: what is counted is found
	h.n.Store(id + 1)
	return id, nil
}

// internLabelLocked returns the label of a name; place is where in its label set
// it stands, where the series before mostly has the same.
func (h *Head) internLabelLocked(place int, name string) (*headLabel, error) {
	if s := h.mu.last; s != nil && place < len(s.list) && s.list[place].name == name {
		return s.list[place], nil
	}
	if l := h.findLabel(name); l != nil {
		return l, nil
	}
	id := h.count.Load()
	if id >= math.MaxInt32 {
		return nil, ErrFull
	}
	l := &headLabel{name: string([]byte(name)), id: id}
	*h.labels.room(id) = l
	h.byName.insert(h.hashText(name), id) // before count: what is listed is found
	h.count.Store(id + 1)
	return l, nil
}

// internValueLocked returns the ordinal of a value: often it is that of the
// series before.
func (h *Head) internValueLocked(l *headLabel, value string) (uint32, error) {
	if l.last != 0 && h.arena.at(l.values.at(l.last-1).text) == value {
		return l.last, nil
	}
	hash := h.hashText(value)
	o := l.lookup(h, value, hash)
	if o == 0 {
		id := l.count.Load()
		if id >= math.MaxUint32-1 {
			return 0, ErrFull
		}
		l.values.room(id).text = h.arena.add(value)
		l.bytes.Add(uint64(len(value)))
		l.count.Store(id + 1)
		l.byValue.insert(hash, id)
		o = id + 1
	}
	l.last = o
	return o, nil
}

// arena holds the bytes of strings. One goroutine adds; others may read what
// they know to be there.
type arena struct {
	chunks chunked[[]byte]
	n      uint32 // chunks
	free   int    // in the last one
}

const arenaChunk = 1 << 16

// add copies a string and returns where it is: chunk and offset.
func (a *arena) add(s string) uint64 {
	need := len(s) + binary.MaxVarintLen64
	if a.n == 0 || a.free < need {
		*a.chunks.room(a.n) = make([]byte, 0, max(arenaChunk, need))
		a.n++
		a.free = max(arenaChunk, need)
	}
	chunk := a.chunks.at(a.n - 1)
	b := *chunk
	// Readers have no slice header to race on: they take the room of the chunk.
	off := cap(b) - a.free
	room := b[:cap(b)]
	n := binary.PutUvarint(room[off:], uint64(len(s)))
	n += copy(room[off+n:], s)
	a.free -= n
	return uint64(a.n-1)<<32 | uint64(off)
}

// at returns the string at a place; it aliases the arena, which never changes.
func (a *arena) at(where uint64) string {
	b := *a.chunks.at(uint32(where >> 32))
	b = b[:cap(b)][uint32(where):]
	length, n := uvarint(b)
	return text(b[n:][:length])
}

// Size returns the bytes that the head holds, about: dictionaries, postings,
// columns, and the table of series.
func (h *Head) Size() HeadSize {
	h.mu.Lock()
	defer h.mu.Unlock()
	var s HeadSize
	for id := range h.count.Load() {
		l := *h.labels.at(id)
		s.Dictionaries += 500 + l.byValue.size() + 8*l.values.size()
		s.Postings += 16*l.values.size() + l.presence.Size()
		for o := range l.count.Load() {
			s.Postings += l.values.at(o).series.Size()
		}
	}
	for i := range h.arena.n {
		s.Dictionaries += cap(*h.arena.chunks.at(i))
	}
	s.Columns = 4 * h.location.size()
	for i := range h.mu.blocks {
		s.Columns += (*h.blocks.at(i)).size()
	}
	s.Series = h.series.size()
	return s
}

// HeadSize is what a head holds, in bytes.
type HeadSize struct{ Dictionaries, Postings, Columns, Series int }

// Total returns the sum.
func (s HeadSize) Total() int { return s.Dictionaries + s.Postings + s.Columns + s.Series }
