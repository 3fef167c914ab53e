// Package remotecorpus runs Prometheus' own PromQL acceptance tests with its
// engine outside of the store: samples come by remote write 2.0 and are read by
// Prometheus' remote read client, in the sampled and in the streamed form.
//
// What the protocols themselves lose is listed, eval by eval, in the tables of
// expected failures; every other eval has to pass, and every listed one to
// fail.
package remotecorpus
