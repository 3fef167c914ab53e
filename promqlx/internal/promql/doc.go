// Package promql is the front end of PromQL: it makes plans of what Prometheus'
// parser yields.
//
// Its answers are meant to be those of Prometheus' engine, oddities included: the
// parameter of an aggregation is not preprocessed, so that an @ modifier in it
// holds for the first step alone (plan.Instant.Drift), and timestamp of a
// selector with @ forgets the offset. Where the engine fails by accident it is
// not followed:
//
//   - topk(scalar(rate((x[5m]))), y): parentheses around a range vector, or a
//     string, in a parameter end in a runtime error; here they say nothing.
//   - x @ 5 below a subquery whose offset happens to make it start with the query:
//     the engine reads off by that offset; here @ is right there too.
//   - x @ 5 offset 0.0005: offsets are whole milliseconds, cut off before an @ is
//     added rather than after.
package promql
