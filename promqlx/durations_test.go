package promqlx

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
)

// told returns what durations tell of a part at a time.
func told(t *testing.T, d *durations, part int, now time.Time) (*dto.Summary, *dto.Histogram) {
	t.Helper()
	ms := d.metrics(now)
	require.Len(t, ms, 2*len(timedParts))
	var s, h dto.Metric
	require.NoError(t, ms[2*part].Write(&s))
	require.NoError(t, ms[2*part+1].Write(&h))
	require.Equal(t, timedParts[part], s.Label[0].GetValue())
	require.Equal(t, timedParts[part], h.Label[0].GetValue())
	return s.Summary, h.Histogram
}

// TestQuantiles compares with the sorted list of what was observed not long ago.
func TestQuantiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	t0 := time.Unix(1_700_000_000, 0)
	for _, spread := range []float64{5, 12, 28, 43} { // octaves, from a nanosecond to hours
		d := newDurations(t0)
		var at []time.Time
		var took []time.Duration
		for i := range 20_000 {
			at = append(at, t0.Add(time.Duration(i)*100*time.Millisecond)) // 33 minutes
			took = append(took, time.Duration(math.Exp2(spread*rng.Float64())))
			d.observe(at[i], 0, 0, took[i], true)
			if i%1999 != 0 {
				continue
			}
			var recent []time.Duration
			for j := range took {
				if at[j].Sub(t0)/windowLength > at[i].Sub(t0)/windowLength-ageWindows {
					recent = append(recent, took[j])
				}
			}
			slices.Sort(recent)
			s, _ := told(t, d, partEval, at[i])
			require.EqualValues(t, i+1, s.GetSampleCount())
			require.Len(t, s.Quantile, 3)
			for _, q := range s.Quantile {
				want := recent[int(math.Ceil(q.GetQuantile()*float64(len(recent))))-1].Seconds()
				require.InEpsilon(t, want, q.GetValue(), 0.004, "quantile %g of %d", q.GetQuantile(), len(recent))
			}
		}
		s, _ := told(t, d, partEval, at[len(at)-1].Add(prometheus.DefMaxAge+windowLength))
		require.True(t, math.IsNaN(s.Quantile[0].GetValue()), "all are too old")
		require.EqualValues(t, len(took), s.GetSampleCount())
	}
}

// TestHistogramIsThatOfClientGolang compares with the histogram of Prometheus' engine.
func TestHistogramIsThatOfClientGolang(t *testing.T) {
	for _, octaves := range []float64{0, 5, 11} { // fewer than 100 buckets
		want := prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "x", Buckets: []float64{.01, .1, 1, 10}, NativeHistogramBucketFactor: 1.1,
			NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour,
		})
		rng := rand.New(rand.NewPCG(1, 2))
		now := time.Now()
		d := newDurations(now)
		for i := range 5000 {
			took := time.Duration(1e6 * math.Exp2(octaves*rng.Float64()) * float64(1+i%20))
			if i%50 == 0 {
				took = 0
			}
			d.observe(now, took, 0, 0, false)
			want.Observe(took.Seconds())
		}
		var w dto.Metric
		require.NoError(t, want.Write(&w))
		_, got := told(t, d, partQueue, now)
		require.InEpsilon(t, w.Histogram.GetSampleSum(), got.GetSampleSum(), 1e-12)
		got.SampleSum, got.CreatedTimestamp = w.Histogram.SampleSum, w.Histogram.CreatedTimestamp
		require.Equal(t, w.Histogram.String(), got.String())
		_, none := told(t, d, partEval, now)
		require.Zero(t, none.GetSampleCount())
	}
}

// TestHistogramIsBounded: durations of all sizes make no more buckets than are told.
func TestHistogramIsBounded(t *testing.T) {
	d := newDurations(time.Now())
	for ns := float64(1); ns < math.MaxInt64; ns *= 1.03 {
		d.observe(time.Now(), time.Duration(ns), 0, 0, false)
	}
	d.observe(time.Now(), math.MaxInt64, -1, -1, true)
	s, h := told(t, d, partQueue, time.Now())
	require.LessOrEqual(t, len(h.PositiveDelta), nativeMax)
	require.Zero(t, h.GetSchema())
	n, total := int64(0), int64(0)
	for _, delta := range h.PositiveDelta {
		n += delta
		total += n
	}
	require.EqualValues(t, s.GetSampleCount(), total)
	_, h = told(t, d, partEval, time.Now())
	require.EqualValues(t, 1, h.GetZeroCount(), "a clock that went backwards is no time")
}

func BenchmarkObserve(b *testing.B) {
	now := time.Now()
	d := newDurations(now)
	b.ReportAllocs()
	for b.Loop() {
		d.observe(now, 150, 2000, 123_456, true)
	}
}
