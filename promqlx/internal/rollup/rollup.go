package rollup

import (
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Input is a series and the windows over it. Times are milliseconds, ascending;
// samples that are staleness markers were left out.
type Input struct {
	T  []int64   // times of the floats
	F  []float64 // their values
	ST []int64   // their start times, 0 if unknown; nil unless Env.StartTimes

	HT  []int64
	H   []*histogram.FloatHistogram // belong to the store: not to be changed
	HST []int64

	// The window of step i holds the floats [Lo[i], Hi[i]) and the histograms
	// [HLo[i], HHi[i]). HLo and HHi are nil if there are no histograms. Bounds
	// never descend from step to step. With Anchored and Smoothed the windows
	// are longer than Range, by the look-back before (and, smoothed, after).
	Lo, Hi   []int32
	HLo, HHi []int32

	Range  int64 // length of a window as written, in milliseconds
	Offset int64 // the window of step i ends at Env.Grid.T(i) - Offset
	// RangeRest and OffsetRest are what Range and Offset lack of what was written
	// if that is no whole number of milliseconds: x[0.0015]. Windows do not heed
	// it, rates do.
	RangeRest, OffsetRest time.Duration
	Anchored, Smoothed    bool

	Args [][]float64 // scalar arguments by step
	// Name returns the metric's name, for annotations.
	Name func() string
	// Pos is the position of the call, ArgPos those of its arguments, the range
	// vector's included.
	Pos    posrange.PositionRange
	ArgPos []posrange.PositionRange
	Env    *row.Env

	// Scratch is memory to work in. It may be shared by the inputs of one
	// goroutine; nil is allowed and costs allocations.
	Scratch *Scratch

	err error
}

// Window is one window of an Input.
type Window struct {
	*Input
	Step int // number of the step

	T   []int64
	F   []float64
	ST  []int64
	HT  []int64
	H   []*histogram.FloatHistogram
	HST []int64

	Arg []float64 // scalar arguments at this step

	// resets is what is known of each histogram of the series and the one before
	// it, histResets of those of the window; see detects.
	resets, histResets []uint8

	c combiner // of this window
}

// Ts returns the time of the step (EvalNodeHelper.Ts).
func (w *Window) Ts() int64 { return w.Env.Grid.T(w.Step) }

// Func is one function over windows.
type Func struct {
	// Window computes one window, which is not empty; ok is false if there is no
	// value. A histogram that it returns is its own, not the store's.
	Window func(w *Window) (f float64, h *histogram.FloatHistogram, ok bool)
	// Floats computes all windows of a series without histograms that are
	// neither anchored nor smoothed, or is nil. Empty windows have no value.
	Floats func(in *Input, out *row.Row)
	// Extended is Floats for series whose windows are anchored or smoothed, or is
	// nil.
	Extended func(in *Input, out *row.Row)
}

// Run computes all windows of in and puts the values into out, which is empty.
// An error is the query's: arguments that the function refuses, or histograms
// that are invalid; the texts are those of Prometheus.
func (f *Func) Run(in *Input, out *row.Row) error {
	all := f.Floats
	if in.Anchored || in.Smoothed {
		all = f.Extended
	}
	if all != nil && len(in.H) == 0 {
		in.err = nil
		all(in, out)
		return in.err
	}
	return f.Slow(in, out)
}

// Slow computes all windows one by one. It is what Run is compared with.
func (f *Func) Slow(in *Input, out *row.Row) error {
	in.err = nil
	s := in.scratch()
	w := &s.window
	*w = Window{Input: in, Arg: grow(&s.arg, len(in.Args))}
	w.resets = grow(&s.resets, len(in.H))
	clear(w.resets)
	defer func() { *w = Window{} }()
	for i := range in.Lo {
		w.at(i)
		if len(w.T)+len(w.HT) == 0 {
			continue
		}
		v, h, ok := f.Window(w)
		if in.err != nil {
			return in.err
		}
		if ok {
			out.SetAt(i, v, h)
		}
	}
	return nil
}

// fail ends the computation with an error.
func (in *Input) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}

// note adds an annotation.
func (in *Input) note(anno error) { in.Env.Annos.Add(anno) }

// firstPos is the position of the call's first argument.
func (in *Input) firstPos() posrange.PositionRange { return in.ArgPos[0] }

// argsPos is the position of all arguments of the call together.
func (in *Input) argsPos() posrange.PositionRange {
	return posrange.PositionRange{Start: in.ArgPos[0].Start, End: in.ArgPos[len(in.ArgPos)-1].End}
}

// rangeSeconds is the length of a window as written.
func (in *Input) rangeSeconds() float64 { return in.rangeDuration().Seconds() }

func (in *Input) rangeDuration() time.Duration {
	return time.Duration(in.Range)*time.Millisecond + in.RangeRest
}

// rangeAndOffset is how far before a step its window starts, in milliseconds.
func (in *Input) rangeAndOffset() int64 {
	d := in.rangeDuration() + time.Duration(in.Offset)*time.Millisecond + in.OffsetRest
	return int64(d / time.Millisecond)
}

// rangeStart and rangeEnd are the bounds of the window as written, which holds
// the samples after rangeStart up to rangeEnd.
func (w *Window) rangeStart() int64 { return w.Ts() - w.rangeAndOffset() }
func (w *Window) rangeEnd() int64   { return w.Ts() - w.Offset }

func (w *Window) at(i int) {
	w.Step = i
	in := w.Input
	lo, hi := in.Lo[i], in.Hi[i]
	w.T, w.F = in.T[lo:hi], in.F[lo:hi]
	if in.ST != nil {
		w.ST = in.ST[lo:hi]
	}
	if in.HLo != nil {
		lo, hi := in.HLo[i], in.HHi[i]
		w.HT, w.H = in.HT[lo:hi], in.H[lo:hi]
		w.histResets = w.resets[lo:hi]
		if in.HST != nil {
			w.HST = in.HST[lo:hi]
		}
	}
	for k, arg := range in.Args {
		w.Arg[k] = arg[i]
	}
}
