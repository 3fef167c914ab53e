// Package write receives Prometheus remote write, versions 1.0 and 2.0.
//
// A request lives through five steps: its headers are negotiated, its body read
// and decompressed into pooled buffers charged to a budget, its message walked
// into one batch of the store, the batch committed, the outcome answered.
//
// Rules:
//
//	R1: a message that is broken (compression, protobuf) is refused whole.
//	R2: in a sound message a bad series or sample costs nothing but itself: its
//	    neighbours are committed first, then the answer is a 400 that counts
//	    what was refused and names the first of it.
//	R3: nothing is dropped in silence, and no text is cut short to fit.
//	R4: a 2xx is sent after the store has logged everything.
//	R5: series seen before, and their float samples, cost no allocation.
//
// Series are found by a keyed 128-bit hash of the label bytes as they were sent,
// with no copy of the labels beside it: two series that a store of 10 million
// has to tell apart collide with a chance of about 10^-25.
package write
