package rollup

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// TestFormsAreEqual holds Run equal to Slow, as bits, over many more series and
// windows than can be asked of Prometheus: long ones, such as overlap a hundred
// times, such as leave most samples out, and one Scratch for all.
func TestFormsAreEqual(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 4
	}
	for _, kind := range floatKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			scratch := &Scratch{}
			for seed := range seeds {
				rng := rand.New(rand.NewPCG(uint64(seed), 77))
				span := []int64{60_000, 600_000, 7_200_000}[rng.IntN(3)]
				s := randomSeries(rng, kind, span)
				for _, name := range functions() {
					c := randomCall(rng, name, span)
					c.at = nil
					c.grid = row.Grid{Start: rng.Int64N(span/4) - 10_000, Step: []int64{1_000, 5_000, 10_000, 60_000, 600_000}[rng.IntN(5)]}
					if rng.IntN(2) == 0 {
						c.grid.Start -= c.grid.Start % 1000
					}
					c.grid.N = min(400, 1+int((span-c.grid.Start)/c.grid.Step))
					c.rangeMS = float64([]int64{3_000, 30_000, 300_000, 3_600_000}[rng.IntN(4)])
					c.compareForms(t, s, scratch, fmt.Sprintf("seed %d, grid %+v, start times %v: %s", seed, c.grid, c.startTimes, c))
				}
			}
		})
	}
}

func (c *call) compareForms(t *testing.T, s *testSeries, scratch *Scratch, msg string) {
	t.Helper()
	f, ok := Lookup(c.name)
	require.True(t, ok)
	slow, out := c.input(s), row.New(c.grid.N)
	before := slices.Clone(slow.F)
	want := rowAnswer(slow, out, f.Slow(slow, out), c.String())
	want.anyNaN = c.anyNaN()
	fast, out := c.input(s), row.New(c.grid.N)
	fast.Scratch = scratch
	requireSame(t, want, rowAnswer(fast, out, f.Run(fast, out), c.String()), msg)
	for i, v := range before {
		require.True(t, sameBits(v, fast.F[i]), "the store's values were changed: %s", msg)
	}
}

// TestNoAllocations holds that Floats forms work in their Scratch alone.
func TestNoAllocations(t *testing.T) {
	for _, name := range functions() {
		f, _ := Lookup(name)
		for _, s := range benchShapes[:4] {
			in := benchInput(name, s.interval, s.span, s.window, s.step, benchValues("dec"))
			out := row.New(in.Env.Grid.N)
			require.Zero(t, testing.AllocsPerRun(3, func() {
				out.Reset()
				require.NoError(t, f.Run(in, out))
				in.Slide(false)
			}), "%s %s", name, s.name)
		}
	}
}

// TestSlide compares windows with what their definition says.
func TestSlide(t *testing.T) {
	for seed := range 200 {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		s := randomSeries(rng, []string{"integers", "mix"}[rng.IntN(2)], 600_000)
		c := randomCall(rng, "rate", 600_000)
		if rng.IntN(5) == 0 {
			c.rangeMS = 0
		}
		in := s.in
		in.Range, in.Offset, in.Anchored, in.Smoothed = int64(c.rangeMS), c.offset, c.anchored, c.smoothed
		in.Env = &row.Env{Grid: c.grid, Lookback: testLookback}
		fixed := rng.IntN(4) == 0
		in.Slide(fixed)
		require.Equal(t, len(in.HT) > 0, in.HLo != nil)
		for i := range c.grid.N {
			maxt := c.grid.T(i) - in.Offset
			if fixed {
				maxt = c.grid.T(0) - in.Offset
			}
			mint := maxt - in.Range
			if in.Anchored || in.Smoothed {
				mint -= testLookback
			}
			if in.Smoothed {
				maxt += testLookback
			}
			require.Equal(t, within(in.T, mint, maxt), in.T[in.Lo[i]:in.Hi[i]], "seed %d step %d", seed, i)
			if in.HLo != nil {
				require.Equal(t, within(in.HT, mint, maxt), in.HT[in.HLo[i]:in.HHi[i]], "seed %d step %d", seed, i)
			}
		}
	}
}

// within returns the times in (mint, maxt].
func within(t []int64, mint, maxt int64) []int64 {
	in := []int64{}
	for _, v := range t {
		if v > mint && v <= maxt {
			in = append(in, v)
		}
	}
	return in
}
