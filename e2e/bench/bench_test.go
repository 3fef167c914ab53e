package main

import (
	"errors"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
	"github.com/varvedb/varve/e2e/tsbs"
)

func TestCutCountsLines(t *testing.T) {
	text := tsbs.Options{Hosts: 3, Span: 40_000 * time.Second}.Lines()
	l, err := cut(text)
	require.NoError(t, err)
	require.Equal(t, int64(3*4000*10), l.samples)
	require.Len(t, l.batches, 2)
	require.Equal(t, 3, l.hosts)
	require.Len(t, l.metrics, 10)
	require.Equal(t, "cpu_usage_user", l.metrics[0])
	require.Equal(t, int64(1451606400000), l.first)
	require.Equal(t, int64(1451606400000+3999*10_000), l.last)
	var joined []byte
	var samples int64
	w := l.workload()
	for b := w.next(0); len(b.bytes) > 0; b = w.next(1) {
		joined, samples = append(joined, b.bytes...), samples+b.samples
	}
	require.Equal(t, text, joined)
	require.Equal(t, l.samples, samples)
	_, err = cut([]byte("a b\n"))
	require.Error(t, err)
}

// What the Influx door makes of a line, and nothing else, is in the request.
func TestLinesToRequest(t *testing.T) {
	raw := linesToRequest([]byte("cpu,b=2,Z=1 u=3i,v=-0.5 10000000\ncpu,b=3 u=4i 20000000\ncpu,b=2,Z=1 u=5i 30000000\n"))
	var got prompb.WriteRequest
	require.NoError(t, got.Unmarshal(raw))
	series := func(samples []prompb.Sample, pairs ...string) prompb.TimeSeries {
		return prompb.TimeSeries{Labels: harness.PB(pairs...), Samples: samples}
	}
	require.Equal(t, []prompb.TimeSeries{
		series([]prompb.Sample{{Timestamp: 10, Value: 3}, {Timestamp: 30, Value: 5}}, "Z", "1", "__name__", "cpu_u", "b", "2"),
		series([]prompb.Sample{{Timestamp: 10, Value: -0.5}}, "Z", "1", "__name__", "cpu_v", "b", "2"),
		series([]prompb.Sample{{Timestamp: 20, Value: 4}}, "__name__", "cpu_u", "b", "3"),
	}, got.Timeseries)
}

// Every server is asked the same, never twice, and always within the data.
func TestRequests(t *testing.T) {
	const first, last = 1451606400_000, 1451606400_000 + 86_390_000
	for _, q := range promqlShapes() {
		seen := map[string]bool{}
		for i := range 100 {
			path := q.request(i, first, last)
			require.Equal(t, path, q.request(i, first, last))
			u, err := url.Parse(path)
			require.NoError(t, err)
			from, to := u.Query().Get("start"), u.Query().Get("end")
			if q.over == 0 {
				from, to = u.Query().Get("time"), u.Query().Get("time")
			}
			require.GreaterOrEqual(t, from, "1451607000")
			require.LessOrEqual(t, to, "1451692790")
			seen[path] = true
		}
		require.Greater(t, len(seen), 95, q.name)
	}
}

