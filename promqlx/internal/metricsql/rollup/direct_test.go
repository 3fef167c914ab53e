package rollup

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/value"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// samples makes up a series: regular, with jitter, with gaps, with times twice;
// gauges, counters with resets, small whole numbers with both zeros.
func samples(r *rand.Rand) ([]float64, []int64) {
	n := r.IntN(60)
	if r.IntN(10) == 0 {
		n = r.IntN(3)
	}
	every := []int64{1000, 3000, 7000, 10_000, 30_000, 60_000}[r.IntN(6)]
	jitter, gaps, counter, whole := r.IntN(2) == 0, r.IntN(3) == 0, r.IntN(2) == 0, r.IntN(3) == 0
	values, timestamps := make([]float64, n), make([]int64, n)
	t, v := 1_000_000+r.Int64N(60_000), r.Float64()*100
	for i := range n {
		step := every
		if jitter {
			step += r.Int64N(every) - every/2
		}
		if gaps && r.IntN(8) == 0 {
			step *= r.Int64N(20)
		}
		t += step
		switch {
		case counter && r.IntN(10) == 0:
			v *= r.Float64()
		case counter:
			v += float64(r.IntN(10))
		case r.IntN(3) == 0:
			v = math.Copysign(float64(r.IntN(3)), float64(r.IntN(2))-0.5)
		default:
			v = r.NormFloat64()
		}
		values[i], timestamps[i] = v, t
		if whole {
			values[i] = math.Trunc(v * 3)
		}
		if r.IntN(40) == 0 {
			values[i] = math.Float64frombits(value.StaleNaN)
		}
	}
	return values, timestamps
}

func windows(r *rand.Rand) Windows {
	w := Windows{Grid: row.Grid{
		Start: 1_000_000 + r.Int64N(500_000),
		Step:  []int64{1, 1000, 5000, 15_000, 60_000, 300_000}[r.IntN(6)],
		N:     1 + r.IntN(80),
	}}
	w.Grid.Ranged = r.IntN(3) == 0
	if r.IntN(2) == 0 {
		w.Window = 1 + r.Int64N(200_000)
	}
	if r.IntN(3) == 0 {
		w.Lookback = 1 + r.Int64N(200_000)
	}
	return w
}

func requireSame(t *testing.T, want, got []float64, what any) {
	t.Helper()
	require.Len(t, got, len(want), what)
	for i := range want {
		if math.Float64bits(want[i]) != math.Float64bits(got[i]) && !(isNaN(want[i]) && isNaN(got[i])) {
			require.Failf(t, "values differ", "%v: step %d: want %v, got %v", what, i, want[i], got[i])
		}
	}
}

// TestDirect holds the fast forms to the plain one.
func TestDirect(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var s, s2 Scratch
	tested := 0
	for name, sp := range specs {
		if sp.direct == nil {
			continue
		}
		tested++
		f := &Func{name: name, spec: sp, kernel: sp.kernel}
		for range 1000 {
			w := windows(r)
			roller, err := f.On(w, nil)
			require.NoError(t, err)
			require.True(t, roller.Single())
			values, timestamps := samples(r)
			what := fmt.Sprintf("%s over %+v of %v at %v", name, w, values, timestamps)
			pv, pt := roller.prepare(slices.Clone(values), slices.Clone(timestamps))
			want := roller.walk(nil, sp.kernel, pv, pt, nil, &s2)
			requireSame(t, want, roller.Do(nil, values, timestamps, &s), what)
		}
	}
	require.Equal(t, 12, tested)
}

// TestPrefixes tells for which values sums are exact in any order.
func TestPrefixes(t *testing.T) {
	f := func(want []float64, values ...float64) {
		t.Helper()
		var s Scratch
		got, ok := s.prefixes(values)
		require.Equal(t, want != nil, ok, values)
		if ok {
			require.Equal(t, want, got)
		}
	}
	f([]float64{0})
	f([]float64{0, 1, -1, -1}, 1, -2, 0)
	f([]float64{0, 1 << 52}, 1<<52)
	f(nil, 1<<52, 1<<52)
	f(nil, 1<<52, -1<<52)
	f(nil, 1, 0.5)
	f(nil, inf)
	f(nil, 1e300)
	f(nil, 1, nan)
}

// TestSeek holds the search to the obvious one.
func TestSeek(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		times := make([]int64, r.IntN(50))
		for i := range times {
			times[i] = r.Int64N(60)
		}
		slices.Sort(times)
		b := bounds{timestamps: times, width: r.Int64N(30)}
		for at := r.Int64N(70) - 5; at < 70; at += r.Int64N(30) {
			i, j := 0, 0
			for i < len(times) && times[i] <= at-b.width {
				i++
			}
			for j < len(times) && times[j] <= at {
				j++
			}
			b.seek(at)
			require.Equal(t, [2]int{i, j}, [2]int{b.i, b.j}, "%v at %d", times, at)
		}
	}
}

// TestRemoveResets holds the quick stretch before the first fall to the plain loop.
func TestRemoveResets(t *testing.T) {
	plain := func(values []float64) {
		var correction float64
		prev := math.Inf(-1)
		for i, v := range values {
			if i == 0 {
				prev = v
			}
			if d := v - prev; d < 0 {
				if -d*8 < prev {
					correction += prev - v
				} else {
					correction += prev
				}
			}
			prev = v
			values[i] = v + correction
			if i > 0 && values[i] < values[i-1] {
				values[i] = values[i-1]
			}
		}
	}
	r := rand.New(rand.NewPCG(5, 6))
	odd := []float64{0, math.Copysign(0, -1), inf, -inf, 1e-320, 1e308, -5, 1e17 + 1}
	for range 20000 {
		values, timestamps := samples(r)
		values, timestamps = dropNaNs(values, timestamps, false)
		if len(values) > 0 && r.IntN(3) == 0 {
			values[r.IntN(len(values))] = odd[r.IntN(len(odd))]
		}
		want := slices.Clone(values)
		plain(want)
		got := slices.Clone(values)
		removeResets(got, timestamps, 0)
		requireSame(t, want, got, values)

		removeResets(values, timestamps, 1<<60) // no gap is as long as that
		requireSame(t, want, values, "staleness")
	}
}

// TestExtremes holds the fast ways to the plain ones where floats are odd.
func TestExtremes(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	odd := []float64{0, math.Copysign(0, -1), inf, -inf, 5e-324, -5e-324, 1, -1, nan, -nan, math.Copysign(nan, -1)}
	for range 20000 {
		values := make([]float64, 1+r.IntN(6))
		for i := range values {
			values[i] = odd[r.IntN(len(odd))]
		}
		requireSame(t, []float64{highest(values), lowest(values)}, []float64{greatest(values), least(values)}, values)
	}
}
