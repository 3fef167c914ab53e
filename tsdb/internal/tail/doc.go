// Package tail codes the recent float samples of a series as they arrive: one
// byte for most samples of a scrape, every float64 and every int64 time bit for
// bit.
//
// A Tail is the state of one series, a record without pointers. Its samples are
// in blocks of a mem.Arena, which only ever grow at the end: a Snapshot is the
// place up to which they may be read, copies nothing, and stays readable
// without a lock while samples are appended, until the arena is released.
//
// # Blocks
//
// Blocks are chained backwards and their sizes follow the size of the tail, so
// that an idle end is an eighth of it or so. A block begins with
//
//	prev  handle of the block before, 4 bytes, 0 for the first
//	what  2 bytes: 1 whether this block begins anew, 7 how many bytes of the
//	      block before are idle, 8 its size in units of 16 bytes
//
// A block that begins anew, at the earliest 256 samples after the last one that
// did, can be read without those before it. There follows the state after its
// first sample:
//
//	time   8 bytes
//	delta  to the time before, zigzag varint; 0 in the first block
//	start  timestamp, zigzag varint; 0 unknown
//	scale  byte
//	last   mantissa as a zigzag varint, or 8 bytes of bits
//
// All fixed numbers are little endian.
//
// # Samples
//
// A series is in one of two modes. With a scale of 0 to 22 its last value is the
// mantissa m of m / 10^scale, one division of two exact doubles; with the scale
// 255 it is the bits of a double. The delta between the last two times is
// expected again. Every sample begins with a code byte:
//
//	0..63     time as expected; mantissa delta -32..31
//	64..127   time as expected; mantissa delta of 14 bits, the lower 8 in the
//	          next byte
//	0..71     with bits: time as expected; the xor of the bits has code>>3 zero
//	          bytes above and code&7 below, those between follow
//	128..159  a byte is the difference to the time expected; mantissa delta
//	          -16..15
//	160..191  likewise; mantissa delta of 13 bits, the lower 8 in the next byte
//	128..191  with bits: likewise; the code less 128 is as above
//	192..255  11 time:2 value:4
//
// time is the difference to the time expected: none, 1 byte, 2 bytes, or a
// zigzag varint. value is one of the value constants; of what these name, the
// change of the start timestamp and the runs have no time and are no sample by
// themselves. All arithmetic wraps.
//
// Equal samples in equal distance beyond the fourth are counted in the Tail and
// written as one run.
//
// This is no disk format: it lives as long as the process and may change at
// will.
package tail
