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
