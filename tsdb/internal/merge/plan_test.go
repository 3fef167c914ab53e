package merge

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlan(t *testing.T) {
	const today = 10
	// Parts get the ids 1, 2, ... in the order of their sequence numbers.
	f := func(day int64, settled, force bool, samples []uint64, want ...uint64) {
		t.Helper()
		var parts []Candidate
		for i, n := range samples {
			parts = append(parts, Candidate{ID: uint64(i + 1), Day: day, SeqMin: uint64(10 * i), Samples: n, Settled: settled})
		}
		var groups [][]uint64
		if want != nil {
			groups = [][]uint64{want}
		}
		require.Equal(t, groups, Plan(parts, today, force))
	}
	f(today, true, false, []uint64{100, 100, 100})
	f(today, true, false, []uint64{100, 100, 100, 100}, 1, 2, 3, 4)
	f(today, true, false, []uint64{10000, 100, 100, 100, 100}, 2, 3, 4, 5)
	f(today, true, false, []uint64{1600, 100, 100, 100, 100}, 1, 2, 3, 4, 5)
	f(today, true, true, []uint64{10000, 100}, 1, 2)
	f(today, true, true, []uint64{10000})
	// A closed day becomes one part when nothing came for a while, and is
	// treated like an open one before.
	f(today-1, true, false, []uint64{10000, 1}, 1, 2)
	f(today-1, false, false, []uint64{10000, 1})
	f(today-1, false, false, []uint64{10000, 1, 1, 1, 1}, 2, 3, 4, 5)
	f(today-1, false, true, []uint64{10000, 1}, 1, 2)
}

func TestPlanOfDays(t *testing.T) {
	parts := []Candidate{
		{ID: 5, Day: 2, SeqMin: 7, Samples: 1, Settled: true},
		{ID: 4, Day: 1, SeqMin: 9, Samples: 1, Settled: true},
		{ID: 3, Day: 1, SeqMin: 1, Samples: 1, Settled: true},
		{ID: 2, Day: 2, SeqMin: 3, Samples: 1, Settled: true},
		{ID: 1, Day: 3, SeqMin: 2, Samples: 1, Settled: true, Hidden: true},
	}
	require.Equal(t, [][]uint64{{3, 4}, {2, 5}}, Plan(parts, 10, false))
	require.Equal(t, [][]uint64{{3, 4}, {2, 5}, {1}}, Plan(parts, 10, true))
}
