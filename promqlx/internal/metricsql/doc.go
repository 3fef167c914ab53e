// Package metricsql is the front end of the MetricsQL dialect: a text becomes the
// expression of the library that VictoriaMetrics itself parses with, optimised and
// turned around as VictoriaMetrics does before it evaluates.
package metricsql
