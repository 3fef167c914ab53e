// Package row holds what operators of the query engine hand to each other: the
// values of one series over the steps of an evaluation, and the grid these
// steps lie on. It knows neither plans nor stores.
//
// Evaluation goes by series, not by step: a Row is one series with its values
// at all steps, in flat columns that are reused from series to series.
package row
