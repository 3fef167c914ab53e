// Package wal is the write-ahead log: frames of bytes whose meaning it does not
// know, in order, on disk.
//
// A log is a folder of segments, files named by an ascending number. A segment
// is begun by the first Append that needs it, only ever appended to, sealed by
// Rotate or when it is full, and deleted by Release when its frames are no
// longer needed. A segment found by Open is never appended to.
//
// The bytes of a segment are described in tsdb/docs/format/wal.md. In short: a
// header with magic, version and the sequence number of its first frame, then
// frames of
//
//	len u32 | crc32c u32 | seq u64 | type u8 | flags u8 | payload
//
// Invariants:
//
//	I1: sequence numbers ascend by one from frame to frame, across segments too;
//	    a number is skipped only where a segment was given up after a failed
//	    write that could not be undone.
//	I2: a frame is written by one Write and read back whole or not at all.
//	I3: a number returned by Append without an error is never given to another
//	    frame while the process lives.
//	I4: a file whose fsync failed is never fsynced again.
//	I5: the append lock is never held during an fsync or a deletion.
package wal
