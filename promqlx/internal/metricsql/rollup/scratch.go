package rollup

import (
	"github.com/varvedb/varve/promqlx/internal/metricsql/series"
	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

// Scratch is memory that is used again from series to series, by one goroutine at
// a time. The zero value is ready.
type Scratch struct {
	// Pace is asked whether to go on. Whoever calls a Roller asks it for an error before
	// using what came out; nil goes on.
	Pace *series.Pace
	// Hold is asked for room before each series that Append makes, and ends the Pace if
	// it denies it; nil has room for any number.
	Hold func(series int) error

	floats []float64
	sorted []float64
	unused []float64 // values of labelled functions, which are all NaN
	ring   []int
	text   []byte
	window window
	counts *[stat.Buckets]uint32 // of a histogram, all zero between windows
}

// Cap returns how many values there is room for at the most in one piece.
func (s *Scratch) Cap() int {
	return max(cap(s.floats), cap(s.sorted), cap(s.unused), cap(s.ring))
}

// room asks for room for one more series, and tells whether there is any.
func (s *Scratch) room() bool {
	if s.Hold == nil {
		return true
	}
	err := s.Hold(1)
	if err != nil {
		s.Pace.Stop(err)
	}
	return err == nil
}
