package api

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// The times of a grid are written as each of them is by itself.
func TestLearnGrid(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var s stamps
	for range 2000 {
		step := []int64{1, 7, 500, 1000, 15_000, 60_000, 7_200_000, 86_400_000_000}[r.IntN(8)]
		start := []int64{0, 999_999_000_000, 9_999_990_000_000, 1_700_000_000_000, -5000, -1 << 60, 1 << 60}[r.IntN(7)]
		if r.IntN(2) == 0 {
			start += r.Int64N(100_000_000)
		}
		n := r.IntN(60)
		s.learnGrid(start, step, n)
		require.Len(t, s.texts, n)
		require.Len(t, s.lengths, n)
		for i := range n {
			want := "[" + string(vmhttp.AppendSeconds(nil, start+int64(i)*step)) + `,"`
			require.Equal(t, want, string(s.texts[i][:s.lengths[i]]))
		}
	}
}
