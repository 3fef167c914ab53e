package b1

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/codec"
)

// TestConcatEqualsDecoding joins blocks of every shape: samples and statistics are
// those of the values, and of a block that is encoded anew.
func TestConcatEqualsDecoding(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	domains := map[codec.Domain]int{}
	for _, mini := range []int{64, 256} {
		e := NewEncoder(Options{MiniSamples: mini})
		for _, name := range slices.Sorted(maps.Keys(shapes)) {
			values := shapes[name]
			for _, n := range []int{2, 3, 5, 9, 12} {
				cut := mini * (1 + r.IntN(n-1))
				v := values(r, cut+1+r.IntN(mini*n))
				if n == 12 {
					v = sprinkled(r, v)
				}
				if joined := joinedAt(t, e, v, cut); joined != nil {
					domains[joined.h.Domain]++
					requireValues(t, r, name, joined, v)
				}
			}
		}
	}
	require.Greater(t, domains[codec.Decimals10], 6, "%v", domains)
	require.Greater(t, domains[codec.Doubles], 2, "%v", domains)
}

// joinedAt encodes v as two blocks and joins them; nil if they do not join.
func joinedAt(t *testing.T, e *Encoder, v []float64, cut int) *Block {
	whole := gridSpan(v)
	first, second := whole.Slice(0, cut), whole.Slice(cut, len(v))
	a, _ := encoded(t, e, &first)
	b, _ := encoded(t, e, &second)
	var h Header
	payload, ok := Concat([]byte("before"), &h, a, b)
	require.Equal(t, "before", string(payload[:6]))
	if !ok {
		require.Len(t, payload, 6)
		return nil
	}
	headers, err := appendHeaders(nil, AppendPage(nil, []Header{h}))
	require.NoError(t, err)
	require.Equal(t, []Header{h}, headers)
	require.Equal(t, []int64{whole.MinT(), whole.MaxT(), whole.Step}, []int64{h.MinT, h.MaxT, h.Step})
	out := new(Block)
	require.NoError(t, out.Open(&h, payload[6:]))
	again, _ := encoded(t, e, whole)
	require.Equal(t, again.h.Flags&FlagHasStale, h.Flags&FlagHasStale)
	require.Equal(t, again.h.Exceptions, h.Exceptions)
	require.Equal(t, again.h.Resets, h.Resets)
	require.Equal(t, again.h.ResetAt, h.ResetAt)
	if again.h.Domain == h.Domain && again.h.Scale == h.Scale && h.Exceptions == 0 {
		require.Equal(t, []int64{again.h.First, again.h.Last, again.h.Min, again.h.Max, again.h.Sum}, []int64{h.First, h.Last, h.Min, h.Max, h.Sum})
	}
	return out
}

func requireValues(t *testing.T, r *rand.Rand, name string, b *Block, v []float64) {
	got := make([]float64, len(v))
	require.NoError(t, b.Floats(got, 0))
	requireBits(t, v, got, name)
	for range 20 {
		i := r.IntN(len(v))
		j := i + 1 + r.IntN(len(v)-i)
		for op := block.StatCount; op <= block.StatLast; op++ {
			if got, ok := b.Stat(op, i, j); ok {
				want, defined := naive(op, v[i:j])
				require.True(t, defined, name)
				require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: op %d of [%d,%d)", name, op, i, j)
			}
		}
		if got, ok := b.Increase(i, j); ok {
			want, defined := naiveIncrease(v[i:j])
			require.True(t, defined, name)
			require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: increase of [%d,%d)", name, i, j)
		}
	}
}

// TestConcatRefuses names what cannot be joined.
func TestConcatRefuses(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	e := NewEncoder(Options{})
	half := shapes["walk"](r, 1024)
	walk := gridSpan(append(half[:1024:1024], half...))
	f := func(name string, want bool, x, y block.Span) {
		t.Helper()
		a, _ := encoded(t, e, &x)
		b, _ := encoded(t, e, &y)
		_, ok := Concat(nil, new(Header), a, b)
		require.Equal(t, want, ok, name)
	}
	first, second := walk.Slice(0, 1024), walk.Slice(1024, 2048)
	f("alike", true, first, second)
	f("wrong order", false, second, first)
	cut := first
	cut.Count, cut.Start = 1000, first.Start+24*first.Step
	cut.Floats = first.Floats[24:]
	f("cut mini-block", false, cut, second)
	late := second
	late.Start++
	f("off the grid", false, first, late)
	slow := second
	slow.Step++
	f("another step", false, first, slow)
	f("another scale", false, first, block.Span{Kind: block.KindFloat, Count: 1024, Start: second.Start, Step: second.Step, Floats: shapes["decimals"](r, 1024)})
	started := second
	started.StartTimes = make([]int64, 1024)
	started.StartTimes[3] = 5
	f("start timestamps", false, first, started)
	long := gridSpan(shapes["walk"](r, 8192))
	after := walk.Slice(0, 256)
	after.Start = long.MaxT() + long.Step
	f("too long", false, *long, after)
}
