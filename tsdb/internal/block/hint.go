package block

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// ResolveHints says of each histogram whose sender did not tell whether it
// follows a counter reset that it does not, where it is of the same layout as
// the sample before it and nothing fell. So Prometheus does as it encodes
// chunks; here what is stored stays as it was sent.
//
// before returns a cursor over samples just before those of c; it is called
// only if the first sample of c is such a histogram.
func ResolveHints(c Cursor, before func() Cursor) Cursor {
	return &resolver{cursor: c, before: before}
}

type resolver struct {
	cursor Cursor
	before func() Cursor
	begun  bool
	span   Span
	prev   *histogram.Histogram      // the sample before, if it is one
	prevF  *histogram.FloatHistogram // likewise
	err    error
}

func (r *resolver) Span() *Span { return &r.span }

func (r *resolver) Err() error {
	if r.err != nil {
		return r.err
	}
	return r.cursor.Err()
}

func (r *resolver) Next() bool {
	if r.err != nil || !r.cursor.Next() {
		return false
	}
	r.span = *r.cursor.Span()
	if !r.begun {
		r.begun = true
		if r.open() {
			r.look()
		}
	}
	switch r.span.Kind {
	case KindHistogram:
		r.histograms()
	case KindFloatHistogram:
		r.floatHistograms()
	default:
		r.prev, r.prevF = nil, nil
	}
	return r.err == nil
}

// open tells whether the hint of the first sample is to be resolved.
func (r *resolver) open() bool {
	switch r.span.Kind {
	case KindHistogram:
		return r.span.Histograms[0].CounterResetHint == histogram.UnknownCounterReset
	case KindFloatHistogram:
		return r.span.FloatHistograms[0].CounterResetHint == histogram.UnknownCounterReset
	}
	return false
}

// look finds the sample before the first one.
func (r *resolver) look() {
	c := r.before()
	for c.Next() {
		r.prev, r.prevF = nil, nil
		switch s := c.Span(); s.Kind {
		case KindHistogram:
			r.prev = s.Histograms[s.Count-1]
		case KindFloatHistogram:
			r.prevF = s.FloatHistograms[s.Count-1]
		}
	}
	r.err = c.Err()
}

func (r *resolver) histograms() {
	out := make([]*histogram.Histogram, r.span.Count)
	for i, h := range r.span.Histograms[:r.span.Count] {
		out[i] = h
		if r.prev != nil {
			out[i] = resolveHint(r.prev, h)
		}
		r.prev = h
	}
	r.span.Histograms, r.prevF = out, nil
	r.span.dropSource()
}

func (r *resolver) floatHistograms() {
	out := make([]*histogram.FloatHistogram, r.span.Count)
	for i, h := range r.span.FloatHistograms[:r.span.Count] {
		out[i] = h
		if r.prevF != nil {
			out[i] = resolveFloatHint(r.prevF, h)
		}
		r.prevF = h
	}
	r.span.FloatHistograms, r.prev = out, nil
	r.span.dropSource()
}

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
	if len(prev) != len(now) {
		return true // not a sound histogram
	}
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
