package block

import (
	"math"
	"slices"

	"github.com/varvedb/varve/tsdb/internal/codec"
)

// Floats are float samples in columns that those who read a series append to. The
// zero value is empty; kept from series to series it costs no allocations.
//
// What is appended of a series is runs of ascending times, one for each place that
// holds some of it, the older writes first: Begin begins a run, Settle makes one
// out of them.
type Floats struct {
	T []int64
	F []float64
	// S are start timestamps, 0 if unknown, of the first samples; those behind the
	// end of S have none.
	S []int64

	Starts bool // start timestamps are wanted
	Stale  bool // staleness markers are wanted

	// MayBeStale is set by those who append values that may be staleness markers.
	MayBeStale bool

	runs   []int // where the runs begin
	merged mergedFloats
}

// mergedFloats is room for runs that were merged.
type mergedFloats struct {
	t []int64
	f []float64
	s []int64
}

// Begin begins another run.
func (f *Floats) Begin() {
	if n := len(f.runs); n == 0 || f.runs[n-1] < len(f.T) {
		f.runs = append(f.runs, len(f.T))
	}
}

// Truncate drops all samples but n, and the runs.
func (f *Floats) Truncate(n int) {
	f.T, f.F, f.runs, f.MayBeStale = f.T[:n], f.F[:n], f.runs[:0], false
	f.S = f.S[:min(n, len(f.S))]
}

// Grow appends n samples, to be filled by the caller.
func (f *Floats) Grow(n int) (t []int64, v []float64) {
	at := len(f.T)
	f.T, f.F = slices.Grow(f.T, n)[:at+n], slices.Grow(f.F, n)[:at+n]
	return f.T[at:], f.F[at:]
}

// SetStarts sets the start timestamps of the samples appended last, if any is
// known and they are wanted.
func (f *Floats) SetStarts(st []int64) {
	if !f.Starts || !slices.ContainsFunc(st, func(x int64) bool { return x != 0 }) {
		return
	}
	f.pad(len(f.T) - len(st))
	f.S = append(f.S, st...)
}

// Pad makes S as long as the other columns.
func (f *Floats) Pad() { f.pad(len(f.T)) }

// pad gives the first n samples start timestamps.
func (f *Floats) pad(n int) {
	for len(f.S) < n {
		f.S = append(f.S, 0)
	}
}

// AppendSpan appends the samples of a loaded span of floats.
func (f *Floats) AppendSpan(s *Span) {
	t, v := f.Grow(s.Count)
	if s.Times != nil {
		copy(t, s.Times)
	} else {
		codec.FillGrid(t, s.Start, s.Step, 0)
	}
	switch {
	case s.Floats != nil:
		copy(v, s.Floats)
		f.MayBeStale = true
	case s.Ints32 != nil:
		codec.Decimals(v, s.Ints32, 1, 0, s.Scale)
	default:
		codec.Decimals(v, s.Ints64, 1, 0, s.Scale)
	}
	if s.StartTimes != nil {
		f.SetStarts(s.StartTimes[:s.Count])
	}
}

// HideIn drops the samples from number from on that lie inside one of intervals.
func (f *Floats) HideIn(from int, intervals []Interval) {
	if len(intervals) > 0 {
		f.keep(from, func(i int) bool {
			return !slices.ContainsFunc(intervals, func(iv Interval) bool { return f.T[i] >= iv.MinT && f.T[i] <= iv.MaxT })
		})
	}
}

// keep drops the samples from number from on of which ok says no.
func (f *Floats) keep(from int, ok func(i int) bool) {
	if len(f.S) > from {
		f.pad(len(f.T))
	}
	n, run := from, 0
	for run < len(f.runs) && f.runs[run] <= from {
		run++
	}
	for i := from; i < len(f.T); i++ {
		for ; run < len(f.runs) && f.runs[run] == i; run++ {
			f.runs[run] = n
		}
		if !ok(i) {
			continue
		}
		f.T[n], f.F[n] = f.T[i], f.F[i]
		if i < len(f.S) {
			f.S[n] = f.S[i]
		}
		n++
	}
	for ; run < len(f.runs); run++ {
		f.runs[run] = n
	}
	f.T, f.F, f.S = f.T[:n], f.F[:n], f.S[:min(n, len(f.S))]
}

// Settle makes one run of those that were begun, where of samples at one time that
// of the later run stands, and drops staleness markers that are not wanted. It ends
// a series.
func (f *Floats) Settle() {
	from := len(f.T)
	if len(f.runs) > 0 {
		from = f.runs[0]
	}
	if !f.ascends() {
		f.merge()
	}
	f.runs = f.runs[:0]
	if f.MayBeStale && !f.Stale {
		f.dropStale(from)
	}
	f.MayBeStale = false
}

// ascends tells whether each run begins behind the end of the one before.
func (f *Floats) ascends() bool {
	for k, at := range f.runs {
		if k > 0 && at < len(f.T) && f.T[at] <= f.T[at-1] {
			return false
		}
	}
	return true
}

func (f *Floats) dropStale(from int) {
	for i, v := range f.F[from:] {
		if codec.IsStale(math.Float64bits(v)) {
			f.keep(from+i, func(k int) bool { return !codec.IsStale(math.Float64bits(f.F[k])) })
			return
		}
	}
}

// merge merges the runs, the earlier ones first.
func (f *Floats) merge() {
	hasStarts := len(f.S) > f.runs[0]
	if hasStarts {
		f.pad(len(f.T))
	}
	for len(f.runs) > 1 {
		last := len(f.runs) - 1
		f.mergeTwo(f.runs[last-1], f.runs[last], hasStarts)
		f.runs = f.runs[:last]
	}
}

// mergeTwo merges the samples [a, b) with those behind them, which win.
func (f *Floats) mergeTwo(a, b int, hasStarts bool) {
	m := &f.merged
	m.t, m.f, m.s = m.t[:0], m.f[:0], m.s[:0]
	take := func(i int) {
		m.t, m.f = append(m.t, f.T[i]), append(m.f, f.F[i])
		if hasStarts {
			m.s = append(m.s, f.S[i])
		}
	}
	i, j := a, b
	for i < b && j < len(f.T) {
		switch {
		case f.T[i] < f.T[j]:
			take(i)
			i++
		case f.T[i] == f.T[j]:
			i++
		default:
			take(j)
			j++
		}
	}
	for ; i < b; i++ {
		take(i)
	}
	for ; j < len(f.T); j++ {
		take(j)
	}
	f.T, f.F = append(f.T[:a], m.t...), append(f.F[:a], m.f...)
	if hasStarts {
		f.S = append(f.S[:a], m.s...)
	}
}

// Sample is a float by itself.
type Sample struct {
	T, ST int64 // ST 0 is unknown
	F     float64
}
