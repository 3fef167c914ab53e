// Package remote is the HTTP door of a store: it puts the protocols and APIs of
// its rooms on one mux. Each room turns bytes into calls of package tsdb or
// promqlx and back; what an error means as a status is decided in
// internal/status alone.
//
// A Door can be served before the store is open: it answers that it is healthy
// and not ready until Open is called.
package remote
