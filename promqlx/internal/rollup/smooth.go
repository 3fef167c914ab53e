package rollup

import (
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
)

// SmoothedInstant is the value of a smoothed instant selector: that on the line
// between the samples around a time, or the one before if none follows. Its
// windows are smoothed ones of no length of their own. (smoothSeries of
// Prometheus' promql/engine.go.)
func SmoothedInstant() *Func { return &Func{Window: windowSmoothed} }

func windowSmoothed(w *Window) (float64, *histogram.FloatHistogram, bool) {
	t := w.rangeEnd()
	if len(w.T) > 0 && len(w.HT) > 0 {
		w.note(annotations.NewMixedFloatsHistogramsWarning(w.Name(), w.Pos))
		return 0, nil, false
	}
	if len(w.HT) > 0 {
		return w.smoothedHistogram(t)
	}
	i := sort.Search(len(w.T), func(i int) bool { return w.T[i] >= t })
	switch {
	case i < len(w.T) && w.T[i] == t:
		return w.F[i], nil, true
	case i > 0 && i < len(w.T):
		return interpolate(point{w.T[i-1], w.F[i-1]}, point{w.T[i], w.F[i]}, t, false), nil, true
	case i > 0:
		return w.F[i-1], nil, true
	}
	return 0, nil, false
}

func (w *Window) smoothedHistogram(t int64) (float64, *histogram.FloatHistogram, bool) {
	i := sort.Search(len(w.HT), func(i int) bool { return w.HT[i] >= t })
	switch {
	case i < len(w.HT) && w.HT[i] == t:
		return 0, w.H[i].Copy(), true
	case i > 0 && i < len(w.HT):
		x := histExtended{combiner: w.combiner(w.Pos)}
		defer x.done()
		a, b := w.H[i-1], w.H[i]
		if a.UsesCustomBuckets() != b.UsesCustomBuckets() {
			x.mixed()
			return 0, nil, false
		}
		x.counter = a.CounterResetHint != histogram.GaugeType || b.CounterResetHint != histogram.GaugeType
		h, ok := x.interpolate(i-1, t)
		return 0, h, ok
	case i > 0:
		h := w.H[i-1].Copy()
		h.CounterResetHint = histogram.UnknownCounterReset
		return 0, h, true
	}
	return 0, nil, false
}
