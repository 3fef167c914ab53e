package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// nh makes an integer histogram whose sum is its count, with positive buckets
// from index 1 on.
func nh(schema int32, counts ...int64) *histogram.Histogram {
	h := &histogram.Histogram{Schema: schema, ZeroThreshold: 1e-128, PositiveSpans: []histogram.Span{{Offset: 1, Length: uint32(len(counts))}}}
	last := int64(0)
	for _, n := range counts {
		h.PositiveBuckets = append(h.PositiveBuckets, n-last)
		h.Count += uint64(n)
		last = n
	}
	h.Sum = float64(h.Count)
	return h
}

func histogramSeries(name string, base int64, points map[int64]*histogram.Histogram) prompb.TimeSeries {
	ts := prompb.TimeSeries{Labels: harness.PB("__name__", name)}
	for _, at := range []int64{0, 60, 120} {
		if h := points[at]; h != nil {
			ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram((base+at)*1000, h))
		}
	}
	return ts
}

// PB-28: each pair of samples is judged at its own schema.
func TestPitfallHistogramResetAcrossSchemas(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	v.WriteV1(t, histogramSeries("n1", base, map[int64]*histogram.Histogram{0: nh(3, 5, 5), 60: nh(3, 3, 10), 120: nh(0, 16)})).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		at := strconv.FormatInt(base+121, 10)
		require.Equal(t, []string{"{} 20.133333333333333"}, v.Query(t, "histogram_count(increase(n1[5m]))", at).Values())
		require.Equal(t, []string{"{} 1"}, v.Query(t, "resets(n1[5m])", at).Values())
	})
}

// PB-30: a reset after the first sample means that the first one is never
// subtracted, also when it has custom buckets.
func TestPitfallHistogramLayoutChange(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	custom := &histogram.Histogram{
		Schema: histogram.CustomBucketsSchema, Count: 3, Sum: 3, CustomValues: []float64{1, 2},
		PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []int64{2, -1},
	}
	v.WriteV1(t, histogramSeries("n3", base, map[int64]*histogram.Histogram{0: custom, 60: nh(0, 3), 120: nh(0, 9)})).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		r := v.Query(t, "increase(n3[5m])", strconv.FormatInt(base+121, 10))
		require.Empty(t, r.Warnings)
		require.Len(t, r.Series, 1)
		var got struct {
			Count   string  `json:"count"`
			Buckets [][]any `json:"buckets"`
		}
		require.NoError(t, json.Unmarshal([]byte(r.Series[0].Points[0].Value), &got))
		require.Equal(t, "11.325", got.Count)
		require.Equal(t, [][]any{{0.0, "1", "2", "11.325"}}, got.Buckets)
	})
}

// PB-32: histograms with empty buckets at ever new places come back as sent.
func TestPitfallHistogramEmptyBuckets(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	rng := rand.New(rand.NewPCG(7, 7))
	ts := prompb.TimeSeries{Labels: harness.PB("__name__", "n7")}
	var want []*histogram.FloatHistogram
	for i := range int64(200) {
		h := sparseHistogram(rng, uint64(i+1))
		want = append(want, h.ToFloat(nil).Compact(0))
		ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram((base+i)*1000, h))
	}
	v.WriteV1(t, ts).Require(t, http.StatusNoContent)
	inEveryState(t, v, func(t *testing.T) {
		at := strconv.FormatInt(base+200, 10)
		require.Equal(t, []string{"{} 200"}, v.Query(t, "count_over_time(n7[5m])", at).Values())
		require.Equal(t, []string{"{} 200"}, v.Query(t, "histogram_count(n7)", at).Values())
		for _, form := range []prompb.ReadRequest_ResponseType{harness.Sampled, harness.Streamed} {
			got := v.RemoteRead(t, form, base*1000, (base+200)*1000, harness.Eq("__name__", "n7"))
			require.Len(t, got, 1)
			require.Len(t, got[0].Points, len(want))
			for i, p := range got[0].Points {
				require.True(t, want[i].Equals(p.H.Compact(0)), "%s sample %d: got %s, want %s", form, i, p.H, want[i])
			}
		}
	})
}

// sparseHistogram has twelve positions of which only one may hold something.
func sparseHistogram(rng *rand.Rand, count uint64) *histogram.Histogram {
	h := &histogram.Histogram{Schema: 3, Count: count, Sum: float64(count), ZeroThreshold: 1e-128}
	picked := map[int]bool{}
	for len(picked) < 12 {
		picked[rng.IntN(80)-40] = true
	}
	next, last := 0, int64(0)
	for i := -40; i < 40; i++ {
		if !picked[i] {
			continue
		}
		if n := len(h.PositiveSpans); n == 0 {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: int32(i), Length: 1})
		} else if i == next {
			h.PositiveSpans[n-1].Length++
		} else {
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: int32(i - next), Length: 1})
		}
		value := int64(0)
		if i == 5 {
			value = int64(count)
		}
		h.PositiveBuckets = append(h.PositiveBuckets, value-last)
		next, last = i+1, value
	}
	if !picked[5] {
		h.ZeroCount = count
	}
	return h
}

// inEveryState runs a check with the data in the head, after a replay of the
// log, in parts, in merged parts and after a clean restart.
func inEveryState(t *testing.T, v *harness.Varve, check func(*testing.T)) {
	for i, state := range []struct {
		name   string
		change func()
	}{
		{"head", func() {}},
		{"replayed", func() { v.Kill(); v.Restart(t) }},
		{"parts", func() { v.Flush(t) }},
		{"merged", func() { v.Merge(t) }},
		{"reopened", func() { v.Stop(t); v.Restart(t) }},
	} {
		state.change()
		if !t.Run(fmt.Sprintf("%d-%s", i, state.name), check) {
			return
		}
	}
}
