package index

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"
)

// benchSets are the label sets of Prometheus' postings benchmark, scaled: i has
// a tenth as many values as there are series, n ten, j two.
func benchSets(n int) []labels.Labels {
	var out []labels.Labels
	for i := range n / 10 {
		for k := range 10 {
			out = append(out, labels.FromStrings("i", fmt.Sprintf("%08d_%040d", i, i), "j", []string{"bar", "foo"}[k%2], "n", fmt.Sprint(k)))
		}
	}
	return sortSets(out)
}

func BenchmarkSelect(b *testing.B) {
	s := open(b, benchSets(100_000))
	for _, ms := range [][]*labels.Matcher{
		{labels.MustNewMatcher(labels.MatchEqual, "n", "1")},
		{labels.MustNewMatcher(labels.MatchEqual, "n", "1"), labels.MustNewMatcher(labels.MatchEqual, "j", "foo")},
		{labels.MustNewMatcher(labels.MatchEqual, "n", "1"), labels.MustNewMatcher(labels.MatchRegexp, "i", ".*1.*")},
		{labels.MustNewMatcher(labels.MatchRegexp, "i", ".+")},
		{labels.MustNewMatcher(labels.MatchEqual, "i", "")},
		{labels.MustNewMatcher(labels.MatchNotEqual, "i", ""), labels.MustNewMatcher(labels.MatchNotEqual, "j", "foo")},
	} {
		b.Run(fmt.Sprint(ms), func(b *testing.B) {
			for b.Loop() {
				_, err := s.Select(ms...)
				require.NoError(b, err)
			}
		})
	}
}

func BenchmarkWriteAndOpen(b *testing.B) {
	sets := benchSets(100_000)
	b.Run("write", func(b *testing.B) {
		for b.Loop() {
			var w Writer
			for _, lset := range sets {
				_, err := w.Add(lset)
				require.NoError(b, err)
			}
			out, err := w.Append(nil)
			require.NoError(b, err)
			b.ReportMetric(float64(len(out))/float64(len(sets)), "bytes/series")
		}
	})
	segment := build(b, sets)
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			s, err := Open(segment)
			require.NoError(b, err)
			b.ReportMetric(float64(s.Size())/float64(len(sets)), "bytes/series")
		}
	})
}
