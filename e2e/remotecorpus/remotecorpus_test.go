package remotecorpus

import (
	"bufio"
	"bytes"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	sampled  = prompb.ReadRequest_SAMPLES
	streamed = prompb.ReadRequest_STREAMED_XOR_CHUNKS
)

func TestSampled(t *testing.T)  { check(t, sampled, sampledFailures) }
func TestStreamed(t *testing.T) { check(t, streamed, streamedFailures) }

// TestServer runs the corpus against the real server, all of it in one store.
func TestServer(t *testing.T) {
	if testing.Short() {
		t.Skip("the same doors in another process")
	}
	v := harness.StartVarve(t)
	check(t, sampled, sampledFailures, serverVariable+"="+v.URL, numberVariable+"=0")
	v.Flush(t)
	v.Merge(t)
	check(t, streamed, streamedFailures, serverVariable+"="+v.URL, numberVariable+"=1000000")
	v.Stop(t)
}

// TestUpstream checks that what is expected to fail fails with Prometheus' own
// store and doors as well.
func TestUpstream(t *testing.T) {
	if testing.Short() {
		t.Skip("checks the tables, not varve")
	}
	for form, groups := range map[prompb.ReadRequest_ResponseType][]group{sampled: sampledFailures, streamed: streamedFailures} {
		failed := runCorpus(t, form, upstreamVariable+"=1")
		for at, reason := range table(groups) {
			if !failed[at] {
				t.Errorf("%s: %s passes with Prometheus, but is expected to fail: %s", form, at, reason)
			}
		}
	}
}

func check(t *testing.T, form prompb.ReadRequest_ResponseType, groups []group, env ...string) {
	t.Helper()
	expected := table(groups)
	failed := runCorpus(t, form, env...)
	for _, at := range slices.Sorted(maps.Keys(failed)) {
		if expected[at] == "" {
			t.Errorf("%s fails", at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(expected)) {
		if !failed[at] {
			t.Errorf("%s passes, but is expected to fail: %s", at, expected[at])
		}
	}
}

// The variables tell the process that runs the corpus which form to read, and
// to run it on Prometheus' own store and doors, or on a running server with
// stores numbered from a number on.
const (
	childVariable    = "VARVE_REMOTECORPUS_FORM"
	upstreamVariable = "VARVE_REMOTECORPUS_UPSTREAM"
	serverVariable   = "VARVE_REMOTECORPUS_SERVER"
	numberVariable   = "VARVE_REMOTECORPUS_NUMBER"
)

// TestChild is the corpus itself. It runs in a process of its own because some
// of its subtests are expected to fail.
func TestChild(t *testing.T) {
	value, ok := prompb.ReadRequest_ResponseType_value[os.Getenv(childVariable)]
	if !ok {
		t.Skip("runs below the other tests")
	}
	form := prompb.ReadRequest_ResponseType(value)
	open := func(dir string) (*Storage, error) { return Open(dir, form) }
	if os.Getenv(upstreamVariable) != "" {
		open = func(string) (*Storage, error) { return OpenUpstream(form) }
	}
	if url := os.Getenv(serverVariable); url != "" {
		number, err := strconv.ParseInt(os.Getenv(numberVariable), 10, 64)
		require.NoError(t, err)
		open = func(string) (*Storage, error) {
			number++
			return OpenServer(url, number, form)
		}
	}
	engine := promqltest.NewTestEngine(t, false, 0, promqltest.DefaultMaxSamplesPerQuery)
	promqltest.RunBuiltinTestsWithStorage(t, engine, func(tb testing.TB) storage.Storage {
		s, err := open(tb.TempDir())
		require.NoError(tb, err)
		return s
	})
}

// evalLine is the report of one eval: file/line_N/expression.
var evalLine = regexp.MustCompile(`^ {8}--- (PASS|FAIL): TestChild/testdata/([^/]+\.test)/line_(\d+)/`)

// runCorpus runs the corpus in a process of its own and returns the evals that
// failed, as "file:line".
func runCorpus(t *testing.T, form prompb.ReadRequest_ResponseType, env ...string) map[string]bool {
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v", "-test.timeout=20m")
	cmd.Env = append(append(os.Environ(), childVariable+"="+form.String()), env...)
	out, _ := cmd.CombinedOutput() // its exit code follows from the reports
	passed, failed := 0, map[string]bool{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		m := evalLine.FindStringSubmatch(lines.Text())
		switch {
		case m == nil:
		case m[1] == "PASS":
			passed++
		default:
			failed[m[2]+":"+m[3]] = true
		}
	}
	require.NoError(t, lines.Err())
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	require.Equal(t, len(exprs), passed+len(failed), "evals that reported; the last output:\n%s", tail(string(out), 10<<10))
	t.Logf("%s: %d of %d evals pass", form, passed, len(exprs))
	return failed
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
