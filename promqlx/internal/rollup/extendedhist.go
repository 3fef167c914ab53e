package rollup

import (
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"
)

// extendedHistograms is as extendedHistogramRate of Prometheus'
// promql/functions.go.
func (k rateKind) extendedHistograms(w *Window) (float64, *histogram.FloatHistogram, bool) {
	x := histExtended{combiner: w.combiner(w.firstPos()), counter: k.counter, start: w.rangeStart(), end: w.rangeEnd()}
	h, ok := x.grown()
	if w.err != nil {
		return 0, nil, false
	}
	x.done()
	if !ok {
		return 0, nil, false
	}
	if k.perSecond {
		h.Div(w.rangeSeconds())
	}
	h.CounterResetHint = histogram.GaugeType
	return 0, h.Compact(0), true
}

// histExtended is an anchored or smoothed window of histograms.
type histExtended struct {
	*combiner
	counter     bool
	start, end  int64
	first, last int // histograms at the bounds
}

// grown is what the histogram grew by from start to end.
func (x *histExtended) grown() (*histogram.FloatHistogram, bool) {
	w := x.w
	x.first, x.last = bounds(w.HT, x.start, x.end, w.Smoothed)
	if w.HT[x.last] <= x.start || w.Smoothed && w.HT[x.first] > x.end || !x.alike() {
		return nil, false
	}
	left, right := w.H[x.first], w.H[x.last]
	ok := true
	if w.Smoothed && w.HT[x.first] < x.start {
		if left, ok = x.interpolate(x.first, x.start); !ok {
			return nil, false
		}
	}
	if w.Smoothed && x.last > 0 && w.HT[x.last] > x.end {
		if right, ok = x.interpolate(x.last-1, x.end); !ok {
			return nil, false
		}
	}
	if !x.counter && (left.CounterResetHint != histogram.GaugeType || right.CounterResetHint != histogram.GaugeType) {
		x.annos.Add(annotations.NewNativeHistogramNotGaugeWarning(w.Name(), x.pos))
	}
	h := right.Copy()
	if !x.sub(h, left) {
		return nil, false
	}
	if x.counter {
		lost, ok := x.resets(left, right)
		if !ok || lost != nil && !x.add(h, lost) {
			return nil, false
		}
	}
	return h, true
}

// alike tells whether all histograms have the same kind of buckets
// (validateHistogramRange).
func (x *histExtended) alike() bool {
	w := x.w
	custom := w.H[x.first].UsesCustomBuckets()
	for _, h := range w.H[x.first : x.last+1] {
		if h.UsesCustomBuckets() != custom {
			x.mixed()
			return false
		}
		if x.counter && h.CounterResetHint == histogram.GaugeType {
			x.annos.Add(annotations.NewNativeHistogramNotCounterWarning(w.Name(), x.pos))
		}
	}
	return true
}

// interpolate is the histogram at the time t, between number i and the next
// (interpolateHistograms).
func (x *histExtended) interpolate(i int, t int64) (*histogram.FloatHistogram, bool) {
	w := x.w
	a, b := w.H[i], w.H[i+1]
	if t == w.HT[i] {
		return a.Copy(), true
	}
	if t == w.HT[i+1] {
		return b.Copy(), true
	}
	fraction := float64(t-w.HT[i]) / float64(w.HT[i+1]-w.HT[i])
	h := b.Copy()
	if x.counter && b.DetectReset(a) {
		return h.Mul(fraction), true // it started from zero
	}
	if !x.sub(h, a) {
		return nil, false
	}
	return h, x.add(h.Mul(fraction), a)
}

// resets is what counter resets took away, nil if there were none
// (correctForCounterResetsHistogram).
func (x *histExtended) resets(left, right *histogram.FloatHistogram) (lost *histogram.FloatHistogram, ok bool) {
	w := x.w
	first, prev := x.first+1, left
	if w.Smoothed && w.HT[x.first] < x.start && w.H[first].DetectReset(w.H[x.first]) {
		// left lies in the reset, which is accounted for.
		prev = w.H[first]
		first++
	}
	// The last is right, or right has its hint: it would tell of itself.
	if first > x.last {
		return nil, true
	}
	lose := func() bool {
		if lost == nil {
			lost = prev.Copy()
			return true
		}
		return x.add(lost, prev)
	}
	for _, h := range w.H[first:x.last] {
		if h.DetectReset(prev) && !lose() {
			return nil, false
		}
		prev = h
	}
	if right.DetectReset(prev) && !lose() {
		return nil, false
	}
	return lost, true
}
