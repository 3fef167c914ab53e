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
}

// Instant tells whether this is the evaluation of one time, not of a range: then
// the order of rows is the order of the answer.
func (e *Env) Instant() bool { return !e.Grid.Ranged && e.Grid.N <= 1 }

// ErrSameLabels is what a vector with two samples of one label set is, in the
// words of Prometheus' engine.
var ErrSameLabels = errors.New("vector cannot contain metrics with the same labelset")
