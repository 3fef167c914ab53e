package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"
)

// Requests are what the generated decoder of remote write reads them as.
func TestFleetRequests(t *testing.T) {
	const scrapes = 3
	f := newFleet(50, manyLabels, true, 1_700_000_000_000, 15_000)
	times := map[string][]int64{}
	w := f.scrapes("/path", 0, scrapes)
	var samples int64
	for worker := range workers {
		for b := w.next(worker); len(b.bytes) > 0; b = w.next(worker) {
			raw, err := snappy.Decode(nil, b.bytes)
			require.NoError(t, err)
			var req prompb.WriteRequest
			require.NoError(t, req.Unmarshal(raw))
			require.Len(t, req.Timeseries, int(b.samples))
			require.LessOrEqual(t, b.samples, int64(samplesPerRequest))
			samples += b.samples
			for _, s := range req.Timeseries {
				require.Len(t, s.Labels, 15)
				require.True(t, slices.IsSortedFunc(s.Labels, func(a, b prompb.Label) int { return strings.Compare(a.Name, b.Name) }))
				require.Equal(t, "uuid", s.Labels[14].Name)
				require.Len(t, s.Labels[14].Value, 36)
				require.Len(t, s.Samples, 1)
				times[s.Labels[14].Value] = append(times[s.Labels[14].Value], s.Samples[0].Timestamp)
			}
		}
	}
	require.Equal(t, int64(50*metricsPerTarget*scrapes), samples)
	require.Len(t, times, f.series(), "each series has a uuid of its own")
	first, last := f.span(scrapes)
	for _, ts := range times {
		require.Equal(t, []int64{ts[0], ts[0] + 15_000, ts[0] + 30_000}, ts)
		require.GreaterOrEqual(t, ts[0], first)
		require.LessOrEqual(t, ts[2], last)
	}
}

func TestFleetReplacesTargets(t *testing.T) {
	f := newFleet(10, fewLabels, true, 0, 15_000)
	require.Equal(t, f.series(), f.everSeries())
	before := string(f.targets[3].labels)
	f.replace(3)
	require.Equal(t, 11*metricsPerTarget, f.everSeries())
	require.Equal(t, 10*metricsPerTarget, f.series())
	require.NotEqual(t, before, string(f.targets[3].labels))
	seen := map[string]bool{}
	for _, target := range f.targets {
		seen[string(target.labels)] = true
	}
	require.Len(t, seen, 10)
}
