package row

import "math/bits"

// Bits is a set of steps.
type Bits []uint64

// NewBits returns an empty set for n steps.
func NewBits(n int) Bits { return make(Bits, (n+63)/64) }

// Get tells whether step i is in the set.
func (b Bits) Get(i int) bool { return b[i>>6]&(1<<(i&63)) != 0 }

// Set puts step i in.
func (b Bits) Set(i int) { b[i>>6] |= 1 << (i & 63) }

// Unset takes step i out.
func (b Bits) Unset(i int) { b[i>>6] &^= 1 << (i & 63) }

// Clear takes all steps out.
func (b Bits) Clear() { clear(b) }

// Fill puts the first n steps in.
func (b Bits) Fill(n int) {
	for i := range b {
		b[i] = ^uint64(0)
	}
	if r := n & 63; r != 0 {
		b[len(b)-1] = 1<<r - 1
	}
}

// Count returns how many steps are in the set.
func (b Bits) Count() int {
	n := 0
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// Any tells whether there is a step in the set.
func (b Bits) Any() bool {
	for _, w := range b {
		if w != 0 {
			return true
		}
	}
	return false
}

// Next returns the first step at or after i that is in the set, -1 if there is
// none.
func (b Bits) Next(i int) int {
	k := i >> 6
	if k >= len(b) {
		return -1
	}
	w := b[k] >> (i & 63) << (i & 63)
	for w == 0 {
		if k++; k == len(b) {
			return -1
		}
		w = b[k]
	}
	return k<<6 + bits.TrailingZeros64(w)
}
