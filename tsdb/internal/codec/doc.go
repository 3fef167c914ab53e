// Package codec turns columns of numbers into few bytes and back: integers by
// prediction and residual codecs, floats by way of integers, times by way of a
// grid. It is pure: bytes in, bytes out, no state that outlives a call but the
// tables that never change.
//
// A column is coded in four steps, each undone exactly:
//
//	domain      float64 -> int64: decimals, decimals and units in the last
//	            place, or the ordered bits of the doubles (domain.go); what
//	            fits none is an exception (exception.go)
//	prediction  differences of order 0, 1 or 2 less a centre (stream.go)
//	residuals   one of the codecs below, the same for a whole block
//	streams     runs of residuals, each decodable on its own
//
// Residual codecs:
//
//	Zero   all residuals are zero: no bytes
//	Pack   fixed width above a minimum, with patches (pack.go)
//	Huff   static canonical Huffman code of the high bits, low bits raw
//	       (huffman.go); the code is one of a family compiled in (tables.go)
//	Class  Huffman code of the bit length, then the bits (class.go)
//
// Invariants:
//
//	I1 all integer arithmetic wraps, so any int64 comes back
//	I2 decoding with lanes of 32 bits yields the low 32 bits of what decoding
//	   with lanes of 64 bits yields
//	I3 decoders never read outside the source, whatever it holds, and take no
//	   more memory than a few times what the caller asked for
package codec
