package index

import "hash/maphash"

// filter tells most of the values that a dictionary does not have, so that
// looking for them costs one cache line and not a dozen. It takes a byte per
// value.
type filter struct {
	seed   maphash.Seed
	blocks [][8]uint64
}

// filterBits per value, four of them set: one absent value in thirty gets past.
const filterBits = 8

func newFilter(values uint32) filter {
	return filter{maphash.MakeSeed(), make([][8]uint64, uint64(values)*filterBits/512+1)}
}

// block returns the block of a hash; its lower 36 bits are four places in it.
func (f *filter) block(hash uint64) *[8]uint64 {
	return &f.blocks[(hash>>36)*uint64(len(f.blocks))>>28]
}

func (f *filter) add(value string) {
	hash := maphash.String(f.seed, value)
	b := f.block(hash)
	for range 4 {
		b[hash>>6&7] |= 1 << (hash & 63)
		hash >>= 9
	}
}

// mayHave says whether a value may be one of those added.
func (f *filter) mayHave(value string) bool {
	hash := maphash.String(f.seed, value)
	b := f.block(hash)
	for range 4 {
		if b[hash>>6&7]>>(hash&63)&1 == 0 {
			return false
		}
		hash >>= 9
	}
	return true
}
