// Package httpcorpus runs Prometheus' own PromQL acceptance tests over HTTP
// against varve's real server: samples come by remote write 2.0, and each query
// is asked at /api/v1/query or /api/v1/query_range.
//
// What the tests expect is not all that an answer says, and not all of it can
// be read from JSON: a histogram there is a list of buckets. So each load goes
// to a storage of Prometheus as well, each query is put to Prometheus' engine
// behind Prometheus' API too, and the two answers have to be the same JSON:
// status, values, labels, order, warnings, infos and errors. Prometheus' value,
// in the order of varve's answer, is then held against what the test expects.
package httpcorpus
