// Package part is the immutable directory that samples rest in: written once in
// label order, then only read.
//
// A part has the files
//
//	data       pages of blocks, tables that find them, and the Meta
//	index      the series, see package index
//	exemplars  only if there are some
//
// all framed as package section describes. A Writer fills a directory that its
// caller has named so that nobody takes it for a part yet (tmp-...); after
// Commit everything is durable in there and the caller renames the directory
// into place and syncs its parent. A Part is opened by reading the Meta alone;
// index and tables are read and checked at first use.
//
// The sections of data:
//
//	1 pages   table, one row per page: offset, length
//	2 times   table, one row per page of times: offset, length
//	3 blocks  table, one row per block, series after series and ascending in
//	          time: page, number in the page, first time less that of the part,
//	          last time less first, samples, kind
//	4 series  table, one row per series: end of its rows in 3
//	5 meta    see meta.go
//
// Blocks whose times are not a grid refer to a column in a page of times:
// its number << 16 | the number of the column in it. Columns are stored once,
// whichever series share them.
//
// Invariants, checked when the tables are loaded:
//
//	I1  blocks of a series do not overlap and ascend; all lie inside the Meta's
//	    range; their counts add up to the Meta's
//	I2  every page lies before the sections, every block names a page there is
//	I3  the tables, the index and the Meta agree on the number of series
package part
