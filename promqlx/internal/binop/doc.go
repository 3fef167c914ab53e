// Package binop combines vectors and scalars: arithmetic, comparisons, set
// operators, and the matching of series to series.
//
// A Join works by series: it finds out which rows meet and what labels they give
// before it touches a value, then combines whole columns. What only a look at
// each step can tell, such as two series on the "one" side that meet at some of
// the steps, goes to the slow twin (bySteps), which does as Prometheus' engine
// does, step by step.
package binop