// Nothing but the budget's own error may stand for an answer.
func TestVerdicts(t *testing.T) {
	say := func(status int, body string) heavyAnswer { return heavyAnswer{status, []byte(body)} }
	answer := func(v string) heavyAnswer {
		return say(200, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1,"`+v+`"]}]}}`)
	}
	budget := say(422, `{"status":"error","errorType":"execution","error":"query needs 9 GiB of memory"}`)
	var v verdicts
	v.judge(answer("1"), answer("1"))
	v.judge(answer("1"), say(200, strings.ReplaceAll(string(answer("1").body), ":", ": ")))
	v.judge(answer("1"), budget)
	v.judge(answer("1"), answer("2"))
	v.judge(budget, budget)
	v.judge(budget, answer("2")) // nobody knows better
	v.judge(answer("1"), say(422, `{"status":"error","errorType":"execution","error":"too many samples"}`))
	v.judge(answer("1"), say(503, `{"status":"error","errorType":"timeout","error":"no"}`))
	v.judge(answer("1"), say(200, `{"status":`))
	v.last = ""
	require.Equal(t, verdicts{right: 3, overBudget: 2, wrong: 2, failed: 2}, v)
}

func TestPercentile(t *testing.T) {
	var ds []time.Duration
	for i := range 200 {
		ds = append(ds, time.Duration((i*7)%200+1))
	}
	require.Equal(t, time.Duration(198), percentile(ds, 0.99))
	require.Equal(t, time.Duration(100), median(ds))
	require.Equal(t, time.Duration(7), percentile([]time.Duration{7}, 0.99))
	require.Zero(t, percentile(nil, 0.99))
}

// The mean of ratios is the ratio of the means, of the shapes that count and
// that all were answered.
func TestShapeFigures(t *testing.T) {
	shapes := []shape{{name: "a"}, {name: "b"}, {name: "c", aside: true}}
	of := func(a asked) float64 { return float64(a.bytes) }
	f := shapeFigures(shapes, []asked{{queries: 1, bytes: 2}, {queries: 1, bytes: 8}, {queries: 1, bytes: 100}}, of)
	require.InDelta(t, 4, f["mean"], 1e-9)
	require.Equal(t, 100.0, f["c"])
	f = shapeFigures(shapes, []asked{{queries: 1, bytes: 2}, {failed: errors.New("no")}, {queries: 1}}, of)
	require.NotContains(t, f, "mean")
	require.NotContains(t, f, "b")
}

func TestParseProc(t *testing.T) {
	u, err := parseStat("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 25 0 0\n")
	require.NoError(t, err)
	require.Equal(t, usage{1500 * time.Millisecond, 250 * time.Millisecond}, u)
	_, err = parseStat("12 (a")
	require.Error(t, err)
	now, peak, err := parseStatus("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n")
	require.NoError(t, err)
	require.Equal(t, int64(1<<20), now)
	require.Equal(t, int64(2<<20), peak)
	_, _, err = parseStatus("VmRSS:\t12 kB\n")
	require.Error(t, err)
}

func TestTable(t *testing.T) {
	rows := []row{
		{key: "cpu", title: "cpu", bar: atMostOf("rival", 0.5)},
		{key: "disk", title: "disk", digits: 2, bar: atMost(0.3)},
		{key: "gone", title: "only there", bar: atMostOf("absent", 1)},
	}
	own := medians([]figures{{"cpu": 30, "disk": 1}, {"cpu": 10, "disk": 0.25}, {"cpu": 20, "disk": 0.5}})
	tab := table{title: "what", runs: 3, servers: []column{{"varve", own}, {"rival", figures{"cpu": 40, "gone": 1}}}}
	var out strings.Builder
	tab.print(&out, rows)
	require.Equal(t, strings.TrimPrefix(`
medians of 3 runs
what        varve  rival  varve/rival  bar
cpu            20     40        0.500  <= 0.500 of rival   holds
disk         0.50      -            -  <= 0.3              MISSED
only there      -      1            -  <= 1.000 of absent
`, "\n"), out.String())
}

func TestGoBenchTable(t *testing.T) {
	names, measured, err := parseBenchmarks([]byte(`goos: linux
BenchmarkMatchers/short/head/off/n="1"-2     10  24475 ns/op  100 cpu-ns/op  9 x-rival
BenchmarkMatchers/short/head/off/n="1"-2     10  24475 ns/op  300 cpu-ns/op  11 x-rival
BenchmarkMatchers/short/head/off/n="1"-2     10  24475 ns/op  200 cpu-ns/op  12 x-rival
BenchmarkMatchers/long/head/off/n="1"-2      10  24475 ns/op  1e4 cpu-ns/op  0.9 x-rival
BenchmarkMatchers/short/head/all/n="1"-2     10  24475 ns/op  1e4 cpu-ns/op  0.9 x-rival
BenchmarkMatchers/short/head/off/i=~".*"-2   10  24475 ns/op  2001 cpu-ns/op  0.9 x-rival
BenchmarkHandOver-2   10  2001 ns/op
BenchmarkMatchers/short/head/size-2          10  1 ns/op  399 MiB
PASS
`))
	require.NoError(t, err)
	require.Equal(t, strings.TrimPrefix(`
index, 5 M series                   ns/op  cpu-ns/op  x-rival     MiB  bar
Matchers/short/head/off/n="1"    24475.00     200.00    11.00       -  >= 10 x or <= 1000 ns  holds
Matchers/long/head/off/n="1"     24475.00   10000.00     0.90       -  >= 1 x                 MISSED
Matchers/short/head/all/n="1"    24475.00   10000.00     0.90       -
Matchers/short/head/off/i=~".*"  24475.00    2001.00     0.90       -
HandOver                          2001.00          -        -       -  <= 2000 ns             MISSED
Matchers/short/head/size             1.00          -        -  399.00  <= 400 MiB             holds
`, "\n"), indexBench.table(names, measured))
}

// Questions come from the generator with the answers that are known, or from a file;
// those that rivals are not asked are always made.
func TestPhases(t *testing.T) {
	made, err := tsbsPhases("", tsbs.Options{}, true, 20)
	require.NoError(t, err)
	require.Len(t, made, 15)
	for i, p := range made {
		require.Equal(t, i < 11, p.rivals, p.name)
		require.Len(t, p.questions, map[bool]int{true: 20, false: 2}[p.rivals])
		for _, q := range p.questions {
			require.Equal(t, p.rivals, q.Sum != "", q.Path)
		}
	}
	path := filepath.Join(t.TempDir(), "questions.tsv")
	require.NoError(t, os.WriteFile(path, []byte("cpu-max-all-8\t/a\ncpu-max-all-1\t0\tabc\t12\t/b\ncpu-max-all-8\t/c\n"), 0o600))
	read, err := tsbsPhases(path, tsbs.Options{}, true, 20)
	require.NoError(t, err)
	require.Equal(t, []phase{
		{"cpu-max-all-8", 1.0 / 6, true, []tsbs.Answer{{Type: "cpu-max-all-8", Path: "/a"}, {Type: "cpu-max-all-8", Path: "/c"}}},
		{"cpu-max-all-1", 1.0 / 3, true, []tsbs.Answer{{Type: "cpu-max-all-1", Path: "/b", Sum: "abc"}}},
	}, read[:2])
	require.Equal(t, made[11:], read[2:])
	require.NoError(t, os.WriteFile(path, []byte("no tab\n"), 0o600))
	_, err = tsbsPhases(path, tsbs.Options{}, true, 20)
	require.ErrorContains(t, err, "line 1 has 1 fields")
}
