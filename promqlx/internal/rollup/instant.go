package rollup

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
)

// instantKind is irate or idelta.
type instantKind struct{ rate bool }

func (k instantKind) function() *Func { return &Func{Window: k.window, Floats: k.floats} }

// sample is a float or a histogram with its times.
type sample struct {
	t, st int64
	f     float64
	h     *histogram.FloatHistogram
	at    int // which of the window's histograms h is; not set by lastTwo
}

// lastTwo returns the last two samples of a window that has two or more.
func (w *Window) lastTwo() (a, b sample) {
	i, j := len(w.T)-1, len(w.HT)-1
	for _, s := range []*sample{&b, &a} {
		if i >= 0 && (j < 0 || w.T[i] > w.HT[j]) {
			*s = sample{t: w.T[i], st: stAt(w.ST, i), f: w.F[i]}
			i--
		} else {
			*s = sample{t: w.HT[j], st: stAt(w.HST, j), h: w.H[j]}
			j--
		}
	}
	return a, b
}

// window is as instantValue of Prometheus' promql/functions.go.
func (k instantKind) window(w *Window) (float64, *histogram.FloatHistogram, bool) {
	if len(w.T)+len(w.HT) < 2 {
		return 0, nil, false
	}
	a, b := w.lastTwo()
	if b.t == a.t {
		return 0, nil, false
	}
	seconds := float64(b.t-a.t) / 1000
	switch {
	case a.h == nil && b.h == nil:
		f := b.f
		if !k.rate || !(b.f < a.f || isReset(a.st, a.t, b.st, b.t)) {
			f = b.f - a.f
		}
		if k.rate {
			f /= seconds
		}
		return f, nil, true
	case a.h != nil && b.h != nil:
		h := k.histogram(w, a, b)
		if h == nil {
			return 0, nil, false
		}
		if k.rate {
			h.Div(seconds)
		}
		return 0, h, true
	default:
		w.note(annotations.NewMixedFloatsHistogramsWarning(w.Name(), w.argsPos()))
		return 0, nil, false
	}
}

// histogram is what b grew by since a, nil if they do not go together.
func (k instantKind) histogram(w *Window, a, b sample) *histogram.FloatHistogram {
	c := w.combiner(w.argsPos())
	gaugeA, gaugeB := a.h.CounterResetHint == histogram.GaugeType, b.h.CounterResetHint == histogram.GaugeType
	switch {
	case k.rate && (gaugeA || gaugeB):
		c.annos.Add(annotations.NewNativeHistogramNotCounterWarning(w.Name(), c.pos))
	case !k.rate && !(gaugeA && gaugeB):
		c.annos.Add(annotations.NewNativeHistogramNotGaugeWarning(w.Name(), c.pos))
	}
	h := b.h.Copy()
	ok := true
	if !k.rate || !isReset(a.st, a.t, b.st, b.t) && !b.h.DetectReset(a.h) {
		ok = c.sub(h, a.h)
	}
	c.done()
	if !ok {
		return nil
	}
	h.CounterResetHint = histogram.GaugeType
	return h.Compact(0)
}
