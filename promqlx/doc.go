// Package promqlx answers PromQL. It owns the query texts' front door: one
// parser with one set of enabled features, limits (time, samples, queries at
// once) and the seam behind which an evaluator works.
//
// Life of a query: Engine.Instant or Engine.Range parses and checks the text
// and touches no data; Query.Exec waits for a free slot, then evaluates;
// Query.Close gives the result's memory back. A query runs at most once.
//
// The evaluator is Prometheus' own engine over a Queryable for now. Another
// one takes its place by implementing Evaluator.
//
// Invariants:
//
//	I1: at most Options.MaxConcurrent queries evaluate at any time.
//	I2: a query that waits for a slot longer than its deadline fails with
//	    promql.ErrQueryTimeout, one whose caller left with promql.ErrQueryCanceled.
//	I3: the text that Instant and Range accept is what ParseExpr accepts.
//
// The package opens no files and knows no HTTP.
package promqlx
