// Package rollup makes of the samples of one series a value at each step: the
// rollup functions of the MetricsQL dialect (rate, max_over_time, rollup, ...).
//
// A call goes through three hands: New checks its arguments and yields a Func; On
// puts the Func on a grid of steps and yields a Roller, which many goroutines may
// use at once; Append and Do roll one series after the other.
//
// What a window is follows VictoriaMetrics' promql/rollup.go operation by
// operation, and so do the kernels: it holds the samples in (t-window, t], knows
// the sample before it (prev) if that is not too far away, and is widened if the
// query gave none and the samples are further apart than the steps.
//
// Products are rounded before they are added to something, float64(a*b), so that
// all machines answer alike.
//
// Kernels get no NaN: Append and Do drop them, staleness markers too unless
// KeepsStale.
package rollup
