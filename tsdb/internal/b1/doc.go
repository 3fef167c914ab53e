// Package b1 is block format B1: up to 8192 samples of one series, cut into
// mini-blocks that decode on their own, with statistics of the block and of
// each mini-block.
//
// A block is a Header, which lives in a page of headers (page.go), and a
// payload. Blocks are written once by an Encoder and then only read; where both go, and
// that the payload is compared with its checksum, is up to the file:
//
//	headers   statistics, place and parameters of up to 128 blocks, column by
//	          column; enough to skip a block or to answer for the whole of it
//	payload   exceptions, directory, mini-blocks; read when a range of samples
//	          cuts the block or values are wanted
//
// Invariants:
//
//	I1 every value comes back bit for bit: an Encoder decodes what it wrote
//	   before it hands it out
//	I2 a statistic said to be exact is what decoding the range and computing in
//	   time order yields, bit for bit
//	I3 foreign bytes are refused or decoded to something; they neither panic nor
//	   make the reader take memory beyond what MaxSamples needs
//
// The bytes are described in tsdb/docs/format/b1.md.
package b1
