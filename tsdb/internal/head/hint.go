package head

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// A histogram whose sender did not say whether it follows a counter reset is
// compared with the one before it once, on arrival, as Prometheus does: if
// nothing fell it is marked as no reset. block.Merge and block.Hide take the
// mark back where another sample comes to stand before it.

// resolveHint returns h, or a copy of it that says that it does not follow a
// reset.
func resolveHint(prev, h *histogram.Histogram) *histogram.Histogram {
	if h.CounterResetHint != histogram.UnknownCounterReset || prev.CounterResetHint == histogram.GaugeType ||
		value.IsStaleNaN(h.Sum) || value.IsStaleNaN(prev.Sum) ||
		h.Schema != prev.Schema || h.ZeroThreshold != prev.ZeroThreshold || !slices.Equal(h.CustomValues, prev.CustomValues) ||
		h.Count < prev.Count || h.ZeroCount < prev.ZeroCount || fell(prev, h) {
		return h
	}
	c := *h
	c.CounterResetHint = histogram.NotCounterReset
	return &c
}

// resolveFloatHint is resolveHint for float histograms.
func resolveFloatHint(prev, h *histogram.FloatHistogram) *histogram.FloatHistogram {
	if h.CounterResetHint != histogram.UnknownCounterReset || prev.CounterResetHint == histogram.GaugeType ||
		value.IsStaleNaN(h.Sum) || value.IsStaleNaN(prev.Sum) ||
		h.Schema != prev.Schema || h.ZeroThreshold != prev.ZeroThreshold || !slices.Equal(h.CustomValues, prev.CustomValues) ||
		h.DetectReset(prev) {
		return h
	}
	c := *h
	c.CounterResetHint = histogram.NotCounterReset
	return &c
}

// fell tells whether a bucket of h is below the same one of prev.
func fell(prev, h *histogram.Histogram) bool {
	if slices.Equal(prev.PositiveSpans, h.PositiveSpans) && slices.Equal(prev.NegativeSpans, h.NegativeSpans) {
		return below(prev.PositiveBuckets, h.PositiveBuckets) || below(prev.NegativeBuckets, h.NegativeBuckets)
	}
	return h.ToFloat(nil).DetectReset(prev.ToFloat(nil))
}

// below compares buckets given as differences to the bucket before.
func below(prev, now []int64) bool {
	var a, b int64
	for i := range now {
		a += prev[i]
		b += now[i]
		if b < a {
			return true
		}
	}
	return false
}

// unknownAfterHole makes the hint of the first histogram at or after index i
// unknown, since the sample before it is gone.
func (r *run) unknownAfterHole(i int) {
	if i < len(r.hists) {
		r.hists[i] = unhinted(r.hists[i])
	}
	if i < len(r.fhists) {
		r.fhists[i] = unhintedFloat(r.fhists[i])
	}
}
