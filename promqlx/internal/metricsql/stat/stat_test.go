package stat_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/metricsql/stat"
)

var (
	nan = math.NaN()
	inf = math.Inf(1)
)

func same(t *testing.T, want, got float64) {
	t.Helper()
	require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%v, want %v", got, want)
}

func TestQuantile(t *testing.T) {
	f := func(want, phi float64, sorted ...float64) {
		t.Helper()
		same(t, want, stat.Quantile(phi, sorted))
	}
	f(nan, 0.5)
	f(nan, nan, 1)
	f(-inf, -0.1, 1)
	f(inf, 1.1, 1)
	f(2, 0.5, 1, 2, 3)
	f(2.5, 0.5, 1, 2, 3, 4)
	f(1, 0, 1, 2)
	f(2, 1, 1, 2)
	f(1.3, 0.1, 1, 4)
}

func TestFar(t *testing.T) {
	same(t, 1, stat.Far(2, []float64{1, 2, 3, nan}))
	same(t, nan, stat.Far(2, nil))
	same(t, nan, stat.Far(inf, []float64{inf, inf}))
}

func TestVariance(t *testing.T) {
	same(t, nan, stat.Variance(nil))
	same(t, 0, stat.Variance([]float64{nan}))
	same(t, nan, stat.Variance([]float64{nan, nan}))
	same(t, 0, stat.Variance([]float64{nan, 3}))
	same(t, 1.25, stat.Variance([]float64{1, 2, nan, 3, 4}))
}

func TestMode(t *testing.T) {
	f := func(want, prev float64, values ...float64) {
		t.Helper()
		slices.Sort(values)
		same(t, want, stat.Mode(prev, values))
	}
	f(nan, nan)
	f(5, 5)
	f(1, nan, 2, 1, 3)
	f(2, nan, 2, 1, 2, 3, 3)
	f(1, 1, 1, 2, 2)
	f(7, 7, 1, 2) // the value before, though there is none of it
}

func TestLine(t *testing.T) {
	f := func(v, k float64, values []float64, times []int64, at int64) {
		t.Helper()
		gotV, gotK := stat.Line(values, times, at)
		same(t, v, gotV)
		same(t, k, gotK)
	}
	f(nan, nan, nil, nil, 0)
	f(nan, 0, []float64{nan}, []int64{0}, 0)
	f(nan, nan, []float64{nan, nan}, []int64{0, 1000}, 0)
	f(3, 2, []float64{nan, 3, 7}, []int64{1000, 5000, 7000}, 5000)
	f(4, 0, []float64{4, 4}, []int64{1000, 2000}, 9000)
	f(5, 0, []float64{nan, 5}, []int64{1000, 2000}, 2000)
}

func TestBuckets(t *testing.T) {
	f := func(vmrange string, v float64) {
		t.Helper()
		b, ok := stat.Bucket(v)
		require.True(t, ok)
		require.Equal(t, vmrange, stat.Range(b))
		require.Equal(t, vmrange[len(vmrange)-len(stat.Bound(b)):], stat.Bound(b))
	}
	f("0...1.000e-09", 0)
	f("0...1.000e-09", 1e-10)
	f("1.000e-09...1.136e-09", 1e-9)
	f("8.799e-01...1.000e+00", 1)
	f("1.000e+00...1.136e+00", 1.1)
	f("8.799e+17...1.000e+18", 1e18-1e10)
	f("1.000e+18...+Inf", 1e19)
	f("1.000e+18...+Inf", inf)
	for _, v := range []float64{-1, nan, -inf} {
		_, ok := stat.Bucket(v)
		require.False(t, ok)
	}
}
