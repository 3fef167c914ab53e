// Package rollup computes functions over windows of a series: rate,
// sum_over_time and the rest that take a range vector.
//
// Each function has a Window form, which looks at one window at a time, as
// Prometheus' engine does, and serves everything: histograms, anchored and
// smoothed windows. All have a Floats form besides, which computes all windows
// of a series of floats in one pass, and rates one for anchored and smoothed
// windows; a test holds them equal to the Window form, and that to Prometheus'
// engine, as bits.
//
// Of a NaN the bits do not count, unless the function picks values: where two
// NaNs are added, the compiler's choice of registers decides which one's are
// kept.
//
// Kernels work in the Scratch of their Input and allocate nothing but
// histograms, and annotations if there are any. They are not for concurrent use
// of one Input, Env or Scratch; a Func is.
package rollup
