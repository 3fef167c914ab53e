// Package read is the door for Prometheus remote read: POST /api/v1/read.
//
// A request is a snappy block of prometheus.ReadRequest. It is answered in the
// first of its accepted response types that is known: SAMPLES (one snappy block,
// also the answer when no type is named) or STREAMED_XOR_CHUNKS (a sequence of
// frames). A list of unknown types alone is a 400.
//
// # Frames
//
//	uvarint   size of the message
//	4 bytes   CRC-32 (Castagnoli) of the message, big-endian
//	message   prometheus.ChunkedReadResponse with one series
//
// Series come in label order. A series whose chunks exceed the size of a frame
// continues in the next frame, and never after another series began. Prometheus'
// own client takes each frame for a series, so MaxFrameBytes should exceed what
// one series brings within a query.
//
// # Chunks
//
// Chunks are made from spans by package tsdb/chunks, inside the asked range
// alone. Floats are XOR chunks, histograms HISTOGRAM or FLOAT_HISTOGRAM. Samples
// with start timestamps are in XOR2, HISTOGRAM_ST or FLOAT_HISTOGRAM_ST chunks,
// which Prometheus sends and reads since 3.14 in just these cases; there is no
// way to negotiate them, so Options.DropStartTimes is there for older readers.
// SAMPLES has no field for start timestamps.
//
// # Limits
//
// The decoded request, the queries and matchers in it, the samples and bytes of
// a SAMPLES answer, and the requests served at once are bounded. A streamed
// answer holds one frame and one span. When it breaks off after its first bytes
// the connection is aborted (http.ErrAbortHandler), so that the client cannot
// take the beginning for the whole.
package read
