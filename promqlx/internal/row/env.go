package row

import (
	"errors"

	"github.com/prometheus/prometheus/util/annotations"
)

// Env is what a kernel may know of the evaluation around it. Kernels of one
// operator share one; it is not for concurrent use.
type Env struct {
	Grid         Grid
	Lookback     int64 // milliseconds
	DelayedNames bool  // feature promql-delayed-name-removal
	TypeAndUnit  bool  // feature type-and-unit-labels
	StartTimes   bool  // feature use-start-timestamps
	Annos        annotations.Annotations

	// Ended returns an error when the evaluation is to end; nil means that it never
	// is. See Alive.
	Ended func() error
	// Grow is told of bytes that are kept until the query ends; nil counts nothing.
	// See Hold.
	Grow func(n int64) error
	// Slabs is memory that is used again; nil if there is none.
	Slabs Slabs
}

// SlabFloats is the length of a slab.
const SlabFloats = 1 << 12

// Slabs lends pieces of memory of SlabFloats numbers.
type Slabs interface {
	// Slab returns numbers of any value.
	Slab() []float64
	// GiveBack takes a slab back, which nobody looks at any more.
	GiveBack(slab []float64)
}

// Alive returns an error when the evaluation is to end. It is for loops over rows,
// whose i-th turn it is: most calls cost next to nothing.
func (e *Env) Alive(i int) error {
	if i&63 != 0 || e.Ended == nil {
		return nil
	}
	return e.Ended()
}

// Hold counts n more bytes, or returns the error that they are too many.
func (e *Env) Hold(n uint64) error {
	if e.Grow == nil {
		return nil
	}
	return e.Grow(int64(n))
}

// Instant tells whether this is the evaluation of one time, not of a range: then
// the order of rows is the order of the answer.
func (e *Env) Instant() bool { return !e.Grid.Ranged && e.Grid.N <= 1 }

// ErrSameLabels is what a vector with two samples of one label set is, in the
// words of Prometheus' engine.
var ErrSameLabels = errors.New("vector cannot contain metrics with the same labelset")
