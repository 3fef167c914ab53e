package row

import "math"

// Grid is the steps of an evaluation: N times, Step milliseconds apart. An
// instant query has one step.
type Grid struct {
	Start int64 // time of the first step, in milliseconds
	Step  int64 // positive
	N     int   // number of steps, at least 1
	// Ranged tells that the end as given lies behind the start, even if there is
	// but one step: then it is no instant query, whose order of rows counts.
	Ranged bool
}

// GridOf returns the grid of start, start+step, ... up to end, inclusive. There may
// be more steps than there can be memory for.
func GridOf(start, end, step int64) Grid {
	if end < start { // as of a subquery without steps
		return Grid{Start: start, Step: step}
	}
	steps := (uint64(end) - uint64(start)) / uint64(step) // the difference may be more than an int64
	return Grid{Start: start, Step: step, N: int(min(steps, math.MaxInt-1)) + 1, Ranged: end > start}
}

// T returns the time of step i.
func (g Grid) T(i int) int64 { return g.Start + int64(i)*g.Step }

// End returns the time of the last step.
func (g Grid) End() int64 { return g.T(g.N - 1) }

// First returns the grid of the first step alone.
func (g Grid) First() Grid { return Grid{Start: g.Start, Step: g.Step, N: min(g.N, 1)} }
