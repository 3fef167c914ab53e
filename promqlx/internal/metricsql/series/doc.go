// Package series holds what the operators of the MetricsQL dialect hand to each
// other: sets of series with a value at each step of one grid.
//
// The dialect evaluates otherwise than PromQL: there are no staleness and no
// histograms inside it, a value that is missing is NaN, and a scalar is a series
// without labels. The order of labels inside a name is a part of the semantics:
// answers are sorted by it, and it tells whether a name came straight from the
// store or went through an operator that sorts labels. See Name.
package series
