// Package binop combines vectors and scalars: arithmetic, comparisons, set
// operators, and the matching of series to series.
package binop
