// Package binop holds the binary operators of the MetricsQL dialect: arithmetic,
// comparisons, the set operators and if, ifnot and default, over series that are
// evaluated already.
package binop
