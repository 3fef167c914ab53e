// Package block is the unit samples are read in: the span a reader sees, what
// may stand behind it, and the ways spans of one series are joined, cut and
// hidden. How they are stored is the business of b1, tail and block/v1.
package block
