package tsdb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// Series of several parts and generations are joined by numbers: the View has those
// that there are, in label order, each with all of its samples.
func TestJoinedSeries(t *testing.T) {
	ctx := context.Background()
	rounds := uint64(12)
	if testing.Short() || raceDetector {
		rounds = 5
	}
	for seed := range rounds {
		r := rand.New(rand.NewPCG(seed, 5))
		db := openStore(t, tsdb.Options{LabelCacheBytes: []int64{0, -1, 0}[seed%3]})
		model := tsdbtest.NewModel()
		values := []string{"", "", "a", "b", "aa", "ä", fmt.Sprint(r.IntN(1000))}
		for place := range 1 + r.IntN(4) {
			b := db.Batch()
			for range 1 + r.IntN([]int{40, 900}[seed%2]) { // few are compared by their labels, more by numbers
				lset := labels.FromMap(map[string]string{"__name__": "m"})
				builder := labels.NewBuilder(lset)
				for k := range 1 + r.IntN(5) {
					builder.Set(fmt.Sprint("l", k), values[r.IntN(len(values))])
				}
				if r.IntN(3) == 0 { // more bits than a word has
					for k := range 30 {
						builder.Set(fmt.Sprint("m", k), fmt.Sprint(r.IntN(4)))
					}
				}
				s, err := b.Series(builder.Labels())
				require.NoError(t, err)
				x := tsdbtest.Sample{T: t0 + r.Int64N(2*day), V: float64(place)}
				require.NoError(t, b.Float(s, 0, x.T, x.V))
				model.Append(builder.Labels(), x)
			}
			require.NoError(t, b.Commit(ctx))
			if r.IntN(3) > 0 {
				require.NoError(t, db.ForceFlush(ctx))
			}
		}
		for range 4 {
			mint := t0 + r.Int64N(day)
			maxt := mint + r.Int64N(day)
			require.Equal(t, model.Dump(mint, maxt), dump(t, db, mint, maxt), "seed %d", seed)
			requireOrder(t, db, mint, maxt)
		}
		requireOrder(t, db, 0, t0+3*day)
		require.NoError(t, db.Close())
	}
}

// requireOrder holds order and columns of a View to the labels.
func requireOrder(t *testing.T, db *tsdb.DB, mint, maxt int64) {
	t.Helper()
	v, err := db.Select(context.Background(), mint, maxt)
	require.NoError(t, err)
	defer v.Close()
	var all []labels.Labels
	for i := range v.Len() {
		all = append(all, v.Labels(i))
	}
	require.True(t, slices.IsSortedFunc(all, labels.Compare))
	for i := 1; i < len(all); i++ {
		require.False(t, labels.Equal(all[i-1], all[i]))
	}
	for _, name := range []string{"__name__", "l0", "l1", "l4", "m7", "none"} {
		c := v.Column(name)
		require.Empty(t, c.Value(0))
		numbers := map[string]uint32{}
		for i, lset := range all {
			n := c.Ordinal(i)
			require.Less(t, int(n), c.Len())
			require.Equal(t, lset.Get(name), c.Value(n))
			if old, ok := numbers[c.Value(n)]; ok {
				require.Equal(t, old, n, "one number for a value")
			}
			numbers[c.Value(n)] = n
		}
	}
}
