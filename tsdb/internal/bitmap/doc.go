// Package bitmap is the algebra of lists of series ordinals: sets of uint32 in
// containers of 65536, each held as an array, a bitmap or runs, whichever fits.
//
// A Set is immutable and so are its containers: operations share the containers
// of their operands where they can, and a set may alias the bytes of a file or
// of a growing list for as long as those live. The nil *Set is the empty set.
//
// Four types make sets: an operation on others; Builder from ascending
// ordinals; Accumulator from lists in any order; Growing, which one goroutine
// appends to while others take snapshots without a lock.
//
// Stored form, little endian, of a set of at least one ordinal; the first byte
// says which of three:
//
//	1 deltas      uvarints: distance from the ordinal before, less one
//	2 runs        pairs of uvarints: distance from the end of the run before,
//	              then its length less one
//	3 containers  zero byte, number of containers less one u16, then per
//	              container 12 bytes: key u16, count less one u16, kind u8
//	              (1 array, 2 bitmap, 3 runs), zero byte, number of runs less one
//	              u16 (0 unless kind 3), offset from the start of the set u32;
//	              then their data: 1024 u64 at a multiple of 64, ascending u16,
//	              or pairs of u16 (first and last of a run)
//
// The first two forms have no length of their own: whoever stores a set keeps
// its count. The third begins at a multiple of 4 and is used in place.
//
// Invariants, checked by Open:
//
//	I1  keys, the values of an array and the runs ascend; runs do not touch
//	I2  counts are right and not zero
//	I3  every ordinal is below the limit given
package bitmap
