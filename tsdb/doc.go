// Package tsdb is the store: it opens, wires and schedules the rooms below it
// and shows them as one.
//
// A Batch collects the samples of a request. Commit writes them to the log as
// one frame, then to the head; from then on they are kept and visible. The head
// is flushed to immutable parts, one a UTC day, which are merged, those of days
// that are over with their neighbours, and dropped with the retention. The
// manifest says which parts are live.
//
// Select returns a View: the matching series in label order, read by Cursors of
// Spans, or straight into columns, see View.Read. It is the one read API: Storage, which lets Prometheus' packages run
// on the store, remote read, export and the query engine stand on it alone.
//
// Of two samples of one series at one time the one acknowledged later stands.
package tsdb
