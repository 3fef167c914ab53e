package exec

import (
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// What is counted of a row is what is counted step by step.
func TestCurrentSamplesAreCounted(t *testing.T) {
	g := row.GridOf(1000, 1000+129*10, 10)
	for _, tracked := range []bool{false, true} {
		for _, every := range []int{1, 3, 200} {
			r := row.New(g.N)
			got, want := stats.NewQuerySamples(tracked), stats.NewQuerySamples(tracked)
			for _, s := range []*stats.QuerySamples{got, want} {
				s.InitStepTracking(g.Start, g.End(), g.Step)
			}
			for i := every - 1; i < g.N; i += every {
				if i%7 == 5 {
					r.SetH(i, &histogram.FloatHistogram{PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []float64{1, 2}})
					n := histogramSamples(r.H[i])
					want.IncrementSamplesAtStep(i, n)
					want.IncrementSamplesReadAtStep(i, n)
					continue
				}
				r.SetF(i, 1)
				want.IncrementSamplesAtStep(i, 1)
				want.IncrementSamplesReadAtStep(i, 1)
			}
			scope{Grid: g, stats: got}.current(r)
			require.Equal(t, want, got, "%v, every %d", tracked, every)
		}
	}
}
