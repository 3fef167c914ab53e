package tsdb_test

import (
	"context"
	"math"
	oldrand "math/rand"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

func extremeInt(r *rand.Rand) int64 {
	return []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, r.Int64(), -r.Int64(), r.Int64N(1 << 53), someTime}[r.IntN(10)]
}

func extremeFloat(r *rand.Rand) float64 {
	digits := math.Pow(10, float64(r.IntN(35)-15))
	return []float64{
		math.Float64frombits(r.Uint64()), math.Float64frombits(0x7ff0000000000002), math.Float64frombits(0xfff8000000000001 | r.Uint64N(1<<50)),
		math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 0, 5e-324, -5e-324, math.MaxFloat64, 0x1p-1022,
		1 << 53, 1<<53 - 1, 1<<53 + 2, -(1 << 53), 1e15 - 1, 999999999999999.9, 1e22, 1e23, math.MaxInt64, math.MinInt64,
		float64(r.Int64N(1e15)) / 1e15, float64(r.Int64N(1e17)) * digits, math.Round(r.Float64()*1e4) * digits, float64(r.IntN(100)),
	}[r.IntN(25)]
}

func extremeSpans(r *rand.Rand) (spans []histogram.Span, n int) {
	for range r.IntN(4) {
		s := histogram.Span{Offset: []int32{0, 1, -1, math.MaxInt32, math.MinInt32, int32(r.Int32N(100))}[r.IntN(6)], Length: uint32(r.IntN(5))}
		spans, n = append(spans, s), n+int(s.Length)
	}
	return spans, n
}

func extremeHistogram(r *rand.Rand) *histogram.Histogram {
	h := &histogram.Histogram{
		CounterResetHint: histogram.CounterResetHint(r.IntN(4)), Schema: int32(r.IntN(13) - 4), ZeroThreshold: extremeFloat(r), ZeroCount: uint64(extremeInt(r)),
		Count: uint64(extremeInt(r)), Sum: extremeFloat(r),
	}
	var n int
	h.PositiveSpans, n = extremeSpans(r)
	for range n {
		h.PositiveBuckets = append(h.PositiveBuckets, extremeInt(r))
	}
	h.NegativeSpans, n = extremeSpans(r)
	for range n {
		h.NegativeBuckets = append(h.NegativeBuckets, extremeInt(r))
	}
	if r.IntN(4) == 0 {
		h.Schema = histogram.CustomBucketsSchema // Copy leaves out what it has no place for
		h.ZeroThreshold, h.ZeroCount, h.NegativeSpans, h.NegativeBuckets = 0, 0, nil, nil
		for range r.IntN(5) {
			h.CustomValues = append(h.CustomValues, extremeFloat(r))
		}
	}
	return h
}

func extremeFloatHistogram(r *rand.Rand) *histogram.FloatHistogram {
	i := extremeHistogram(r)
	h := &histogram.FloatHistogram{
		CounterResetHint: i.CounterResetHint, Schema: i.Schema, ZeroThreshold: i.ZeroThreshold, ZeroCount: extremeFloat(r), Count: extremeFloat(r), Sum: i.Sum,
		PositiveSpans: i.PositiveSpans, NegativeSpans: i.NegativeSpans, CustomValues: i.CustomValues,
	}
	if h.Schema == histogram.CustomBucketsSchema {
		h.ZeroCount = 0
	}
	for range i.PositiveBuckets {
		h.PositiveBuckets = append(h.PositiveBuckets, extremeFloat(r))
	}
	for range i.NegativeBuckets {
		h.NegativeBuckets = append(h.NegativeBuckets, extremeFloat(r))
	}
	return h
}

// Numbers at the ends of what their types hold, in every place that a sample has
// one, come back through log, memory, parts and merges.
func TestExtremeNumbers(t *testing.T) {
	ctx := context.Background()
	seeds := uint64(6)
	if testing.Short() || raceDetector {
		seeds = 1
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 11))
		mem := vfs.NewMem()
		opts := quiet()
		opts.Sync, opts.MaxFuture = tsdb.SyncAlways(), 200*365*24*time.Hour
		last := time.Now().Add(opts.MaxFuture).UnixMilli() - 1_000_000
		db, model := openOn(t, mem, opts), tsdbtest.NewModel()
		check := func(what string) {
			t.Helper()
			got, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64)
			require.NoError(t, err)
			require.Equal(t, model.Dump(0, math.MaxInt64), got, "seed %d after %s", seed, what)
		}
		for range 3 {
			for k := range 12 {
				lset := labels.FromStrings("__name__", "m", "kind", []string{"float", "started", "int", "hist", "mixed"}[k%5])
				b := db.Batch()
				s, err := b.Series(lset)
				require.NoError(t, err)
				var added []tsdbtest.Sample
				at := []int64{0, someTime, someTime + day - 1, last, last - day, r.Int64N(last)}[r.IntN(6)]
				at = min(at, last-600_000)
				for range 1 + r.IntN(300) {
					x := tsdbtest.Sample{T: at, V: extremeFloat(r)}
					at += []int64{1, 1000, 1000, 1000, 1 + r.Int64N(1000)}[r.IntN(5)]
					if k%5 > 0 && k%5 != 2 {
						x.ST = extremeInt(r)
					}
					switch {
					case k%5 == 3 || k%5 == 4 && r.IntN(3) == 0:
						x.V = 0
						if r.IntN(2) == 0 {
							x.H = extremeHistogram(r)
							err = b.Histogram(s, x.ST, x.T, x.H.Copy())
						} else {
							x.FH = extremeFloatHistogram(r)
							err = b.FloatHistogram(s, x.ST, x.T, x.FH.Copy())
						}
					default:
						err = b.Float(s, x.ST, x.T, x.V)
					}
					require.NoError(t, err)
					added = append(added, x)
				}
				require.NoError(t, b.Commit(ctx))
				model.Append(lset, added...)
			}
			check("writing")
			after := mem.CrashClone(oldrand.New(oldrand.NewSource(int64(seed))), 0)
			require.NoError(t, db.Close())
			mem = after
			db = openOn(t, mem, opts)
			check("a crash")
			require.NoError(t, db.ForceFlush(ctx))
			check("a flush")
			require.NoError(t, db.ForceMerge(ctx))
			check("a merge")
		}
		require.NoError(t, db.Scrub(ctx))
		require.NoError(t, db.Close())
	}
}
