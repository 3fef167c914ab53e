package server

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// complianceSuite is the module of the receiver tests of prometheus/compliance.
const complianceSuite = "github.com/prometheus/complicance/remotewrite2"

// The suite of prometheus/compliance for remote write receivers passes, and what
// it sent can be read.
func TestReceiverCompliance(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles Prometheus' configuration")
	}
	// The suite needs the version of Prometheus' packages that it names, so it
	// runs as a module of its own.
	suite := filepath.Join(t.TempDir(), "suite")
	require.NoError(t, os.CopyFS(suite, os.DirFS(harness.ModuleDir(t, complianceSuite))))
	v := harness.StartVarve(t)
	config := filepath.Join(t.TempDir(), "config.yml")
	require.NoError(t, os.WriteFile(config, []byte("remote_write:\n  - name: varve\n    url: "+v.URL+"/api/v1/write\n"), 0o600))
	cmd := exec.Command("go", "test", "-count=1", "-v", ".")
	cmd.Dir = suite
	cmd.Env = append(os.Environ(), "GOWORK=off", "PROMETHEUS_RW2_COMPLIANCE_CONFIG_FILE="+config)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	passed := regexp.MustCompile(`(?m)^ *--- PASS: .*/varve `).FindAll(out, -1)
	require.Greater(t, len(passed), 50)
	require.NotContains(t, string(out), "--- SKIP")
	t.Logf("%d tests of the suite pass", len(passed))
	inEveryState(t, v, func(t *testing.T) { readBackSuite(t, v) })
}

// readBackSuite checks that every kind of data which the suite sends is stored:
// floats, native histograms of both kinds and exemplars.
func readBackSuite(t *testing.T, v *harness.Varve) {
	floats, histograms := 0, 0
	for _, s := range v.RemoteRead(t, harness.Streamed, 0, 1<<45, harness.Neq("__name__", "")) {
		require.NotEmpty(t, s.Points, s.Labels.String())
		if s.Points[0].H != nil {
			histograms++
		} else {
			floats++
		}
	}
	t.Logf("%d float series, %d histogram series", floats, histograms)
	require.Greater(t, floats, 20)
	require.Greater(t, histograms, 5)
	var exemplars []struct {
		SeriesLabels map[string]string
		Exemplars    []struct{ Labels map[string]string }
	}
	v.Get(t, "/api/v1/query_exemplars", "query", `{__name__!=""}`, "start", "0", "end", "9999999999").Data(t, &exemplars)
	require.NotEmpty(t, exemplars)
	traces := 0
	for _, e := range exemplars {
		for _, x := range e.Exemplars {
			if strings.Contains(strings.ToLower(strings.Join(keys(x.Labels), " ")), "trace") {
				traces++
			}
		}
	}
	require.Positive(t, traces)
}

func keys(m map[string]string) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	return out
}
