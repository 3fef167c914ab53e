// Package corpus runs Prometheus' own PromQL acceptance tests on promqlx over a
// store in this process: once as the store is, and again with every sample
// pushed through a flush and a merge, split between head and parts, or appended
// in a random order; and over storages that show nothing but Prometheus'
// interface, so that the engine cannot take its way through the store. There is
// no skip list, and it is counted what was asked.
package corpus
