package block

import (
	"errors"
	"fmt"
	"math"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

var (
	errNotAscending = errors.New("times do not ascend")
	errMissing      = errors.New("a column is missing or has another length")
)

// Check refuses a span that does not hold what Span promises, or more than
// MaxSamples: no stored block could be decoded to it.
func (s *Span) Check() error {
	switch {
	case s.Count < 1 || s.Count > MaxSamples:
		return fmt.Errorf("got %d samples, want 1 to %d", s.Count, MaxSamples)
	case s.Times != nil && len(s.Times) != s.Count, s.StartTimes != nil && len(s.StartTimes) != s.Count:
		return errMissing
	case s.Scale > codec.MaxScale:
		return fmt.Errorf("scale %d, want %d at most", s.Scale, codec.MaxScale)
	}
	n := -1
	switch s.Kind {
	case KindHistogram:
		n = len(s.Histograms)
	case KindFloatHistogram:
		n = len(s.FloatHistograms)
	case KindFloat:
		n = len(s.Floats) + len(s.Ints32) + len(s.Ints64)
	default:
		return fmt.Errorf("kind %d is unknown", s.Kind)
	}
	if n != s.Count {
		return errMissing
	}
	return s.CheckTimes()
}

// CheckTimes refuses times that do not ascend strictly, and a grid that ends
// beyond what an int64 holds.
func (s *Span) CheckTimes() error {
	if s.Times != nil && !codec.Ascending(s.Times) || s.Times == nil && !GridAscends(s.Start, s.Step, s.Count) {
		return errNotAscending
	}
	return nil
}

// GridAscends tells whether count times from start on, step apart, ascend
// strictly without overflow.
func GridAscends(start, step int64, count int) bool {
	if count == 1 {
		return true
	}
	steps := int64(count - 1)
	return step > 0 && step <= math.MaxInt64/steps && (start <= 0 || step*steps <= math.MaxInt64-start)
}
