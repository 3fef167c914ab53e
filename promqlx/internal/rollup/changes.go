package rollup

import (
	"math"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
)

// windowChanges is as funcChanges of Prometheus' promql/functions.go.
func windowChanges(w *Window) (float64, *histogram.FloatHistogram, bool) {
	return w.countSteps(func(a, b sample) bool {
		switch {
		case a.h == nil && b.h == nil:
			return differs(a.f, b.f)
		case a.h != nil && b.h != nil:
			return !b.h.Equals(a.h)
		}
		return true
	})
}

// differs tells whether two values are a change; NaNs are alike.
func differs(a, b float64) bool {
	return b != a && !(math.IsNaN(b) && math.IsNaN(a))
}

// windowResets is as funcResets of Prometheus' promql/functions.go.
func windowResets(w *Window) (float64, *histogram.FloatHistogram, bool) {
	return w.countSteps(func(a, b sample) bool {
		switch {
		case a.h == nil && b.h == nil:
			return b.f < a.f || isReset(a.st, a.t, b.st, b.t)
		case a.h != nil && b.h != nil:
			return isReset(a.st, a.t, b.st, b.t) || w.detects(b.at)
		}
		return true
	})
}

// countSteps counts the steps from one sample to the next that match, floats
// and histograms in the order of their times.
func (w *Window) countSteps(match func(a, b sample) bool) (float64, *histogram.FloatHistogram, bool) {
	i, j, found := w.anchor()
	if !found {
		return 0, nil, false
	}
	n := 0
	var prev, cur sample
	for first := true; i < len(w.T) || j < len(w.HT); first = false {
		if j >= len(w.HT) || i < len(w.T) && w.T[i] < w.HT[j] {
			cur = sample{t: w.T[i], st: stAt(w.ST, i), f: w.F[i]}
			i++
		} else {
			cur = sample{t: w.HT[j], st: stAt(w.HST, j), h: w.H[j], at: j}
			j++
		}
		if !first && match(prev, cur) {
			n++
		}
		prev = cur
	}
	return float64(n), nil, true
}

// anchor returns the first float and histogram to look at: in an anchored
// window the last sample at or before its start, and what comes after. found is
// false if nothing comes after. (pickFirstSampleIndices.)
func (w *Window) anchor() (firstFloat, firstHistogram int, found bool) {
	if !w.Anchored {
		return 0, 0, true
	}
	start := w.rangeStart()
	i := sort.Search(len(w.T), func(i int) bool { return w.T[i] > start })
	j := sort.Search(len(w.HT), func(j int) bool { return w.HT[j] > start })
	switch {
	case i >= len(w.T) && j >= len(w.HT):
		return 0, 0, false
	case i == 0 && j == 0:
		return 0, 0, true
	case j == 0 || i > 0 && w.T[i-1] >= w.HT[j-1]:
		return i - 1, j, true
	default:
		return i, j - 1, true
	}
}
