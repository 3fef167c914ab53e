package rollup

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
)

// windowCount is as funcCountOverTime of Prometheus' promql/functions.go; so
// are the others below as the function of their name.
func windowCount(w *Window) (float64, *histogram.FloatHistogram, bool) {
	return float64(len(w.T) + len(w.HT)), nil, true
}

func windowPresent(*Window) (float64, *histogram.FloatHistogram, bool) { return 1, nil, true }

func windowFirst(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if len(w.HT) == 0 || len(w.T) > 0 && w.T[0] < w.HT[0] {
		return w.F[0], nil, true
	}
	return 0, w.H[0].Copy(), true
}

func windowLast(w *Window) (float64, *histogram.FloatHistogram, bool) {
	i, j := len(w.T)-1, len(w.HT)-1
	if j < 0 || i >= 0 && w.HT[j] < w.T[i] {
		return w.F[i], nil, true
	}
	return 0, w.H[j].Copy(), true
}

func windowFirstTime(w *Window) (float64, *histogram.FloatHistogram, bool) {
	t := int64(math.MaxInt64)
	if len(w.T) > 0 {
		t = w.T[0]
	}
	if len(w.HT) > 0 {
		t = min(t, w.HT[0])
	}
	return float64(t) / 1000, nil, true
}

func windowLastTime(w *Window) (float64, *histogram.FloatHistogram, bool) {
	t := int64(math.MinInt64)
	if n := len(w.T); n > 0 {
		t = w.T[n-1]
	}
	if n := len(w.HT); n > 0 {
		t = max(t, w.HT[n-1])
	}
	return float64(t) / 1000, nil, true
}

// floatsOnly tells whether the window has floats for a function that ignores
// histograms, and notes that it does if there are some besides.
func (w *Window) floatsOnly() bool {
	if len(w.T) == 0 {
		return false
	}
	if len(w.HT) > 0 {
		w.note(annotations.NewHistogramIgnoredInMixedRangeInfo(w.Name(), w.firstPos()))
	}
	return true
}

// extremeKind is the greatest or the smallest value of a window, or its time.
type extremeKind struct{ max, time bool }

func (k extremeKind) function() *Func { return &Func{Window: k.window, Floats: k.floats} }

// window is as compareOverTime of Prometheus' promql/functions.go. Of equal
// values the first is taken, for times the last. A NaN gives way to whatever
// comes after it.
func (k extremeKind) window(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if !w.floatsOnly() {
		return 0, nil, false
	}
	at := 0
	for i, f := range w.F {
		if k.beats(f, w.F[at]) {
			at = i
		}
	}
	if k.time {
		return float64(w.T[at]) / 1000, nil, true
	}
	return w.F[at], nil, true
}

// beats tells whether the value f takes the place of an earlier one.
func (k extremeKind) beats(f, best float64) bool {
	switch {
	case math.IsNaN(best):
		return true
	case k.time && f == best:
		return true
	case k.max:
		return f > best
	default:
		return f < best
	}
}
