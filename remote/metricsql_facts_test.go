package remote_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/tsdb"
)

// vmFact is a request that VictoriaMetrics was asked and its answer; see
// testdata/metricsql/README.md.
type vmFact struct {
	ID, Group, Endpoint string
	Params              url.Values
	Compare             string
	Status              int
	Body                string
}

// path is where varve is asked.
func (f *vmFact) path() string {
	p := "/metricsql/api/v1/" + f.Endpoint
	if f.Endpoint == "federate" || f.Endpoint == "prettify-query" {
		p = "/metricsql/" + f.Endpoint
	}
	return p + "?" + f.Params.Encode()
}

func readLines(t testing.TB, name string, line func([]byte)) {
	t.Helper()
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	require.NoError(t, err)
	lines := bufio.NewReader(z)
	for {
		text, err := lines.ReadBytes('\n')
		if len(text) > 0 {
			line(text)
		}
		if err == io.EOF {
			return
		}
		require.NoError(t, err)
	}
}

// loadVMData brings the data set in as clients do: by an import, and by remote write
// what has staleness markers.
func loadVMData(t testing.TB, h http.Handler) {
	t.Helper()
	var lines bytes.Buffer
	var write prompb.WriteRequest
	readLines(t, "importer/testdata/data.jsonl.gz", func(line []byte) {
		if !bytes.Contains(line, []byte(`"stale"`)) {
			lines.Write(line)
			return
		}
		var s struct {
			Metric     map[string]string
			Values     []any
			Timestamps []int64
		}
		require.NoError(t, json.Unmarshal(line, &s))
		var series prompb.TimeSeries
		for _, name := range slices.Sorted(maps.Keys(s.Metric)) {
			series.Labels = append(series.Labels, prompb.Label{Name: name, Value: s.Metric[name]})
		}
		for i, v := range s.Values {
			f, ok := v.(float64)
			if !ok {
				f = staleMarker()
			}
			series.Samples = append(series.Samples, prompb.Sample{Timestamp: s.Timestamps[i], Value: f})
		}
		write.Timeseries = append(write.Timeseries, series)
	})
	msg, err := write.Marshal()
	require.NoError(t, err)
	post := func(path, encoding string, body []byte) {
		r := httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
		r.Header.Set("Content-Encoding", encoding)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, http.StatusNoContent, w.Code, w.Body.String())
	}
	post("/api/v1/import", "", lines.Bytes())
	post("/api/v1/write", "snappy", snappy.Encode(nil, msg))
}

// vmDoor is a door over the data set.
func vmDoor(t testing.TB, change ...func(*remote.Options)) (*tsdb.DB, http.Handler) {
	t.Helper()
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(t, err)
	opts := remote.Options{Engine: engine}
	for _, f := range change {
		f(&opts)
	}
	door, err := remote.New(opts)
	require.NoError(t, err)
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	door.Open(db)
	loadVMData(t, door)
	return db, door
}

// group counts the facts of a group.
type group struct{ held, total int }

// factsRun replays all facts.
type factsRun struct {
	groups  map[string]*group
	fetched int // answers that tell as many series as VictoriaMetrics
	failed  []string
}

func (run *factsRun) replay(h http.Handler, f *vmFact) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, f.path(), nil))
	g := run.groups[f.Group]
	if g == nil {
		g = &group{}
		run.groups[f.Group] = g
	}
	g.total++
	got := w.Body.String()
	if seriesFetched(got) == seriesFetched(f.Body) {
		run.fetched++
	}
	why := ""
	if w.Code != f.Status {
		why = fmt.Sprintf("status %d, want %d", w.Code, f.Status)
	} else if err := sameAnswer(f.Compare, got, f.Body); err != nil {
		why = err.Error()
	}
	if why == "" {
		g.held++
		return
	}
	cut := func(s string) string { return s[:min(len(s), 600)] }
	run.failed = append(run.failed, fmt.Sprintf("%s %s %s\n  why  %s\n  got  %s\n  want %s",
		f.ID, f.Endpoint, f.Params.Encode(), why, cut(got), cut(f.Body)))
}

// staleMarker is the NaN that ends a series.
func staleMarker() float64 { return math.Float64frombits(value.StaleNaN) }

// heldFile is the ratchet: how many facts of each group hold.
const heldFile = "testdata/metricsql/held.txt"

func readHeld(t testing.TB) map[string]int {
	t.Helper()
	text, err := os.ReadFile(heldFile)
	require.NoError(t, err)
	held := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var name string
		var n, total int
		_, err := fmt.Sscan(line, &name, &n, &total)
		require.NoError(t, err, line)
		held[name] = n
	}
	return held
}

// The recorded answers are ours too: as many as ever held, whether the samples are in
// memory or in parts.
func TestMetricsQLFacts(t *testing.T) {
	var facts []*vmFact
	readLines(t, "testdata/metricsql/facts.jsonl.gz", func(line []byte) {
		f := &vmFact{}
		require.NoError(t, json.Unmarshal(line, f))
		facts = append(facts, f)
	})
	require.Len(t, facts, 4892)
	db, h := vmDoor(t)
	recent := replayFacts(h, facts)
	require.NoError(t, db.ForceFlush(t.Context()))
	flushed := replayFacts(h, facts)

	rewrite := os.Getenv("GOLDEN_REWRITE") == "1"
	var least map[string]int
	if !rewrite {
		least = readHeld(t)
	}
	var text strings.Builder
	held, total := 0, 0
	for _, name := range slices.Sorted(maps.Keys(recent.groups)) {
		g := recent.groups[name]
		n := min(g.held, flushed.groups[name].held)
		fmt.Fprintf(&text, "%-18s %4d %4d\n", name, n, g.total)
		held, total = held+n, total+g.total
		if !rewrite && n < least[name] {
			t.Errorf("%s: %d of %d facts hold, at least %d did before", name, n, g.total, least[name])
		}
	}
	t.Logf("\n%s%d of %d hold; %d tell as many series", text.String(), held, total, recent.fetched)
	if rewrite {
		require.NoError(t, os.WriteFile(heldFile, []byte(text.String()), 0o644))
	}
	if report := os.Getenv("FACTS_REPORT"); report != "" {
		all := slices.Concat([]string{text.String()}, recent.failed, []string{"--- flushed\n"}, flushed.failed)
		require.NoError(t, os.WriteFile(report, []byte(strings.Join(all, "\n")), 0o644))
	}
}

func replayFacts(h http.Handler, facts []*vmFact) *factsRun {
	run := &factsRun{groups: map[string]*group{}}
	for _, f := range facts {
		run.replay(h, f)
	}
	return run
}
