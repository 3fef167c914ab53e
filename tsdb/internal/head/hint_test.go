package head

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

// A delete makes the hint behind the hole unknown: the sample that it was
// relative to is gone.
func TestDeleteForgetsHints(t *testing.T) {
	h := New()
	s, _ := register(t, h, labels.FromStrings("a", "1"))
	for i := range int64(5) {
		x := &histogram.Histogram{CounterResetHint: histogram.NotCounterReset}
		put(h, uint64(i+1), func(to *Samples) { to.AddHistogram(s.Slot(), i, Histogram{Int: x}) })
	}
	remove(t, h, 2, 2)
	var got []histogram.CounterResetHint
	sel := selected(t, h, []*Generation{h.Active()}, 0, 10)
	for c := block.Merge(sel[0].Held[0].Cursors(0, 10)); c.Next(); {
		for _, x := range c.Span().Histograms {
			got = append(got, x.CounterResetHint)
		}
	}
	const no = histogram.NotCounterReset
	require.Equal(t, []histogram.CounterResetHint{no, no, histogram.UnknownCounterReset, no}, got)
}
