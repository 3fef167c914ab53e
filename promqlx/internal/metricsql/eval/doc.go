// Package eval evaluates expressions of MetricsQL over our own store, as
// VictoriaMetrics 1.146 does with an empty cache: the same steps in the same order,
// for the order of labels inside names, which errors tell of, and what is read of a
// series before a window all show in its answers. (promql/eval.go of its app/vmselect.)
package eval
