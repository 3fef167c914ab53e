package merge

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	march = 20513 // 2026-03-01
	old   = 100 * time.Hour
)

func TestPlanOfOneDay(t *testing.T) {
	const today = march + 10
	// Parts get the ids 1, 2, ... in the order of their sequence numbers.
	f := func(day int64, age time.Duration, force bool, samples []uint64, want ...uint64) {
		t.Helper()
		var parts []Candidate
		for i, n := range samples {
			parts = append(parts, Candidate{ID: uint64(i + 1), MinDay: day, MaxDay: day, SeqMin: uint64(10 * i), Samples: n, Age: age})
		}
		var groups [][]uint64
		if want != nil {
			groups = [][]uint64{want}
		}
		require.Equal(t, groups, Plan(parts, Policy{Today: today, MaxDays: 1, Force: force}))
	}
	f(today, old, false, []uint64{100, 100, 100})
	f(today, old, false, []uint64{100, 100, 100, 100}, 1, 2, 3, 4)
	f(today, old, false, []uint64{10000, 100, 100, 100, 100}, 2, 3, 4, 5)
	f(today, old, false, []uint64{1600, 100, 100, 100, 100}, 1, 2, 3, 4, 5)
	f(today, old, true, []uint64{10000, 100}, 1, 2)
	f(today, old, true, []uint64{10000})
	// A closed day becomes one part when nothing came for a while, and is
	// treated like an open one before.
	f(today-1, old, false, []uint64{10000, 1}, 1, 2)
	f(today-1, 0, false, []uint64{10000, 1})
	f(today-1, 0, false, []uint64{10000, 1, 1, 1, 1}, 2, 3, 4, 5)
	f(today-1, 0, true, []uint64{10000, 1}, 1, 2)
}

// one is a settled part of some days of March.
func one(id uint64, from, to int64, seq, samples uint64) Candidate {
	return Candidate{ID: id, MinDay: march + from - 1, MaxDay: march + to - 1, SeqMin: seq, Samples: samples, Series: samples / 10, Age: old}
}

func TestPlanOfDays(t *testing.T) {
	f := func(p Policy, parts []Candidate, want ...[]uint64) {
		t.Helper()
		if p.MaxSeries == 0 {
			p.MaxSeries = 1 << 40
		}
		p.Today += march - 1
		require.ElementsMatch(t, want, Plan(parts, p))
	}
	days := []Candidate{one(1, 1, 1, 10, 100), one(2, 2, 2, 20, 100), one(3, 3, 3, 30, 100), one(4, 4, 4, 40, 100), one(5, 5, 5, 50, 100)}
	// Days are apart if they have to be.
	f(Policy{Today: 20, MaxDays: 1}, days)
	// Neighbours are joined when they are many, today's is not among them.
	f(Policy{Today: 4, MaxDays: 31}, days[:4])
	f(Policy{Today: 5, MaxDays: 31}, days, []uint64{1, 2, 3, 4})
	f(Policy{Today: 4, MaxDays: 31}, days)
	f(Policy{Today: 4, MaxDays: 31, Force: true}, days, []uint64{1, 2, 3})
	// A window that is over becomes one part, as far as its series fit.
	f(Policy{Today: 40, MaxDays: 31}, days[:2], []uint64{1, 2})
	f(Policy{Today: 6, MaxDays: 2}, days, []uint64{1, 2}, []uint64{3, 4})
	f(Policy{Today: 40, MaxDays: 31, MaxSeries: 20}, days, []uint64{1, 2}, []uint64{3, 4})
	// Joined days wait for as many of their size.
	f(Policy{Today: 20, MaxDays: 31}, []Candidate{one(1, 1, 16, 10, 1600), one(2, 17, 17, 170, 100), one(3, 18, 18, 180, 100), one(4, 19, 19, 190, 100)})
	// Order is that of the sequence numbers, whatever the days.
	f(Policy{Today: 40, MaxDays: 31}, []Candidate{one(1, 1, 1, 50, 100), one(2, 2, 2, 20, 100)}, []uint64{2, 1})
	// A damaged part stays, and stays apart.
	broken := append([]Candidate{}, days...)
	broken[2].Damaged = true
	f(Policy{Today: 40, MaxDays: 31}, broken, []uint64{1, 2}, []uint64{4, 5})
	// What came late for joined days is joined with its like first, and with all
	// when it is settled.
	late := []Candidate{one(1, 1, 30, 10, 9000), one(2, 3, 3, 400, 1), one(3, 9, 9, 410, 1)}
	f(Policy{Today: 31, MaxDays: 31}, late, []uint64{1, 2, 3})
	for i := range late {
		late[i].Age = time.Hour
	}
	f(Policy{Today: 31, MaxDays: 31}, late)
	// A part that reaches over the edge of a window, from other settings, stays.
	f(Policy{Today: 40, MaxDays: 3}, []Candidate{one(1, 1, 1, 10, 100), one(2, 2, 8, 20, 100), one(3, 9, 9, 30, 100)})
}

// Whatever the parts: no part is in two groups, and what is left out of a group
// shares no day with it unless it is older than all of it.
func TestPlanKeepsOrder(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var parts []Candidate
		for i := range uint64(1 + rng.IntN(40)) {
			from := 1 + rng.Int64N(28)
			to := from
			if rng.IntN(4) == 0 {
				to = from + rng.Int64N(29-from)
			}
			c := one(i+1, from, to, i*10, 1+rng.Uint64N(1000))
			c.Age = time.Duration(rng.IntN(20)) * time.Minute * time.Duration(1+29*rng.IntN(2))
			parts = append(parts, c)
		}
		p := Policy{Today: march + rng.Int64N(40), MaxDays: 1 + rng.IntN(31), MaxSeries: 1 + rng.Uint64N(500), Force: rng.IntN(4) == 0}
		used := map[uint64]bool{}
		for _, group := range Plan(parts, p) {
			in := map[uint64]bool{}
			for i, id := range group {
				require.False(t, used[id])
				used[id], in[id] = true, true
				if i > 0 {
					require.Greater(t, id, group[i-1])
				}
			}
			for _, a := range parts {
				for _, b := range parts {
					if in[a.ID] && !in[b.ID] && a.MinDay <= b.MaxDay && b.MinDay <= a.MaxDay {
						require.Less(t, b.SeqMin, parts[group[0]-1].SeqMin, "seed %d", seed)
					}
				}
			}
		}
	}
}
