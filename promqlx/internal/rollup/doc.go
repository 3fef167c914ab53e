// Package rollup computes functions over windows of a series: rate,
// sum_over_time and the rest that take a range vector.
//
// Each function has a Window form, which looks at one window at a time, as
// Prometheus' engine does, and serves everything: histograms, anchored and
// smoothed windows. Many have a Floats form besides, which computes all windows
// of a series of floats in one pass; a test holds it equal to the other, as
// bits.
package rollup
