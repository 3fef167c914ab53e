// Package transform holds the functions of the MetricsQL dialect that look at
// values and labels already computed: everything that is no rollup (a function of
// samples in a window) and no aggregate.
//
// A function gets its arguments evaluated at all steps and answers for all steps.
// It owns them: values and labels are changed in place. Answers are those of
// VictoriaMetrics 1.146, down to the bits of the values, the order in which labels
// are kept and the texts of errors; where VictoriaMetrics leaves the order of series
// to a map, they come in the order their groups first appeared.
package transform
