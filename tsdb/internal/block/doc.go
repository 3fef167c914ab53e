// Package block is the unit samples are stored and read in: the span a reader
// sees and the encoding of a span as bytes.
package block
