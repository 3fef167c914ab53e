package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCutCountsLines(t *testing.T) {
	text := appendTSBS(nil, 3, 4000)
	require.Equal(t, text, appendTSBS(nil, 3, 4000), "made-up lines are the same every time")
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
