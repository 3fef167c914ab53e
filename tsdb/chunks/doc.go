// Package chunks turns the spans a Cursor hands out into Prometheus chunks
// (tsdb/chunkenc): the form that streamed remote read puts on the wire and that
// a storage.ChunkQuerier returns.
//
// Every sample comes back from a chunk as it was stored: floats bit for bit,
// histograms with the same counts and sums (buckets that are empty may come and
// go with the layout of the chunk), start timestamps where the chunk has room
// for them. What a chunk cannot hold is the counter-reset hint of its first
// histogram: readers see "unknown" there and compare for themselves.
//
// Invariants:
//
//	C1: chunks ascend in time and do not overlap.
//	C2: a chunk holds one kind of samples, and gauge histograms never share a
//	    chunk with others.
//	C3: an explicit counter reset always starts a chunk.
//	C4: a sample with a start timestamp is in a chunk that stores it.
package chunks
