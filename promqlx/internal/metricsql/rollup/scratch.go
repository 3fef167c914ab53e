package rollup

import "github.com/VictoriaMetrics/metrics"

// Scratch is memory that is used again from series to series, by one goroutine at
// a time. The zero value is ready.
type Scratch struct {
	floats    []float64
	sorted    []float64
	unused    []float64 // values of labelled functions, which are all NaN
	ring      []int
	text      []byte
	window    window
	histogram *metrics.Histogram
}
