// Package promqlx answers PromQL. It owns the query texts' front door: one
// parser with one set of enabled features, limits (time, samples, queries at
// once) and the seam behind which an evaluator works.
//
// Life of a query: Engine.Instant or Engine.Range parses and plans the text and
// reads no samples, in a slot if the text is long; Query.Exec waits for a free slot, then evaluates;
// Query.Close gives the result's memory back. A query runs at most once. While
// it waits and runs it is among the ActiveQueries, afterwards among the
// TopQueries.
//
// The Engine knows limits, lists and metrics; an Evaluator, behind the seam in
// seam.go, plans and evaluates: that of own.go is what there is.
//
// What surrounds the evaluation is kept small, because the smallest query takes a few
// microseconds: a query is one allocation, reads the clock once for each of its parts,
// and has a timer or timers only if somebody waits for them or asks for them.
//
// Invariants:
//
//	I1: at most Options.MaxConcurrent queries evaluate, or have a text that can
//	    take long parsed and planned, at any time.
//	I2: a query that waits for a slot or for memory, or is prepared, longer than its
//	    deadline fails with promql.ErrQueryTimeout, one whose caller left with
//	    promql.ErrQueryCanceled.
//	I3: the text that Instant and Range accept is what ParseExpr accepts.
//	I4: what queries count with their Meters never exceeds Options.MaxMemory, nor
//	    what one counts Options.MaxQueryMemory.
//
// The package opens no files and knows no HTTP.
package promqlx
