// Package oracle holds promqlx's answers to those of Prometheus' engine, bit by
// bit: over the corpus of promqltest on its own data, and over random queries
// on random data in every state of the store.
//
// Equal is: the same type, label sets in the same order, times, floats as bits
// (but any NaN that is no stale marker equals any other), histograms by all
// their fields, annotations by their texts with positions, errors by text and
// kind.
//
// Where Prometheus' engine collects series in Go maps, in range queries, it
// leaves their order to chance, and with it the last digits of sums and the
// choice among equals. A difference is therefore asked again: where the oracle
// contradicts itself or gives our answer at last, the query is unstable, and our
// answer is held to the oracle's answers for single times instead, which do not
// depend on maps.
//
// A difference is shrunk to the smallest expression, grid and set of states that
// show it, and grouped by the outermost function of that expression.
//
//	ORACLE_QUERIES  how many random queries
//	ORACLE_SEED     repeats a run, but for promqlsmith's part, which is not
//	                reproducible: each report has the text
//	ORACLE_DATA     the seed of the data, 1 if not given
//	ORACLE_ONLY     a regular expression that random queries have to match
//	ORACLE_OUT      a file that gets every difference, not just the first 20
//	ORACLE_STRICT   0: answers that change from one time to the next, or differ
//	                from the oracle's for single times where it has no other
//	                stable answer, do not fail the test
//
// One query alone, with the samples it reads (TestOne): ORACLE_QUERY,
// ORACLE_GRID as "start,end,step" or "time" in milliseconds, ORACLE_FEATURES,
// ORACLE_STATE, ORACLE_LOOKBACK.
package oracle
