package api

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api/apitest"
	"github.com/varvedb/varve/remote/internal/vmhttp"
)

// canned is an engine whose MetricsQL answers are given.
type canned struct {
	Engine
	out    promqlx.MetricsQLResult
	asked  promqlx.MetricsQLQuery
	within time.Duration // what was left of the time
}

func (c *canned) MetricsQL(ctx context.Context, _ promqlx.Queryable, q promqlx.MetricsQLQuery) *promqlx.MetricsQLResult {
	c.asked = q
	c.within = 0
	if end, ok := ctx.Deadline(); ok {
		c.within = time.Until(end)
	}
	out := c.out
	return &out
}

func withCanned(t *testing.T, c *canned, change ...func(*Options)) http.Handler {
	return serve(newAPI(t, append(change, func(o *Options) { c.Engine = o.Engine; o.Engine = c })...))
}

// withoutTime replaces what an answer says about how long it took.
func withoutTime(body string) string {
	return regexp.MustCompile(`Msec":\d+`).ReplaceAllString(body, `Msec":0`)
}

func TestDialects(t *testing.T) {
	const metricsQL = `{"status":"success","data":{"resultType":"vector","result":[]},"stats":{"seriesFetched": "0","executionTimeMsec":0}}`
	c := &canned{}
	ask := func(h http.Handler, method, target string, body ...string) string {
		r := httptest.NewRequest(method, target, strings.NewReader(strings.Join(body, "")))
		if len(body) > 0 {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			return w.Body.String()
		}
		if strings.Contains(w.Body.String(), "seriesFetched") {
			require.Equal(t, metricsQL, withoutTime(w.Body.String()))
			return "metricsql"
		}
		return "promql"
	}
	h := withCanned(t, c)
	require.Equal(t, "promql", ask(h, "GET", "/api/v1/query?query=or1"))
	require.Equal(t, "promql", ask(h, "GET", "/api/v1/query?query=or1&dialect=promql"))
	require.Equal(t, "metricsql", ask(h, "GET", "/api/v1/query?query=or1&dialect=metricsql"))
	require.Equal(t, "metricsql", ask(h, "POST", "/api/v1/query?dialect=metricsql", "query=or1"))
	require.Equal(t, "metricsql", ask(h, "POST", "/api/v1/query", "query=or1&dialect=metricsql"))
	require.Equal(t, "metricsql", ask(h, "GET", "/metricsql/api/v1/query?query=or1"))
	require.Equal(t, "promql", ask(h, "GET", "/metricsql/api/v1/query?query=or1&dialect=promql"))
	require.Contains(t, ask(h, "GET", "/api/v1/query?query=or1&dialect=logql"), `a dialect is promql or metricsql, got \"logql\"`)
	require.Equal(t, http.StatusMethodNotAllowed, do(h, "DELETE", "/metricsql/api/v1/query").Code)
	require.Equal(t, http.StatusNotFound, do(h, "GET", "/metricsql/api/v1/nothing").Code)
	require.Equal(t, http.StatusNotFound, do(h, "GET", "/metricsq%6C/api/v1/query?query=or1").Code)

	h = withCanned(t, c, func(o *Options) { o.Dialect = MetricsQL })
	require.Equal(t, "metricsql", ask(h, "GET", "/api/v1/query?query=or1"))
	require.Equal(t, "metricsql", ask(h, "GET", "/metricsql/api/v1/query?query=or1"))
	require.Equal(t, "promql", ask(h, "GET", "/api/v1/query?query=or1&dialect=promql"))

	for _, o := range []Options{{Dialect: "logql"}, {LatencyOffset: -1}} {
		require.Error(t, o.Validate())
	}

	mux := http.NewServeMux()
	newAPI(t, func(o *Options) { c.Engine = o.Engine; o.Engine = c }).Register(mux, "/prometheus")
	require.Equal(t, "promql", ask(mux, "GET", "/prometheus/api/v1/query?query=or1"))
	require.Equal(t, "metricsql", ask(mux, "GET", "/prometheus/metricsql/api/v1/query?query=or1"))
}

