// Package binop combines vectors and scalars: arithmetic, comparisons, set
// operators, and the matching of series to series.
//
// A join has one side as a whole and takes the other row by row: for each it
// finds the rows that match and combines whole columns. What Prometheus' engine
// finds out step by step (which it does in the order of time, and stops at the
// first error) is gathered in sets of steps and decided in the end.
package binop
