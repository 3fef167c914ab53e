package main

import (
	"testing"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

// TestSmoke measures the cases on little data.
func TestSmoke(t *testing.T) {
	suites := []suite{
		{"range", func(_ config, s *stores) error { return fillRange(s, 200) }, func() []benchCase { return rangeCases(200) }},
		{"native", func(_ config, s *stores) error { return fillNative(s, 2, 50) }, nativeCases},
		{"tsbs", func(_ config, s *stores) error { return fillTSBS(s, 30, 360) }, func() []benchCase { return tsbsCases(360) }},
	}
	for _, s := range suites {
		t.Run(s.name, func(t *testing.T) {
			into, err := openStores(t.TempDir())
			require.NoError(t, err)
			defer func() { require.NoError(t, into.close()) }()
			require.NoError(t, s.fill(config{}, into))
			require.NoError(t, into.settle(t.Context()))
			contenders, err := contendersOver(into)
			require.NoError(t, err)
			var rows []row
			for i, c := range s.cases() {
				if testing.Short() && (i%20 != 0 || c.steps > 1000) {
					continue
				}
				r, err := measure(t.Context(), contenders, c, 0, 1)
				require.NoError(t, err, c.name())
				require.Nil(t, r.differs, c.name())
				for _, f := range r.figures {
					require.Positive(t, f.nanos)
					require.GreaterOrEqual(t, f.bytes, float64(leastBytes))
				}
				rows = append(rows, r)
			}
			require.Positive(t, mean(rows, 1, nanosOf))
		})
	}
}

func TestResultBytes(t *testing.T) {
	require.EqualValues(t, 0, resultBytes(&promql.Result{Value: promql.Scalar{}}))
	m := promql.Matrix{{Floats: make([]promql.FPoint, 100)}}
	require.InDelta(t, 1600, resultBytes(&promql.Result{Value: m}), 100)
}
