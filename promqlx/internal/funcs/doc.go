// Package funcs holds the functions of instant vectors and scalars.
//
// A function is looked up by its name. It has one of three forms: over the
// series of its vector one by one (Each), over all series of its vectors
// (Whole), or over steps alone (Scalar). All compute all steps of an evaluation
// at once and answer as Prometheus' functions, called step by step, do.
//
// Not here: functions of range vectors (package rollup), info, timestamp and
// start_timestamp of a selector (they look at samples' own times), and what the
// plan folds into constants (start, end, range, step).
package funcs
