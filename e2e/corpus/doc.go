// Package corpus runs Prometheus' own PromQL acceptance tests over a store in
// this process: once as the store is, and again with every sample pushed
// through a flush and a merge, split between head and parts, or appended in a
// random order. There is no skip list.
package corpus
