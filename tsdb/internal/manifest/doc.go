// Package manifest keeps which files of the store are live: its parts, what was
// deleted, how far the log was flushed, and what the metadata of families is.
//
// It is one file, MANIFEST, a list of edits; the state is what they make of an
// empty one, in order. The file is made once, then only appended to, one fsynced
// record for each edit, until it has grown to twice what its state needs: then it
// is written anew beside itself and renamed. The bytes are described in
// tsdb/docs/format/manifest.md.
//
// Invariants:
//
//	I1: an edit is in the state after it is durable, never before.
//	I2: an edit is there in full or not at all, whatever fails.
//	I3: only the last record can be torn; damage before it is an error, since
//	    a state that lacks an edit in the middle is a wrong one.
package manifest
