package exec

import (
	"context"
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// Below timestamp an offset moves what is read but not the time looked at: then the
// last sample that is read is not the current one.
func TestTimeForgetsOffset(t *testing.T) {
	store := fillStore(t, 3)
	at := int64(30 * minute)
	for _, offset := range []int64{0, -2 * minute, 2 * minute} {
		n := &plan.Instant{Selector: named("m1"), Time: "timestamp", Collide: true}
		n.At, n.Offset = &at, offset
		ask := func(steps int64) promql.Matrix {
			v, _, _, err := Run(context.Background(), n, Params{
				Queryable: store, Grid: row.GridOf(0, (steps-1)*minute, minute), Lookback: 5 * minute,
				Meter: &free{}, Memory: memory, Stats: stats.NewQuerySamples(false), Workers: 1,
			})
			require.NoError(t, err)
			return v.(promql.Matrix)
		}
		one, two := ask(1), ask(2)
		require.Len(t, one, 3)
		require.Len(t, two, 3)
		for i := range one {
			require.Equal(t, two[i].Floats[0], one[i].Floats[0])
			require.LessOrEqual(t, one[i].Floats[0].F, 1800.0)
		}
	}
}
