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

// deviations are the facts that do not hold, by id, and why.
var deviations = map[string]string{}

// factsRun is one replay of facts.
type factsRun struct {
	held, total map[string]int // by group
	failed      []string       // what is to be told of those that do not hold
	fetched     int            // answers that tell of as many series fetched
}

func replayFacts(h http.Handler, facts []*vmFact) *factsRun {
	run := &factsRun{held: map[string]int{}, total: map[string]int{}}
	for _, f := range facts {
		run.total[f.Group]++
		got, err := f.replay(h)
		if seriesFetched(got) == seriesFetched(f.Body) {
			run.fetched++
		}
		if known := deviations[f.ID] != ""; (err != nil) == known {
			run.held[f.Group]++
			continue
		}
		cut := func(s string) string { return s[:min(len(s), 600)] }
		run.failed = append(run.failed, fmt.Sprintf("%s %s %s\n  why  %v\n  got  %s\n  want %s",
			f.ID, f.Endpoint, f.Params.Encode(), err, cut(got), cut(f.Body)))
	}
	return run
}

// replay asks h and compares the answer.
func (f *vmFact) replay(h http.Handler) (got string, err error) {
	w := getFrom(h, f.path())
	got = w.Body.String()
	if w.Code != f.Status {
		return got, fmt.Errorf("status %d, want %d", w.Code, f.Status)
	}
	return got, sameAnswer(f.Compare, got, f.Body)
}

// counts tells how many hold, group by group.
func (run *factsRun) counts() string {
	var b strings.Builder
	held, total := 0, 0
	for _, name := range slices.Sorted(maps.Keys(run.total)) {
		fmt.Fprintf(&b, "%-40s %4d %4d\n", name, run.held[name], run.total[name])
		held, total = held+run.held[name], total+run.total[name]
	}
	fmt.Fprintf(&b, "%-40s %4d %4d\n", "all", held, total)
	return b.String()
}

// staleMarker is the NaN that ends a series.
func staleMarker() float64 { return math.Float64frombits(value.StaleNaN) }

// The recorded answers are ours too, whether the samples are in memory or in parts.
// FACTS_REPORT names a file to write the counts and all failures to.
func TestMetricsQLFacts(t *testing.T) {
	var facts []*vmFact
	readLines(t, "testdata/metricsql/facts.jsonl.gz", func(line []byte) {
		f := &vmFact{}
		require.NoError(t, json.Unmarshal(line, f))
		facts = append(facts, f)
	})
	require.Len(t, facts, 4892)
	if raceDetector { // a part will do to find races
		facts = everyTenth(facts)
	}
	db, h := vmDoor(t)
	recent := replayFacts(h, facts)
	require.NoError(t, db.ForceFlush(t.Context()))
	flushed := replayFacts(h, facts)
	if report := os.Getenv("FACTS_REPORT"); report != "" {
		all := slices.Concat([]string{recent.counts()}, recent.failed, []string{"in parts:", flushed.counts()}, flushed.failed)
		require.NoError(t, os.WriteFile(report, []byte(strings.Join(all, "\n")), 0o644))
	}
	// How many series are fetched is not of the contract, and parts can tell better than
	// VictoriaMetrics which have samples in a range.
	require.Len(t, facts, recent.fetched)
	require.InDelta(t, len(facts), flushed.fetched, 1)
	for where, run := range map[string]*factsRun{"memory": recent, "parts": flushed} {
		if n := len(run.failed); n > 0 {
			t.Errorf("in %s %d facts do not hold:\n%s\n%s", where, n, strings.Join(run.failed[:min(n, 5)], "\n"), run.counts())
		}
	}
}

func everyTenth(facts []*vmFact) (some []*vmFact) {
	for i := 0; i < len(facts); i += 10 {
		some = append(some, facts[i])
	}
	return some
}
