package block

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
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

func TestHintsAreResolved(t *testing.T) {
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

func TestFirstHintLooksBack(t *testing.T) {
	span := func(from int64, hs ...*histogram.Histogram) *listCursor {
		return &listCursor{spans: []Span{{Kind: KindHistogram, Count: len(hs), Start: from, Step: 1, Histograms: hs}}}
	}
	f := func(before Cursor, want ...histogram.CounterResetHint) {
		t.Helper()
		c := ResolveHints(span(10, counts(0, 2), counts(0, 3), counts(0, 1), counts(0, 1)), func() Cursor { return before })
		var got []histogram.CounterResetHint
		for c.Next() {
			for _, h := range c.Span().Histograms {
				got = append(got, h.CounterResetHint)
			}
		}
		require.NoError(t, c.Err())
		require.Equal(t, want, got)
	}
	const unknown, no = histogram.UnknownCounterReset, histogram.NotCounterReset
	f(empty{}, unknown, no, unknown, no)
	f(span(0, counts(0, 9), counts(0, 1)), no, no, unknown, no)
	f(span(0, counts(0, 9)), unknown, no, unknown, no)
	f(&listCursor{spans: []Span{{Kind: KindFloat, Count: 1, Step: 1, Floats: []float64{1}}}}, unknown, no, unknown, no)
}
