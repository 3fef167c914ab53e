package server

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// longWindows visits 30 million samples of each series. Prometheus' engine looks
// whether somebody still waits only once a series, so only an evaluator of our
// own can be asked to stop here; it is known by its list of active queries.
const longWindows = `quantile_over_time(0.9, busy[6h])`

// cancelTime is how soon a query must stop when nobody waits for it any more.
const cancelTime = 100 * time.Millisecond

// A query whose client has gone stops within a tenth of a second, whatever it is
// busy with, and uses no more processor time.
func TestDisconnectStopsQuery(t *testing.T) {
	v := harness.StartVarve(t)
	const series, samples = 200, 2880
	start := scriptTime()*1000 - samples*15_000
	for s := range series {
		ts := prompb.TimeSeries{Labels: harness.PB("__name__", "busy", "g", strconv.Itoa(s%10), "s", strconv.Itoa(s))}
		for i := range int64(samples) {
			ts.Samples = append(ts.Samples, prompb.Sample{Timestamp: start + i*15_000, Value: float64((i*7919 + int64(s)) % 1000)})
		}
		v.WriteV1(t, ts).Require(t, http.StatusNoContent)
	}
	v.Flush(t)
	v.Merge(t)
	end := start + samples*15_000
	args := []string{"start", seconds(end/1000 - 10_900*3), "end", seconds(end / 1000), "step", "3"}
	for _, c := range []struct{ name, query string }{
		{"rollup", `quantile_over_time(0.9, busy[2m])`},
		{"long windows", longWindows},
		{"aggregation", `quantile by (g) (0.9, label_replace(busy, "x", "$1", "s", "(.*)"))`},
		{"subquery", `max_over_time(sum by (g) (rate(busy[5m]))[3h:1s])`},
		{"matching", `sum(busy * on (g, s) busy / on (g, s) busy + on (g, s) busy * on (g, s) busy / on (g, s) busy)`},
		{"text", `count_values("v", label_replace(busy, "x", "$1", "s", "(.*)"))`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.query == longWindows && v.Get(t, "/api/v1/status/active_queries").Status != http.StatusOK {
				t.Skip("the evaluator is Prometheus'")
			}
			var took []time.Duration
			for range 5 {
				if d, ok := cancelOne(t, v, append([]string{"query", c.query}, args...)); ok {
					took = append(took, d)
				}
			}
			if len(took) == 0 && c.query != longWindows {
				t.Skip("every query was over before it could be cancelled")
			}
			require.NotEmpty(t, took, "every query was over before it could be cancelled")
			slices.Sort(took)
			t.Logf("%d cancelled, until it stops: %v", len(took), took)
			require.Less(t, took[len(took)/2], cancelTime)
			require.Less(t, took[len(took)-1], 5*cancelTime)
			requireIdle(t, v)
		})
	}
}

// A text that takes long to be parsed counts as a query that runs, and is given up
// in time. Each text is another one: what was parsed once is remembered.
func TestLongTextIsGivenUp(t *testing.T) {
	v := harness.StartVarve(t, "--query.max-concurrency=2")
	const asked = 10
	answers := make(chan string, asked)
	for i := range asked {
		go func() {
			text := fmt.Sprintf(`{a%d=~"%s"}`, i, strings.Repeat(`((ab?){30}|x){33}`, 600))
			resp, err := v.Send(http.MethodPost, "/api/v1/query", strings.NewReader(harness.Form("query", text, "timeout", "50ms").Encode()),
				"Content-Type", "application/x-www-form-urlencoded")
			answers <- fmt.Sprint(resp.Status, resp, err)
		}()
	}
	where := map[string]int{}
	for range asked {
		answer := <-answers
		require.Contains(t, answer, "503")
		for _, at := range []string{"query queue", "query preparation"} {
			if strings.Contains(answer, "query timed out in "+at) {
				where[at]++
			}
		}
	}
	require.NotZero(t, activeQueries(t, v), "the parsing goes on")
	require.Equal(t, asked, where["query queue"]+where["query preparation"])
	require.GreaterOrEqual(t, where["query preparation"], 2)
	require.NotZero(t, where["query queue"], "who waits behind them")
	require.Eventually(t, func() bool { return activeQueries(t, v) == 0 }, time.Minute, 10*time.Millisecond)
}

// cancelOne asks, leaves, and returns how long the query ran on: by the clock or, on
// a machine that does other things, by the processor time that it still used. It is
// false if the answer came first.
func cancelOne(t *testing.T, v *harness.Varve, args []string) (time.Duration, bool) {
	t.Helper()
	before := activeQueries(t, v)
	require.Zero(t, before)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, v.URL+"/api/v1/query_range?"+harness.Form(args...).Encode(), nil)
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() {
		_, err := harness.NewClient(v.URL).SendRequest(req)
		done <- err
	}()
	for activeQueries(t, v) == 0 {
		select {
		case err := <-done:
			require.NoError(t, err)
			return 0, false
		default:
		}
	}
	time.Sleep(30 * time.Millisecond) // it is in the middle
	if activeQueries(t, v) == 0 {
		return 0, false
	}
	used := v.CPU(t)
	cancel()
	left := time.Now()
	for activeQueries(t, v) > 0 {
		require.Less(t, time.Since(left), 30*time.Second, "the query goes on")
	}
	took := min(time.Since(left), v.CPU(t)-used+10*time.Millisecond) // which is counted in hundredths
	require.ErrorIs(t, <-done, context.Canceled)
	return took, true
}

// requireIdle holds that the server does next to nothing.
func requireIdle(t *testing.T, v *harness.Varve) {
	t.Helper()
	require.Eventually(t, func() bool {
		const window = 300 * time.Millisecond
		before := v.CPU(t)
		time.Sleep(window)
		return v.CPU(t)-before < window/5
	}, 10*time.Second, time.Millisecond, "the server is still busy")
}

// activeQueries returns how many queries wait or run, from the list of them or, of
// a varve that has none, from its metrics.
func activeQueries(t *testing.T, v *harness.Varve) int {
	t.Helper()
	if resp := v.Get(t, "/api/v1/status/active_queries"); resp.Status == http.StatusOK {
		var active []struct{ Query string }
		resp.Data(t, &active)
		return len(active)
	}
	const metric = "prometheus_engine_queries "
	for line := range strings.Lines(v.Get(t, "/metrics").Require(t, http.StatusOK).String()) {
		if rest, ok := strings.CutPrefix(line, metric); ok {
			n, err := strconv.Atoi(strings.TrimSpace(rest))
			require.NoError(t, err)
			return n
		}
	}
	require.FailNow(t, fmt.Sprintf("neither a list of queries nor the metric %s", metric))
	return 0
}
