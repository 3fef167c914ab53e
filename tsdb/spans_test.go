package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/value"

	"github.com/varvedb/varve/tsdb"
)

// statistic computes one in time order; ok is false where none is exact.
func statistic(op tsdb.StatOp, v []float64) (x float64, ok bool) {
	plain := !slices.ContainsFunc(v, func(x float64) bool { return math.IsNaN(x) || x == 0 && math.Signbit(x) })
	switch op {
	case tsdb.StatCount:
		return float64(len(v)), true
	case tsdb.StatFirst:
		return v[0], true
	case tsdb.StatLast:
		return v[len(v)-1], true
	case tsdb.StatSum:
		for _, y := range v {
			x += y
		}
		return x, plain
	case tsdb.StatMin:
		return slices.Min(v), plain
	case tsdb.StatMax:
		return slices.Max(v), plain
	}
	x = v[len(v)-1] - v[0]
	for i := 1; i < len(v); i++ {
		if v[i] < v[i-1] {
			x += v[i-1]
		}
	}
	return x, !slices.ContainsFunc(v, math.IsNaN)
}

// requireSpan holds what a span says without its values to its twin. It returns how
// many answers were exact.
func requireSpan(t *testing.T, r *rand.Rand, s, twin *tsdb.Span, why string) (exact int) {
	t.Helper()
	require.Equal(t, []int64{int64(twin.Kind), int64(twin.Count)}, []int64{int64(s.Kind), int64(s.Count)}, why)
	for i := range s.Count {
		require.Equal(t, twin.Time(i), s.Time(i), why)
		require.Equal(t, i, s.Search(s.Time(i)), why)
	}
	if s.Kind != tsdb.KindFloat {
		return 0
	}
	var v []float64
	for i := range s.Count {
		v = append(v, twin.Float(i))
	}
	for range 4 {
		i := r.IntN(s.Count)
		j := i + 1 + r.IntN(s.Count-i)
		if r.IntN(3) == 0 {
			i, j = 0, s.Count
		}
		for op := tsdb.StatCount; op <= tsdb.StatIncrease; op++ {
			got, ok := s.Stat(op, i, j)
			if !ok {
				continue
			}
			exact++
			want, may := statistic(op, v[i:j])
			require.True(t, may, "%s: statistic %d", why, op)
			require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%s: statistic %d of %v", why, op, v[i:j])
		}
		if list, ok := s.Resets([]int{-1}, i, j); ok {
			exact++
			want := []int{-1}
			for k := i + 1; k < j; k++ {
				if v[k] < v[k-1] {
					want = append(want, k)
				}
			}
			require.Equal(t, want, list, why)
			require.False(t, slices.ContainsFunc(v[i:j], math.IsNaN), why)
		} else {
			require.Equal(t, []int{-1}, list)
		}
		if !s.MayBeStale(i, j) {
			exact++
			require.False(t, slices.ContainsFunc(v[i:j], value.IsStaleNaN), why)
		}
	}
	require.NoError(t, s.Load(), why)
	for i := range s.Count {
		require.Equal(t, math.Float64bits(v[i]), math.Float64bits(s.Float(i)), why)
		require.Equal(t, twin.StartTime(i), s.StartTime(i), why)
	}
	return exact
}

// requireSpans holds Spans of series i to Cursor.
func requireSpans(t *testing.T, r *rand.Rand, v *tsdb.View, i int, mint, maxt int64, why string) (exact, lazy int) {
	t.Helper()
	spans, twin := v.Spans(i, mint, maxt), v.Cursor(i, mint, maxt)
	for spans.Next() {
		require.True(t, twin.Next(), why)
		if !spans.Span().Loaded() {
			lazy++
		}
		exact += requireSpan(t, r, spans.Span(), twin.Span(), why)
	}
	require.NoError(t, spans.Err(), why)
	require.False(t, twin.Next(), why)
	return exact, lazy
}

func TestSpansAnswerAsCursor(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	eachState(t, func(name string, db *tsdb.DB) {
		v, err := db.Select(context.Background(), 0, t0+3*day)
		require.NoError(t, err)
		defer v.Close()
		exact, lazy := 0, 0
		for i := range v.Len() {
			for k := range 8 {
				mint, maxt := int64(0), int64(math.MaxInt64)
				if k > 0 {
					mint = t0 + r.Int64N(30_000_000)
					maxt = mint + r.Int64N(10_000_000)
				}
				e, l := requireSpans(t, r, v, i, mint, maxt, fmt.Sprint(name, " ", v.Labels(i)))
				exact, lazy = exact+e, lazy+l
			}
		}
		require.Greater(t, exact, 200, name)
		require.Equal(t, name != "head" && name != "late in lanes", lazy > 0, name)
	})
}

func TestSpansOfRandomStores(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() || raceDetector {
		seeds = 4
	}
	for seed := range seeds {
		d := newDriver(t, seed+2000)
		for range 40 {
			d.step()
		}
		lo := d.draw.Time()
		hi := lo + d.rng.Int64N(2*day)
		v, err := d.db.Select(context.Background(), lo, hi)
		d.require(err)
		for i := range v.Len() {
			requireSpans(t, d.rng, v, i, lo, hi, fmt.Sprintf("seed %d\n%s", seed, strings.Join(d.log, "\n")))
		}
		v.Close()
		d.require(d.db.Close())
	}
}

// A window with a staleness marker is known by MayBeStale; its sum and the like are
// not exact.
func TestStaleSpans(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	eachState(t, func(name string, db *tsdb.DB) {
		v, err := db.Select(context.Background(), 0, t0+3*day)
		require.NoError(t, err)
		defer v.Close()
		stale := 0
		for spans := v.Spans(4, 0, math.MaxInt64); spans.Next(); {
			s := *spans.Span()
			loaded := s
			require.NoError(t, loaded.Load())
			for i := range s.Count {
				if !value.IsStaleNaN(loaded.Float(i)) {
					continue
				}
				stale++
				from, to := max(0, i-r.IntN(200)), min(s.Count, i+1+r.IntN(200))
				for _, x := range []*tsdb.Span{&s, &loaded} {
					require.True(t, x.MayBeStale(from, to), name)
					require.True(t, x.MayBeStale(i, i+1), name)
					for _, op := range []tsdb.StatOp{tsdb.StatSum, tsdb.StatMin, tsdb.StatMax, tsdb.StatIncrease} {
						_, exact := x.Stat(op, from, to)
						require.False(t, exact, "%s: statistic %d", name, op)
					}
					_, exact := x.Resets(nil, from, to)
					require.False(t, exact)
				}
				if i+1 < s.Count {
					require.False(t, s.MayBeStale(i+1, min(s.Count, i+50)), name)
				}
			}
		}
		require.Greater(t, stale, 5, name)
	})
}
