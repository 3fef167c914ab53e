package funcs

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// TestForcedAnnotation merges annotations step by step, as Prometheus' engine
// does, and compares what that leaves with what is computed at once.
func TestForcedAnnotation(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	pos := posrange.PositionRange{Start: 3, End: 9}
	for range 500 {
		env := &row.Env{Grid: row.Grid{Start: 1e9, Step: 7777, N: 1 + rnd.IntN(200)}}
		chance := []float64{0.005, 0.1, 1}[rnd.IntN(3)]
		var got forced
		var call, node annotations.Annotations // of the function, of the node
		for i := range env.Grid.N {
			var step annotations.Annotations
			for range rnd.IntN(4) {
				if rnd.Float64() > chance {
					continue
				}
				f := force{true, rnd.Float64(), 1 + rnd.Float64(), rnd.Float64()}
				got.add("m", i, env.Grid.N, f)
				step.Add(annotations.NewHistogramQuantileForcedMonotonicityInfo("m", pos, env.Grid.T(i), f.minBound, f.maxBound, f.maxDiff))
			}
			node.Merge(call.Merge(step))
		}
		got.annotate(env, pos)
		const query = "m (query)"
		_, want := node.AsStrings(query, 0, 0)
		_, have := env.Annos.AsStrings(query, 0, 0)
		require.Equal(t, want, have)
	}
}

// TestClamped holds the plain cases equal to package math's.
func TestClamped(t *testing.T) {
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 2, math.Inf(1), math.Inf(-1), math.NaN(), 1e-310, math.MaxFloat64}
	for _, v := range odd {
		for _, lo := range odd {
			for _, hi := range odd {
				if hi < lo {
					continue // no answer
				}
				want := math.Max(lo, math.Min(hi, v))
				require.Equal(t, equalFloat(want), equalFloat(clamped(v, lo, hi)), "%v in %v to %v", v, lo, hi)
			}
		}
	}
}
