// Package aggr folds series into groups: sum, avg, topk and the other
// aggregations. Series are folded as they come, one after another, which is the
// order in which Prometheus' engine adds them at each step.
package aggr
