// Package index is the index of series: which label sets there are, and which
// of them a list of matchers selects.
//
// A Segment is immutable and used in place, from a mapped file or plain bytes. A
// Writer is given the label sets in label order, with the days on which each
// series was active, and writes a segment. A Head is an index in memory that
// series are added to while others read it without locks. A View answers
// questions about either: matchers to series, series to labels, the values of a
// label by series (Column), names, values and their cardinality.
//
// Series have dense ordinals: in label order in a segment, in the order of their
// arrival in a head. The values of a label have ordinals from 1, in string order
// in a segment; 0 means that a series lacks the label. What matchers select is a
// bitmap.Set of series; what a regular expression accepts is a set of value
// ordinals. Both are cached, if asked to, and what is cached is extended by what
// came since, never thrown away for having grown old.
//
// A segment is a file of sections, see docs/format/index.md. Opening one reads a
// few tables; the rest is checked by pages as it is touched, and look-ups happen in
// a Guard that tells damage. Invariants, of which opening checks I4, names and days,
// and Verify all:
//
//	I1  label names, and the values of a label, ascend strictly and are not empty
//	I2  postings and presence are sets of series below their number, as many as
//	    the dictionary says; those of a label's values add up to its presence
//	I3  the value ordinals of every row exist
//	I4  row groups follow each other without gaps up to the number of series
//	I5  days ascend strictly and are active for series that exist
//
// Pages whose checksums hold were written by a Writer, which keeps them. Where
// someone else wrote them, look-ups stay within bounds or fail in their Guard, but
// their answers are worth what Verify says.
package index
