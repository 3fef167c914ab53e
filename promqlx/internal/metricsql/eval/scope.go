package eval

import (
	"fmt"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Scope is the times at which an expression is evaluated: Start, Start+Step, ... up
// to End, which need not be one of them: samples are read up to it. Milliseconds, all
// of them Near.
type Scope struct {
	Start, End, Step int64
	// MayCache tells that VictoriaMetrics would keep what selectors come to: it sorts
	// labels then, and takes another way for long windows at one time.
	MayCache bool
	// MaxPoints bounds the steps of a subquery within.
	maxPoints int
}

// Limits of VictoriaMetrics' flags, at their defaults.
const (
	MaxPoints         = 30_000  // -search.maxPointsPerTimeseries
	maxSubqueryPoints = 100_000 // -search.maxPointsSubqueryPerTimeseries
)

// minAligned is how many points make a range be aligned to its step.
const minAligned = 50

// ValidatePoints returns the error that a range has too many points.
func ValidatePoints(start, end, step int64, most int) error {
	if step == 0 {
		return fmt.Errorf("step can't be equal to zero")
	}
	if points := (end-start)/step + 1; points > int64(most) {
		return fmt.Errorf("too many points for the given start=%d, end=%d and step=%d: %d; the maximum number of points is %d",
			start, end, step, points, most)
	}
	return nil
}

// Align moves a range of 50 points or more to multiples of its step, keeping the
// number of points. (AdjustStartEnd of VictoriaMetrics.)
func Align(start, end, step int64) (int64, int64) {
	points := (end-start)/step + 1
	if points < minAligned {
		return start, end
	}
	start, end = align(start, end, step)
	if extra := (end-start)/step + 1 - points; extra > 0 {
		end -= extra * step
	}
	return start, end
}

// align rounds the start down and the end up to multiples of the step.
func align(start, end, step int64) (int64, int64) {
	start -= start % step
	if rest := end % step; rest > 0 {
		end += step - rest
	}
	return start, end
}

// grid returns the steps.
func (s Scope) grid() row.Grid { return row.GridOf(s.Start, s.End, s.Step) }

// instant tells whether there is one time.
func (s Scope) instant() bool { return s.Start == s.End }

// keeps tells whether VictoriaMetrics would keep what a selector comes to.
func (s Scope) keeps() bool {
	return s.MayCache && (s.instant() || s.Start%s.Step == 0 && s.End%s.Step == 0)
}

// farTime is the farthest time and the longest duration there are, 36 million years in
// milliseconds: what is farther is taken for it. So a few of them may be added up.
const farTime = 1 << 60

// Near returns a time or a duration, none farther than farTime.
func Near(t int64) int64 { return min(max(t, -farTime), farTime) }

// shifted returns the scope moved by so many milliseconds.
func (s Scope) shifted(by int64) Scope {
	s.Start = Near(s.Start + Near(by))
	s.End = Near(s.End + Near(by))
	return s
}

// at returns the scope of one time.
func (s Scope) at(t int64) Scope {
	s.Start, s.End = t, t
	return s
}
