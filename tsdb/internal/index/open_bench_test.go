package index

import (
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// BenchmarkOpen opens the 5 million series of BenchmarkMatchers and asks the
// first question: what a start takes, and what the first query waits for.
func BenchmarkOpen(b *testing.B) {
	sets := longSets(benchValues())
	stored := sets.segment(b)
	m := labels.MustNewMatcher(labels.MatchEqual, "n", "1"+sets.suffix)
	var open, first time.Duration
	for b.Loop() {
		begin := time.Now()
		s, err := Open(stored, Caches{})
		require.NoError(b, err)
		open += time.Since(begin)
		begin = time.Now()
		_, err = s.Select(m)
		require.NoError(b, err)
		first += time.Since(begin)
	}
	b.ReportMetric(float64(open.Nanoseconds())/float64(b.N), "ns/open")
	b.ReportMetric(float64(first.Nanoseconds())/float64(b.N), "ns/first-select")
}

// BenchmarkVerify walks over everything.
func BenchmarkVerify(b *testing.B) {
	sets := longSets(2000)
	s, err := Open(sets.segment(b), Caches{})
	require.NoError(b, err)
	for b.Loop() {
		require.NoError(b, s.Verify())
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*sets.len()), "ns/series")
}
