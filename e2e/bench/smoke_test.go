package main

import (
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Every bench of servers works, on little data; what it measures is not judged.
func TestBenchesRun(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("figures are read from /proc")
	}
	t.Setenv("BENCH_DIR", t.TempDir())
	t.Setenv("BENCH_SERIES", "1000")
	t.Setenv("BENCH_ACTIVE", "1000")
	for _, name := range []string{"BENCH_VM", "BENCH_PROMETHEUS", "BENCH_BASE", "RUNS"} {
		t.Setenv(name, "")
	}
	c, err := readConfig()
	require.NoError(t, err)
	defer os.RemoveAll(c.dir)
	c.askFor = 100 * time.Millisecond
	lines, err := cut(appendTSBS(nil, 10, 500))
	require.NoError(t, err)
	for name, prepare := range map[string]func(config) (*plan, error){
		"tsbs": func(config) (*plan, error) { return lines.plan("tsbs"), nil },
		"rw":   prepareRemoteWrite, "scale": prepareScale, "churn": prepareChurn, "replay": prepareReplay,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := prepare(c)
			require.NoError(t, err)
			table, err := c.measure(p)
			require.NoError(t, err)
			require.Len(t, table.servers, 1)
			for _, r := range p.rows {
				require.Contains(t, table.servers[0].figures, r.key)
			}
			require.Positive(t, table.servers[0].figures["samples"])
		})
	}
}
