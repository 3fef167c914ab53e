// Package compliance asks a real Prometheus and a real varve, which hold the same
// samples, everything that the PromQL suite of prometheus/compliance asks, and
// requires that they answer the same, to the last digit.
//
// testdata/templates.txt are the suite's templates and say where they come from;
// demo.go makes data like that of the demo service which they ask for.
package compliance
