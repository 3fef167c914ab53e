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
	s, _ := h.Register(labels.FromStrings("a", "1"))
	for i := range int64(5) {
		put(h, uint64(i+1), Sample{Series: s, Kind: KindHistogram, T: i, H: &histogram.Histogram{CounterResetHint: histogram.NotCounterReset}})
	}
	h.Delete(2, 2, nil)
	var got []histogram.CounterResetHint
	sel := h.Select([]*Generation{h.Active()}, 0, 10, nil)
	for c := block.Merge(sel[0].Held[0].Cursors()); c.Next(); {
		for _, x := range c.Span().Histograms {
			got = append(got, x.CounterResetHint)
		}
	}
	const no = histogram.NotCounterReset
	require.Equal(t, []histogram.CounterResetHint{no, no, histogram.UnknownCounterReset, no}, got)
}
