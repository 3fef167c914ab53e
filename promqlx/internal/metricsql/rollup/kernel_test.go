package rollup

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestKernels tells what the recorded answers do not: samples of one time, values
// that rounding tells apart, windows of one sample after another.
func TestKernels(t *testing.T) {
	var s Scratch
	f := func(want float64, k kernel, prev float64, values ...float64) {
		t.Helper()
		w := &window{values: values, prev: prev, prevT: 5000, realPrev: nan, realNext: nan, t: 40_000, width: 30_000, s: &s}
		for i := range values {
			w.timestamps = append(w.timestamps, int64(10_000*(i+1)))
		}
		requireSame(t, []float64{want}, []float64{k(w)}, values)
	}
	almost := 1 + 1e-13
	f(1, changes, nan, 1, almost)
	f(2, changes, nan, 1, almost, 2)
	f(1, increases, 1, almost, 2)
	f(0, decreases, almost, 1)
	f(1, decreases, almost, 1, 0.5)

	f(nan, instantDelta, nan)
	f(0, instantDelta, 3)
	f(7, instantDelta, nan, 7)
	f(4, instantDelta, 3, 7)
	f(3, instantDelta, 3, 7, 10)
	f(nan, instantDeriv, 3)
	f(nan, instantDeriv, nan, 7)
	f(0.8, instantDeriv, 3, 7)

	f(nan, derivFast, nan)
	f(nan, derivFast, nan, 1)
	f(0, derivFast, 1)
	f(3, delta, nan, 3)
	f(0, delta, nan, 30)
	f(1, delta, nan, 30, 31)
	f(31, delta, nan, 30, 33, 31)
	f(30, increasePure, nan, 30)
	f(0, increasePure, 30)

	f(0, variance, nan, 5)
	f(nan, variance, nan)
	f(nan, outlier, nan, 5)
	f(100, outlier, nan, 1, 2, 1, 2, 100)
	f(nan, outlier, nan, 100, 2, 1, 2, 1)
	f(3, mode, 3)
	f(3, mode, 3, 7, 3, 3)
	f(3, mode, 3, 7, 7, 3)
	f(nan, timeOfChange, 7, 7, 7)
	f(10, timeOfChange, 3, 7, 7)
	f(20, timeOfChange, 3, 3, 7)
	f(30, timeOfMax, nan, 7, 1, 7)
	f(20, timeOfMin, nan, 7, 1, 7)
	f(2, candleLow, nan, 3, 2, 4, 1) // the sample at the step is not before it
	f(4, candleHigh, nan, 3, 2, 4, 9)

	twice := &window{values: []float64{1, 2, 4}, timestamps: []int64{20_000, 30_000, 30_000}, prev: nan}
	require.InDelta(t, 0.3, instantDeriv(twice), 1e-15)
	twice.values, twice.timestamps = twice.values[1:], twice.timestamps[1:]
	require.Zero(t, instantDeriv(twice))
	twice.prev, twice.prevT = 1, 20_000
	require.InDelta(t, 0.3, instantDeriv(twice), 1e-15)

	for _, c := range []struct{ bound, phi float64 }{{0, 0}, {0, -1}, {inf, 1}, {inf, 2}} {
		bound, avg := hoeffding([]float64{1, 3}, c.phi)
		require.Equal(t, [2]float64{c.bound, 2}, [2]float64{bound, avg}, c.phi)
	}
	require.Equal(t, []int64{-7, math.MinInt64, math.MinInt64, math.MinInt64},
		[]int64{whole(-7.9), whole(inf), whole(nan), whole(1e30)})
}

// TestPrepare tells how values are prepared, in place.
func TestPrepare(t *testing.T) {
	f := func(want []float64, do func([]float64, []int64), values ...float64) {
		t.Helper()
		times := []int64{0, 1000, 1000, 3000}[:len(values)]
		do(values, times)
		requireSame(t, want, values, nil)
	}
	f(nil, deltas)
	f([]float64{0}, deltas, 5)
	f([]float64{2, -3, -3}, deltas, 5, 7, 4)
	f(nil, derivs)
	f([]float64{0}, derivs, 5)
	f([]float64{2, 2, 3, 3}, derivs, 5, 7, 99, 13)
	f([]float64{nan}, intervals, 5)
	f([]float64{1, 1, 0, 2}, intervals, 5, 5, 5, 5)
}

// TestInterval tells how far apart samples are taken to be, and what a window that
// was not given becomes by it.
func TestInterval(t *testing.T) {
	var s Scratch
	f := func(interval int64, timestamps ...int64) {
		t.Helper()
		require.Equal(t, interval, scrapeInterval(timestamps, 7, &s))
	}
	f(7)
	f(7, 10)
	f(7, 10, 10)
	f(10, 10, 20)
	f(10, 0, 5, 15, 25)
	many := []int64{0, 1000} // the last 20 distances count
	for range 20 {
		many = append(many, many[len(many)-1]+3)
	}
	f(3, many...)

	for in, out := range map[int64]int64{
		2000: 10_000, 4000: 12_000, 8000: 16_000, 16_000: 24_000, 32_000: 40_000, 80_000: 90_000,
	} {
		require.Equal(t, out, inflate(in))
	}
}
