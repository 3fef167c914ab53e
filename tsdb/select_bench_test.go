package tsdb_test

import (
	"context"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// BenchmarkSelectFew opens Views of one series and of a hundred, for an hour.
func BenchmarkSelectFew(b *testing.B) {
	name := labels.MustNewMatcher(labels.MatchEqual, "__name__", "cpu_usage_1")
	for _, state := range readBenches {
		db := benchStore(b, 1000, 1000, state.flushes, state.head, tsdb.Options{})
		for _, what := range []struct {
			name     string
			matchers []*labels.Matcher
			want     int
		}{
			{"metric", []*labels.Matcher{name}, 100},
			{"host", []*labels.Matcher{name, labels.MustNewMatcher(labels.MatchEqual, "hostname", "host_7")}, 1},
			{"hosts", []*labels.Matcher{name, labels.MustNewMatcher(labels.MatchRegexp, "hostname", "host_7|host_8|host_13|host_70")}, 4},
		} {
			b.Run(state.name+"/"+what.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					v, err := db.Select(context.Background(), t0+3600_000, t0+7200_000, what.matchers...)
					require.NoError(b, err)
					require.Equal(b, what.want, v.Len())
					v.HasLabel("__type__")
					v.HasLabel("__unit__")
					v.Close()
				}
			})
		}
	}
}
