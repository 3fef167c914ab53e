package rollup

import (
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

	Range              int64 // length of a window as written, in milliseconds
	Offset             int64 // the window of step i ends at Env.Grid.T(i) - Offset
	Anchored, Smoothed bool

	Args [][]float64 // scalar arguments by step
	// Name returns the metric's name, for annotations.
	Name func() string
	// Pos is the position of the call, ArgPos those of its arguments, the range
	// vector's included.
	Pos    posrange.PositionRange
	ArgPos []posrange.PositionRange
	Env    *row.Env
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
}

// Run computes all windows of in and puts the values into out, which is empty.
func (f *Func) Run(in *Input, out *row.Row) {
	if f.Floats != nil && len(in.H) == 0 && !in.Anchored && !in.Smoothed {
		f.Floats(in, out)
		return
	}
	f.Slow(in, out)
}

// Slow computes all windows one by one.
func (f *Func) Slow(in *Input, out *row.Row) {
	w := Window{Input: in, Arg: make([]float64, len(in.Args))}
	for i := range in.Lo {
		w.at(i)
		if len(w.T)+len(w.HT) == 0 {
			continue
		}
		if v, h, ok := f.Window(&w); ok {
			out.SetAt(i, v, h)
		}
	}
}

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
		if in.HST != nil {
			w.HST = in.HST[lo:hi]
		}
	}
	for k, arg := range in.Args {
		w.Arg[k] = arg[i]
	}
}
