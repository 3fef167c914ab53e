package rollup

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
)

// rateKind is rate, increase or delta.
type rateKind struct{ counter, perSecond bool }

func (k rateKind) function() *Func {
	return &Func{Window: k.window, Floats: k.all, Extended: k.extended}
}

// window is as extrapolatedRate of Prometheus' promql/functions.go.
func (k rateKind) window(w *Window) (float64, *histogram.FloatHistogram, bool) {
	switch {
	case len(w.HT) > 0 && len(w.T) > 0:
		w.note(annotations.NewMixedFloatsHistogramsWarning(w.Name(), w.firstPos()))
		return 0, nil, false
	case len(w.HT) > 0 && (w.Anchored || w.Smoothed):
		return k.extendedHistograms(w)
	case len(w.HT) > 0:
		return k.histograms(w)
	case w.Anchored || w.Smoothed:
		return k.extendedFloats(w)
	default:
		return k.floats(w)
	}
}

// floats is the part of extrapolatedRate for floats.
func (k rateKind) floats(w *Window) (float64, *histogram.FloatHistogram, bool) {
	last := len(w.F) - 1
	v := w.F[last] - w.F[0]
	if k.counter {
		overlap := false
		for i := 1; i <= last; i++ {
			if w.ST != nil && !overlap && overlaps(w.ST[i-1], w.T[i-1], w.ST[i]) {
				w.note(annotations.NewStartTimeOverlapWarning(w.Name(), w.firstPos()))
				overlap = true
			}
			if w.F[i] < w.F[i-1] || w.ST != nil && isReset(w.ST[i-1], w.T[i-1], w.ST[i], w.T[i]) {
				v += w.F[i-1]
			}
		}
	}
	s := spanOf(w.T[0], w.T[last], last, w.rangeStart(), w.rangeEnd())
	switch {
	case k.counter && s.startsInside(w.ST):
		s.startAt(w.ST[0])
		v += w.F[0]
	case last == 0:
		return 0, nil, false
	default:
		s.clampStart(k.counter, w.F[0], v)
	}
	factor := s.factor()
	if k.perSecond {
		factor /= w.rangeSeconds()
	}
	return v * factor, nil, true
}

// span is where the samples of a window lie in it, times in seconds.
type span struct {
	rangeStart, first, last int64 // milliseconds
	toStart, toEnd          float64
	sampled                 float64 // from the first sample to the last
	average                 float64 // between samples
}

func spanOf(first, last int64, samplesMinusOne int, rangeStart, rangeEnd int64) span {
	s := span{
		rangeStart: rangeStart, first: first, last: last,
		toStart: float64(first-rangeStart) / 1000,
		toEnd:   float64(rangeEnd-last) / 1000,
		sampled: float64(last-first) / 1000,
	}
	if samplesMinusOne > 0 {
		s.average = s.sampled / float64(samplesMinusOne)
	}
	return s
}

// startsInside tells whether the start time of the first sample says that the
// counter was zero inside of the window.
func (s *span) startsInside(st []int64) bool {
	return len(st) > 0 && st[0] != 0 && st[0] > s.rangeStart && st[0] < s.first
}

// startAt makes the start time the first sample.
func (s *span) startAt(st int64) {
	s.toStart = 0
	s.sampled = float64(s.last-st) / 1000
}

// clampStart limits how far to extrapolate to the left: to half of the average
// distance if the window starts far away; and not below zero if the values are
// a counter's, which started at first and grew by increase.
func (s *span) clampStart(counter bool, first, increase float64) {
	if s.toStart >= float64(s.average*1.1) {
		s.toStart = s.average / 2
	}
	if counter && increase > 0 && first >= 0 {
		if toZero := float64(s.sampled * (first / increase)); toZero < s.toStart {
			s.toStart = toZero
		}
	}
}

// factor is what extrapolation multiplies the increase with.
func (s *span) factor() float64 {
	if s.toEnd >= float64(s.average*1.1) {
		s.toEnd = s.average / 2
	}
	if s.sampled == 0 {
		return 1
	}
	return (s.sampled + s.toStart + s.toEnd) / s.sampled
}