func TestVMArguments(t *testing.T) {
	c := &canned{}
	h := withCanned(t, c)
	now := int64(apitest.Base + 1000_000)
	f := func(target string, want promqlx.MetricsQLQuery) {
		t.Helper()
		w := do(h, "GET", "/metricsql/api/v1/"+target)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		want.Client, c.asked.Trace = "192.0.2.1:1234", nil
		require.Equal(t, want, c.asked)
	}
	f("query?query=m", promqlx.MetricsQLQuery{Text: "m", Instant: true, Start: now, End: now, Step: 300_000, RoundDigits: 100})
	f("query?query=m&time=now-1m&step=1m&max_lookback=30s&nocache=1&round_digits=-2",
		promqlx.MetricsQLQuery{Text: "m", Instant: true, Start: now - 60_000, End: now - 60_000, Step: 60_000, Lookback: 30_000, NoCache: true, RoundDigits: -2})
	f("query?query=m&time=5&max_lookback=30s&round_digits=x",
		promqlx.MetricsQLQuery{Text: "m", Instant: true, Start: 5000, End: 5000, Step: 30_000, Lookback: 30_000, RoundDigits: 100})
	f("query_range?query=m", promqlx.MetricsQLQuery{Text: "m", Start: now - 300_000, End: now, Step: 300_000, RoundDigits: 100})
	f("query_range?query=m&start=100&end=50&step=1.5&extra_label=a=b",
		promqlx.MetricsQLQuery{Text: "m", Start: 100_000, End: 50_000, Step: 1500, RoundDigits: 100, Filters: [][]*labels.Matcher{{labels.MustNewMatcher(labels.MatchEqual, "a", "b")}}})
	require.Zero(t, c.within)
	do(h, "GET", "/metricsql/api/v1/query?query=m&timeout=1m")
	require.InDelta(t, time.Minute, c.within, float64(10*time.Second))

	bad := func(target, want string) {
		t.Helper()
		w := do(h, "GET", "/metricsql/api/v1/"+target)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		require.Equal(t, `{"status":"error","errorType":"422","error":"`+want+`"}`, w.Body.String())
	}
	bad("query", "missing `query` arg")
	bad("query?query=m&time=x", `cannot parse time=x: cannot parse duration \"x\"`)
	bad("query?query=m&step=0", "step=0ms is out of allowed range [1ms ... 3153600000000ms]")
	bad("query?query=m&latency_offset=x", `cannot parse \"latency_offset\"=\"x\": cannot parse duration \"x\"`)
	bad("query?query=m&extra_label=x", "`extra_label` query arg must have the format `name=value`; got \\\"x\\\"")
	bad("query?query="+strings.Repeat("m", 16385), "too long query; got 16385 bytes; mustn\\u0027t exceed `-search.maxQueryLen=16384` bytes")
	bad("query_range?query=m&start=1&end=2&step=5&max_lookback=x",
		`error when executing query=\"m\" on the time range (start=1000, end=2000, step=5000): cannot parse \"max_lookback\"=\"x\": cannot parse duration \"x\"`)
}

func TestVMErrors(t *testing.T) {
	f := func(err error, code int, want string) {
		t.Helper()
		w := do(withCanned(t, &canned{out: promqlx.MetricsQLResult{Err: err}}), "GET", "/metricsql/api/v1/query?query=m")
		require.Equal(t, code, w.Code)
		require.Equal(t, want, w.Body.String())
	}
	f(errors.New("a<b"), 422, `{"status":"error","errorType":"422","error":"a\u003cb"}`)
	f(context.DeadlineExceeded, 503, `{"status":"error","errorType":"503","error":"context deadline exceeded"}`)
	f(&promqlx.QueueError{Needs: 300 << 20, Limit: 512 << 20}, 503,
		`{"status":"error","errorType":"503","error":"query timed out in query queue: waited for 300 MiB of memory (limit of all queries: 512 MiB, --query.max-memory)"}`)
}

func TestVMAnswers(t *testing.T) {
	nan := math.NaN()
	f := func(out promqlx.MetricsQLResult, want string) {
		t.Helper()
		w := do(withCanned(t, &canned{out: out}), "GET", "/metricsql/api/v1/query?query=m&time=1")
		require.Equal(t, "application/json", w.Header().Get("Content-Type"))
		require.Equal(t, `{"status":"success","data":{"resultType":`+want+"}", withoutTime(w.Body.String()))
	}
	const stats = `,"stats":{"seriesFetched": "3","executionTimeMsec":0}`
	a := promqlx.MetricsQLSeries{Name: "a", Tags: []promqlx.MetricsQLTag{{Key: "z", Value: "<1>"}, {Key: "b", Value: ""}}}
	with := func(s promqlx.MetricsQLSeries, values ...float64) promqlx.MetricsQLSeries {
		s.Values = values
		return s
	}
	none := promqlx.MetricsQLSeries{}
	f(promqlx.MetricsQLResult{Start: 1500, SeriesFetched: 3, Series: []promqlx.MetricsQLSeries{with(a, 1e-7), with(a, nan), with(none, math.Copysign(0, -1)), with(none)}},
		`"vector","result":[{"metric":{"__name__":"a","z":"\u003c1>","b":""},"value":[1.5,"0.0000001"]},{"metric":{},"value":[1.5,"0"]}]}`+stats)
	f(promqlx.MetricsQLResult{SeriesFetched: 3}, `"vector","result":[]}`+stats)
	f(promqlx.MetricsQLResult{Kind: promqlx.MetricsQLMatrix, Start: 990, Step: 60010, SeriesFetched: 3, Series: []promqlx.MetricsQLSeries{
		with(none, nan, nan, nan), with(a, 1, nan, math.Inf(1)), with(none, nan, nan, 1<<60),
	}}, `"matrix","result":[{"metric":{"__name__":"a","z":"\u003c1>","b":""},"values":[[0.99,"1"],[121.01,"+Inf"]]},{"metric":{},"values":[[121.01,"1152921504606846976"]]}]}`+stats)
	raw := with(a, 1, nan)
	raw.Times = []int64{1, 2000}
	f(promqlx.MetricsQLResult{Kind: promqlx.MetricsQLRaw, Series: []promqlx.MetricsQLSeries{raw}},
		`"matrix","result":[{"metric":{"__name__":"a","z":"\u003c1>","b":""},"values":[[0.001,"1"],[2,"NaN"]]}]}`)

	w := do(withCanned(t, &canned{}), "GET", "/metricsql/api/v1/query?query=m&trace=1")
	require.Regexp(t, `"executionTimeMsec":\d+},"trace":\{"duration_msec":.*"encode.*\}$`, w.Body.String())
}

