package row_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
)

func TestKeys(t *testing.T) {
	var keys row.Keys
	require.Equal(t, -1, keys.Find([]byte("a")))
	model := map[string]int{}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 10_000 {
		key := fmt.Sprint(rng.IntN(3000))
		if rng.IntN(1000) == 0 {
			key = "" // also a key
		}
		want, known := model[key]
		if !known {
			require.Equal(t, -1, keys.Find([]byte(key)))
			want = len(model)
			model[key] = want
		}
		n, isNew := keys.Add([]byte(key))
		require.Equal(t, want, n)
		require.Equal(t, !known, isNew)
		require.Equal(t, want, keys.Find([]byte(key)))
		require.Equal(t, len(model), keys.Len())
	}
	require.Positive(t, keys.Bytes())
}
