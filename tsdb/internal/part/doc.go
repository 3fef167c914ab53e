// Package part is the immutable directory that samples rest in: written once in
// label order, then only read.
//
// A part has the files
//
//	data       groups of blocks, a table that finds them, and the Meta
//	index      the series, see package index; old ones have version 1, package index/v1
//	exemplars  only if there are some
//
// framed as package section describes or, the index, much like it. A Writer
// fills a directory that its caller has named so that nobody takes it for a part
// yet (tmp-...); after Commit everything is durable in there and the caller
// renames the directory into place and syncs its parent. A Part is opened by reading the Meta alone;
// the table is read and checked at first use, headers of blocks and the blocks
// themselves as they are asked for. A small index is read at first use too; a
// large one is mapped, and its pages are checked as they are touched.
//
// What is written is format 2, see groups.go and tsdb/docs/format/part.md.
// Format 1 has the same files; its data file is read by way of tables.go. Its
// writer lives on in the tests, as the oracle.
//
// Invariants:
//
//	I1  blocks of a series do not overlap and ascend; all lie inside the Meta's
//	    range; their counts add up to the Meta's
//	I2  every block lies in the body of its group, every group before the
//	    sections
//	I3  table, index and Meta agree on the number of series
//
// They are checked of the table when it is loaded, of the headers of a group when
// its page is opened.
package part