// A long answer leaves in pieces and is the same.
func TestLongVMAnswer(t *testing.T) {
	out := promqlx.MetricsQLResult{Kind: promqlx.MetricsQLMatrix, Start: 0, Step: 60_500}
	var want strings.Builder
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		values := make([]float64, 20_000)
		want.WriteString(`{"metric":{},"values":[`)
		for k := range values {
			if values[k] = rnd.NormFloat64(); k%7 == 3 {
				values[k] = math.NaN()
				continue
			}
			if k > 0 {
				want.WriteByte(',')
			}
			want.Write(vmhttp.AppendPoint(nil, int64(k)*60_500, values[k]))
		}
		want.WriteString(`]},`)
		out.Series = append(out.Series, promqlx.MetricsQLSeries{Values: values})
	}
	w := do(withCanned(t, &canned{out: out}), "GET", "/metricsql/api/v1/query_range?query=m")
	require.Equal(t, `{"status":"success","data":{"resultType":"matrix","result":[`+strings.TrimSuffix(want.String(), ",")+
		`]},"stats":{"seriesFetched": "0","executionTimeMsec":0}}`, withoutTime(w.Body.String()))
}

func TestAppendVMNumber(t *testing.T) {
	check := func(v float64) {
		require.Equal(t, string(vmhttp.AppendNumber(nil, v)), string(appendVMNumber(nil, v)))
	}
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 1e-6, 9.9e-7, 1 << 53, 1<<53 - 1, 1 << 60, 1 << 63, -1 << 63, 1e21, 1e300, 5e-324, math.NaN(), math.Inf(1), math.Inf(-1), 0.1, 1.005, 123456.789} {
		check(v)
		check(-v)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		check(math.Float64frombits(rnd.Uint64()))
		check(float64(rnd.IntN(1e9)) / 1000)
		check(rnd.NormFloat64())
	}
}

func TestLatencyOffset(t *testing.T) {
	now := int64(apitest.Base + 1000_000)
	c := &canned{out: promqlx.MetricsQLResult{Start: now, Series: []promqlx.MetricsQLSeries{{Values: []float64{1}}}}}
	h := withCanned(t, c, func(o *Options) { o.LatencyOffset = 30 * time.Second })
	f := func(args string, start int64) {
		t.Helper()
		w := do(h, "GET", "/metricsql/api/v1/query?query="+args)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Equal(t, start, c.asked.Start)
		// The answer is of the time that was asked for.
		require.Contains(t, w.Body.String(), `"value":[`+string(vmhttp.AppendSeconds(nil, now+asked(args, now)-start)))
	}
	f("m", now-30_000)
	f("m&time=now-10s", now-30_000)
	f("m&time=now-31s", now-31_000)
	f("m&nocache=1", now)
	f("m&latency_offset=5s", now-5000)
	f("m[5m]", now)
	f("sum(m)[5m:1m]", now)
}

// asked is the time that arguments ask for.
func asked(args string, now int64) int64 {
	form, err := url.ParseQuery("query=" + args)
	if err != nil {
		panic(err)
	}
	t, err := vmhttp.Time(form, "time", now, time.UnixMilli(now))
	if err != nil {
		panic(err)
	}
	return t
}

func TestRepeatLast(t *testing.T) {
	nan := math.NaN()
	f := func(from, end int64, values []float64, want ...float64) {
		t.Helper()
		r := &promqlx.MetricsQLResult{Start: 1000, Step: 1000, Series: []promqlx.MetricsQLSeries{{Values: values}}}
		repeatLast(r, from, end)
		require.InDeltaSlice(t, want, r.Series[0].Values, 0)
	}
	f(2000, 9000, []float64{1, 2, 3, 4}, 1, 2, 2, 2)
	f(2500, 9000, []float64{1, 2, 3, 4}, 1, 2, 2, 2)
	f(4000, 9000, []float64{1, 2, 3, 4}, 1, 2, 3, 4)
	f(0, 9000, []float64{1, 2}, nan, nan)
	f(2000, 3999, []float64{1, 2, 3, 4}, 1, 2, 3, 4) // there are steps behind
	f(2000, 9000, nil)
}
