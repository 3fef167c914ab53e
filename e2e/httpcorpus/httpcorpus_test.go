package httpcorpus

import (
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/corpus"
	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestHTTP(t *testing.T) { run(t, false) }

// TestHTTPMerged asks for samples in merged parts.
func TestHTTPMerged(t *testing.T) {
	if testing.Short() {
		t.Skip("the same samples on disk")
	}
	run(t, true)
}

// run has every eval of the corpus answered by a server that has what the eval's
// file has loaded since it was cleared, and nothing else.
func run(t *testing.T, merge bool) {
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	require.Greater(t, len(exprs), 2000)
	upstream := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	e := newEngine(t)
	next := launch(t)
	promqltest.RunBuiltinTestsWithStorage(t, e, func(tb testing.TB) storage.Storage {
		server := next
		next = launch(t) // which takes its time to start, while this one is asked
		server.WaitReady(tb)
		return newStorage(tb, upstream, server, merge)
	})
	next.Kill()
	asked := 0
	for _, n := range e.asked {
		asked += n
	}
	t.Logf("%d evals of %d executed over HTTP, in %d queries: %d answers equal, %d when Prometheus was asked anew, %d with count_values in another order",
		e.executed(exprs), len(exprs), asked, e.equal, e.chance, e.moved)
	require.Equal(t, len(exprs), e.executed(exprs), "evals asked, of those the module has")
	require.Equal(t, asked, e.equal+e.moved+e.chance, "answers that are the same, of all")
}

// launch starts a server set up as the engine of the corpus is.
func launch(t *testing.T) *harness.Varve {
	o := corpus.Options()
	return harness.LaunchVarve(t, "--enable-feature="+strings.Join(o.EnabledFeatures, ","),
		"--query.max-samples=10000", "--query.timeout=100s", "--storage.wal-sync=off")
}
