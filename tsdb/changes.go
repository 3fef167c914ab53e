package tsdb

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// changes counts what happened to the samples of each stretch of time, for who
// keeps answers. A stretch is one of 2 hours, or those of a table's length apart:
// what happens in one of these makes answers about the others be computed once
// more than needed.
type changes struct {
	// slots are a count of changes that ended, above pendingBits of how many go on.
	slots [changeSlots]atomic.Uint64
	// unlike numbers the answers that no later one is to be equal to.
	unlike atomic.Uint64
}

const (
	changeMs    = 2 * 60 * 60 * 1000
	changeSlots = 1 << 12 // most of a year
	pendingBits = 16
)

// changeSet is a set of slots.
type changeSet [changeSlots / 64]uint64

// slotOf returns the slot of a time.
func slotOf(t int64) uint { return uint(floorDiv(t, changeMs)) % changeSlots }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func (s *changeSet) add(slot uint) { s[slot/64] |= 1 << (slot % 64) }

// addRange adds the stretches of [mint, maxt].
func (s *changeSet) addRange(mint, maxt int64) {
	first, last := floorDiv(mint, changeMs), floorDiv(maxt, changeMs)
	for i := range min(max(0, last-first+1), changeSlots) {
		s.add(uint(first+i) % changeSlots)
	}
}

func (s *changeSet) each(f func(slot uint)) {
	for w, x := range s {
		for ; x != 0; x &= x - 1 {
			f(uint(w*64 + bits.TrailingZeros64(x)))
		}
	}
}

// begin comes before readers may see anything of a change, end after they see all.
func (c *changes) begin(s *changeSet) {
	s.each(func(slot uint) { c.slots[slot].Add(1) })
}

func (c *changes) end(s *changeSet) {
	s.each(func(slot uint) { c.slots[slot].Add(1<<pendingBits - 1) })
}

// changing begins a change of all samples inside [mint, maxt] and returns what
// ends it.
func (db *DB) changing(mint, maxt int64) (end func()) {
	var s changeSet
	s.addRange(mint, maxt)
	db.changes.begin(&s)
	return func() { db.changes.end(&s) }
}

// Generation returns a number that stands for the samples of the whole store that
// a View of [mint, maxt] shows, the hints of its histograms included: if it is the
// same before a View is opened and at any time later, the View showed what one
// opened then would. It is another after an append, however late, a delete, after
// parts were dropped or set aside, or damage was found; also now and then when
// nothing of the range changed. While samples of the range are being written, or
// the range reaches beyond the retention, each call returns another number. Numbers
// of different ranges, or of a store opened anew, say nothing about each other.
//
// A flush or a merge changes nothing. Cost: a nanosecond for 2 hours of the range,
// some microseconds at most.
func (db *DB) Generation(mint, maxt int64) uint64 {
	if mint > maxt {
		return 0
	}
	if db.opts.Retention > 0 && mint < db.oldest(time.Now()) {
		return db.changes.another()
	}
	first, last := floorDiv(max(mint, 0)-hintLookback, changeMs), floorDiv(max(maxt, 0), changeMs)
	sum := uint64(0)
	for i := range min(last-first+1, changeSlots) {
		x := db.changes.slots[uint(first+i)%changeSlots].Load()
		if x&(1<<pendingBits-1) != 0 {
			return db.changes.another()
		}
		sum += x >> pendingBits
	}
	return sum
}

// another returns a number that is no sum of counts, nor was returned before.
func (c *changes) another() uint64 { return 1<<63 | c.unlike.Add(1) }
