package row

import (
	"bytes"
	"hash/maphash"
)

// Keys numbers byte strings from 0 in the order they first appear. The zero
// value is empty. It takes the bytes of the keys and some 25 more for each, and
// no allocation of its own for a key.
type Keys struct {
	seed  maphash.Seed
	bytes []byte   // the keys, one after another
	ends  []int    // of each key in bytes
	sums  []uint64 // their hashes
	table []int32  // numbers plus 1 by hash, with linear probing; at most half full
}

// Len returns how many keys there are.
func (k *Keys) Len() int { return len(k.ends) }

// Find returns the number of a key, -1 if it did not appear.
func (k *Keys) Find(key []byte) int {
	if len(k.table) == 0 {
		return -1
	}
	n, _ := k.find(key, maphash.Bytes(k.seed, key))
	return n
}

// Add returns the number of a key, a new one if it did not appear.
func (k *Keys) Add(key []byte) (n int, isNew bool) {
	if 2*(len(k.ends)+1) > len(k.table) {
		k.grow()
	}
	sum := maphash.Bytes(k.seed, key)
	n, at := k.find(key, sum)
	if n >= 0 {
		return n, false
	}
	k.bytes = append(k.bytes, key...)
	k.ends = append(k.ends, len(k.bytes))
	k.sums = append(k.sums, sum)
	k.table[at] = int32(len(k.ends))
	return len(k.ends) - 1, true
}

// find returns the number of a key, or -1 and its place in the table.
func (k *Keys) find(key []byte, sum uint64) (n, at int) {
	mask := len(k.table) - 1
	for at = int(sum) & mask; ; at = (at + 1) & mask {
		n = int(k.table[at]) - 1
		if n < 0 || k.sums[n] == sum && bytes.Equal(k.key(n), key) {
			return n, at
		}
	}
}

func (k *Keys) key(n int) []byte {
	start := 0
	if n > 0 {
		start = k.ends[n-1]
	}
	return k.bytes[start:k.ends[n]]
}

// grow doubles the table.
func (k *Keys) grow() {
	if len(k.table) == 0 {
		k.seed = maphash.MakeSeed()
	}
	k.table = make([]int32, max(16, 2*len(k.table)))
	mask := len(k.table) - 1
	for n, sum := range k.sums {
		at := int(sum) & mask
		for k.table[at] != 0 {
			at = (at + 1) & mask
		}
		k.table[at] = int32(n) + 1
	}
}

// Bytes returns the memory held.
func (k *Keys) Bytes() int64 {
	return int64(cap(k.bytes) + 8*cap(k.ends) + 8*cap(k.sums) + 4*len(k.table))
}
