// Package v1 reads pages, the first encoding of spans: blocks of columns coded
// as tokens and raw bits, entropy coded page by page. Parts of format 1 are made
// of them, and tables of part read them with Page; nothing of the store writes
// them any more. Encoder remains, as what tests make such parts with and compare
// later formats to.
//
// The bytes are described in tsdb/docs/format/block.md.
package v1
