// Package wire turns request bodies into values: it undoes snappy, zstd, gzip
// and deflate under size limits, and walks the protobuf messages of Prometheus
// remote write 1.0 (prometheus.WriteRequest) and 2.0
// (io.prometheus.write.v2.Request) without copying them.
//
// It knows bytes only: no store, no HTTP. Invariants:
//
//	W1: foreign bytes never panic; they are decoded, or an error says why not.
//	W2: nothing is allocated from a claim in the input: a claimed size is
//	    compared with the limit, and with what the input could hold at most.
//	W3: the walkers hand out parts of the message they were given; these are
//	    valid until the caller reuses that message's buffer.
//	W4: decoding a known series and its float samples allocates nothing.
//
// The walkers read protobuf as the generated decoders of Prometheus do: fields
// in any order, the last of a repeated scalar wins, repeated messages add up,
// repeated numbers packed or not, unknown fields are skipped.
package wire
