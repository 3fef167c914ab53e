// Package head keeps recent samples in memory. It does no I/O and knows neither
// the log nor parts: package tsdb logs a sample before it hands it over and
// writes a sealed generation out as parts.
//
// A Head has one registry of series, found by label set or by matchers, and
// generations of samples. The newest generation takes samples; Seal closes it
// and begins the next; Drop gives the memory of a flushed one back.
//
// # Series
//
// A series is a slot, a record of two dozen bytes without pointers. Its labels
// are in the catalog alone, an index.Head with the series of each ordinal, and
// are made anew for who asks. A Ref is the slot and how many series had it
// before: Collect drops series that got nothing for long, and the next ones get
// their slots. Compact makes a catalog without those dropped; who reads the old
// one meanwhile goes on with it.
//
// # Samples
//
// What a generation holds of a series is a record too, with a tail.Tail of the
// floats that came in order of time. Of those that came late the ones that ascend
// make lanes, tails of their own, and what fits no lane a list; all are in an
// arena of the shard. Histograms, whatever follows the first of them, and
// exemplars are in ordinary memory: an extra. The garbage collector sees nothing
// of a series that has floats alone.
//
// Invariants:
//
//	I1: samples are applied to a series in the order of Enqueue, so of two
//	    samples at one time the one applied later is the newer.
//	I2: what Select handed out is not changed by later writes: blocks and slices
//	    only grow beyond the lengths it saw, deletes make new ones.
//	I3: two live series never have equal label sets.
//	I4: a series with samples in a generation that was not dropped is live: so
//	    no generation that can be read holds samples of two series of one slot.
//	I5: whoever reads a generation holds it: Drop comes after the last one left.
//	I6: a Moment shows all of a frame or nothing: what is changed while it is open
//	    is kept for it before, and what stood in line is applied before it looks.
package head
