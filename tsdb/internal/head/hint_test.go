package head

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/varvedb/varve/tsdb/internal/block"
)

func counts(hint histogram.CounterResetHint, buckets ...int64) *histogram.Histogram {
	h := &histogram.Histogram{CounterResetHint: hint, PositiveSpans: []histogram.Span{{Length: uint32(len(buckets))}}}
	last := int64(0)
	for _, b := range buckets {
		h.PositiveBuckets = append(h.PositiveBuckets, b-last)
		h.Count += uint64(b)
		last = b
	}
	return h
}

func TestHintsAreResolvedOnArrival(t *testing.T) {
	const (
		unknown = histogram.UnknownCounterReset
		no      = histogram.NotCounterReset
		gauge   = histogram.GaugeType
		reset   = histogram.CounterReset
	)
	stale := counts(unknown, 9, 9)
	stale.Sum = math.Float64frombits(value.StaleNaN)
	other := counts(unknown, 9, 9)
	other.Schema = 2
	f := func(name string, prev, h *histogram.Histogram, want histogram.CounterResetHint) {
		require.Equal(t, want, resolveHint(prev, h).CounterResetHint, name)
		require.Equal(t, want, resolveFloatHint(prev.ToFloat(nil), h.ToFloat(nil)).CounterResetHint, "float "+name)
	}
	f("grows", counts(unknown, 1, 2), counts(unknown, 1, 3), no)
	f("stays", counts(no, 1, 2), counts(unknown, 1, 2), no)
	f("a bucket falls", counts(unknown, 1, 2), counts(unknown, 4, 1), unknown)
	f("all falls", counts(unknown, 5, 5), counts(unknown, 1, 1), unknown)
	f("new bucket", counts(unknown, 1, 2), counts(unknown, 1, 2, 3), no)
	f("a bucket with content is gone", counts(unknown, 1, 2, 3), counts(unknown, 9, 9), unknown)
	f("gauge before", counts(gauge, 1, 2), counts(unknown, 1, 3), unknown)
	f("gauge", counts(unknown, 1, 2), counts(gauge, 1, 3), gauge)
	f("said to be a reset", counts(unknown, 1, 2), counts(reset, 1, 3), reset)
	f("after a staleness marker", stale, counts(unknown, 10, 10), unknown)
	f("staleness marker", counts(unknown, 1, 2), stale, unknown)
	f("another schema", counts(unknown, 1, 2), other, unknown)
}

// A hole that a delete leaves makes the next hint unknown again.
func TestDeleteForgetsHints(t *testing.T) {
	h := New()
	s, _ := h.Register(labels.FromStrings("a", "1"))
	for i := range int64(5) {
		put(h, uint64(i+1), Sample{Series: s, Kind: KindHistogram, T: i, H: counts(0, i, i)})
	}
	h.Delete(2, 2, nil)
	var got []histogram.CounterResetHint
	sel := h.Select([]*Generation{h.Active()}, 0, 10, nil)
	for c := block.Merge(sel[0].Held[0].Cursors()); c.Next(); {
		for _, x := range c.Span().Histograms {
			got = append(got, x.CounterResetHint)
		}
	}
	require.Equal(t, []histogram.CounterResetHint{0, histogram.NotCounterReset, 0, histogram.NotCounterReset}, got)
}
