package head

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Sorting keeps the order of the samples of each series.
func TestSortBySeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var s Samples
	for range 50 {
		s.Reset()
		slots := 1 + rng.Uint32N(20_000)
		for i := range rng.IntN(3000) {
			s.AddFloat(rng.Uint32N(slots), 0, int64(i), 1)
		}
		var want [ShardCount][]Sample
		for i := range want {
			want[i] = slices.Clone(s.Shard(i))
			slices.SortStableFunc(want[i], func(a, b Sample) int { return cmp.Compare(a.Slot, b.Slot) })
		}
		s.SortBySeries()
		for i := range want {
			require.Equal(t, want[i], slices.Clone(s.Shard(i)))
		}
	}
}
