package promqlx

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// FuzzMetricsQL evaluates whatever parses: nothing panics, takes more memory than it may
// or goes on after its time.
func FuzzMetricsQL(f *testing.F) {
	st := mqlStore(f)
	e, err := New(Options{Timeout: 300 * time.Millisecond, MaxQueryMemory: 64 << 20})
	require.NoError(f, err)
	tally := fuzztally.New(f)
	for _, text := range []string{
		"sum(rate(m[1m])) by (a) / on(job) group_left(a) prefix \"x\" m > bool 1 or m default 2",
		"WITH (f(x) = x{a=\"1\"}) topk_avg(1, f(m), \"rest\") + fill(0) ru(m, m)",
		"histogram_quantile(0.5, histogram_over_time(m[1h:5s])) @ end() offset -1d",
		"label_graphite_group(label_set(m, \"__name__\", \"a.b\"), 1) if time() ifnot m[1i]",
		"quantiles_over_time(\"q\", 0.1, m[9223372036854775807ms:1s])", "m[1e18:1e18]", "m offset 1e18",
		"sum_over_time(quantiles(\"q\", 0.5, m)[9223372036854775807ms:1s])", "avg_over_time(m[1e18])",
		"rollup_candlestick(m[5m], \"open\")", "aggr_over_time((\"sum_over_time\", \"rate\"), m[1m])",
		"count_values(\"a\", m) without (job) limit 1", "outliersk(1, m), mode(m), limitk(1, m), any(m)",
		"buckets_limit(3, m), prometheus_buckets(m), range_trim_spikes(0.1, m), limit_offset(1, 1, m)",
		"predict_linear(m[1m], 1h), hoeffding_bound_upper(0.9, m[1m]), holt_winters(m[1m], 0.1, 0.2)",
		"union(m, m) == (1, 2)", "sort_by_label_numeric(m, \"a\"), label_map(m, \"a\", \"1\", \"2\")", "-(-m)[1m:] @ start()",
	} {
		f.Add(text, int64(0), int64(60_000), int64(10_000), false)
		f.Add(text, int64(0), int64(0), int64(300_000), true)
		f.Add(text, int64(math.MinInt64), int64(math.MaxInt64)-mqlStart, int64(1<<62), false)
		f.Add(text, int64(1<<62), int64(1<<62), int64(1), true)
		f.Add(text, -mqlStart-5, -mqlStart+5, int64(1), false)
	}
	f.Fuzz(func(t *testing.T, text string, start, end, step int64, instant bool) {
		tally.Input()
		q := MetricsQLQuery{Text: text, Start: mqlStart + start, End: mqlStart + end, Step: max(step, 1), Instant: instant, RoundDigits: 100}
		began := time.Now()
		r := e.MetricsQL(t.Context(), st, q)
		defer r.Close()
		require.Less(t, time.Since(began), 5*time.Second, text)
		if r.Err != nil {
			require.Empty(t, r.Series)
			if strings.Contains(r.Err.Error(), "panic") {
				t.Fatal(r.Err)
			}
			return
		}
		tally.Accepted()
		for _, s := range r.Series {
			if r.Kind == MetricsQLRaw {
				require.Len(t, s.Times, len(s.Values))
			}
		}
	})
}
