// Package head keeps recent samples in memory. It does no I/O and knows neither
// the log nor parts: package tsdb logs a sample before it hands it over and
// writes a sealed generation out as parts.
//
// A Head has one registry of series, found by label set or by matchers, and
// generations of samples. The newest generation takes samples; Seal closes it
// and begins the next; Drop takes a flushed one out. A generation's samples
// stay readable through what Select returned as long as that is held.
//
// Invariants:
//
//	I1: samples are applied to a series in the order of Enqueue, so of two
//	    samples at one time the one applied later is the newer.
//	I2: what Select handed out is not changed by later writes: slices only grow
//	    beyond the lengths it saw, deletes make new ones.
//	I3: two live series never have equal label sets.
package head
