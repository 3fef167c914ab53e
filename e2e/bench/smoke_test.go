package main

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/tsbs"
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
	c.askFor, c.asks, c.rate = 100*time.Millisecond, 1, 20_000
	lines, err := cut(tsbs.Options{Hosts: 10, Span: 5000 * time.Second}.Lines())
	require.NoError(t, err)
	t.Run("heavy", func(t *testing.T) {
		text, err := c.heavy(lines, heavyShapes(), 300*time.Millisecond)
		require.NoError(t, err)
		require.Regexp(t, `answered otherwise +0 +<= 0 +holds`, text)
		require.Regexp(t, `failed otherwise +0 +<= 0 +holds`, text)
	})
	t.Run("tsbs-queries", func(t *testing.T) {
		o := tsbs.Options{Hosts: 10, Span: 13 * time.Hour}
		lines, err := cut(o.Lines())
		require.NoError(t, err)
		phases, err := tsbsPhases("", o, false, 3)
		require.NoError(t, err)
		require.Len(t, phases, 15)
		text, err := c.tsbsQueries(lines, phases)
		require.NoError(t, err)
		for _, p := range phases {
			require.Regexp(t, `(?m)^`+p.name+` +[0-9.]+`, text)
		}
	})
	t.Run("promql", func(t *testing.T) {
		if testing.Short() {
			t.Skip("needs a Prometheus")
		}
		shapes := promqlShapes()
		text, err := c.promql(lines, shapes)
		require.NoError(t, err)
		require.Regexp(t, fmt.Sprintf(`answers compared with Prometheus' +%d`, comparedAnswers*len(shapes)), text)
		require.Regexp(t, `different in any text +0 .*holds`, text)
		require.NotContains(t, text, "cannot answer")
	})
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
