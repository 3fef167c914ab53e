package block

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/value"
)

// Runs of floats that are hidden in part, merged and rid of staleness markers are
// what cursors say.
func TestFloatsEqualMerge(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 8))
		f := Floats{Starts: r.IntN(2) == 0, Stale: r.IntN(2) == 0}
		f.T, f.F = append(f.T, 1, 2), append(f.F, 5, 6) // of another series
		var cursors []Cursor
		for range 1 + r.IntN(4) {
			hidden := []Interval{}
			for range r.IntN(3) {
				at := r.Int64N(300)
				hidden = append(hidden, Interval{at, at + r.Int64N(60)})
			}
			from := len(f.T)
			for range 1 + r.IntN(3) { // runs that are hidden together
				s := someFloats(r)
				f.Begin()
				f.AppendSpan(&s)
				cursors = append(cursors, Hide(&listCursor{spans: []Span{s}}, hidden))
			}
			f.HideIn(from, hidden)
		}
		f.Settle()
		want := []Sample{{T: 1, F: 5}, {T: 2, F: 6}}
		for c := Merge(cursors); c.Next(); {
			s := c.Span()
			for i := range s.Count {
				if !f.Stale && value.IsStaleNaN(s.Float(i)) {
					continue
				}
				x := Sample{T: s.Time(i), F: s.Float(i)}
				if f.Starts {
					x.ST = s.StartTime(i)
				}
				want = append(want, x)
			}
		}
		require.LessOrEqual(t, len(f.S), len(f.T))
		f.Pad()
		require.Len(t, f.T, len(want), "seed %d", seed)
		for i, x := range want {
			require.Equal(t, []any{x.T, x.ST, math.Float64bits(x.F)}, []any{f.T[i], f.S[i], math.Float64bits(f.F[i])}, "seed %d, sample %d", seed, i)
		}
	}
}

// someFloats is a span in any form.
func someFloats(r *rand.Rand) Span {
	s := Span{Kind: KindFloat, Count: 1 + r.IntN(40), Start: r.Int64N(200), Step: 1 + r.Int64N(9)}
	if r.IntN(2) == 0 {
		at := s.Start
		for range s.Count {
			s.Times = append(s.Times, at)
			at += 1 + r.Int64N(20)
		}
	}
	if r.IntN(3) == 0 {
		for i := range s.Count {
			s.StartTimes = append(s.StartTimes, int64(i%3))
		}
	}
	form := r.IntN(3)
	for range s.Count {
		switch form {
		case 0:
			s.Ints32, s.Scale = append(s.Ints32, r.Int32N(1000)), 1
		case 1:
			s.Ints64, s.Scale = append(s.Ints64, r.Int64N(1<<40)), 2
		default:
			s.Floats = append(s.Floats, []float64{r.NormFloat64(), math.Float64frombits(value.StaleNaN), math.NaN()}[r.IntN(3)])
		}
	}
	return s
}

func TestFloatsTruncate(t *testing.T) {
	f := Floats{Starts: true}
	for range 3 {
		f.Begin()
		f.AppendSpan(&Span{Kind: KindFloat, Count: 2, Start: int64(10 - len(f.T)), Step: 1, Floats: []float64{1, 2}, StartTimes: []int64{3, 4}})
	}
	f.Truncate(2)
	require.Equal(t, []int64{10, 11}, f.T)
	require.Equal(t, []int64{3, 4}, f.S)
	f.Settle()
	require.True(t, slices.Equal([]float64{1, 2}, f.F))
}
