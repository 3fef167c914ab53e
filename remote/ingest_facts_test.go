package remote_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/tsdb"
)

// ingestFact is a case of testdata/ingest/facts.jsonl; see the README there.
type ingestFact struct {
	ID, Group string
	Requests  []struct {
		Method, Path, Body string
		Base64             []byte `json:"body_b64"`
		Headers            map[string]string
		Status             int
	}
	Match, Times string
	Series       []ingestSeries
	Deviation    string
	VarveStatus  int `json:"varve_status"`
}

// ingestSeries is a line of an export.
type ingestSeries struct {
	Metric     map[string]string `json:"metric"`
	Values     []json.RawMessage `json:"values"`
	Timestamps []int64           `json:"timestamps,omitempty"`
}

// deviatesBadLine is the one way in which an import may answer otherwise.
const deviatesBadLine = "a bad line is answered with a 400 that names it; its neighbours are stored all the same"

// All that VictoriaMetrics was recorded to take in is taken in, by whatever door,
// and the statuses are the same but for bad lines.
func TestIngestFacts(t *testing.T) {
	text, err := os.ReadFile("testdata/ingest/facts.jsonl")
	require.NoError(t, err)
	var facts []ingestFact
	for line := range bytes.Lines(text) {
		var f ingestFact
		require.NoError(t, json.Unmarshal(line, &f))
		facts = append(facts, f)
	}
	for _, prefix := range []string{"", "/prometheus"} {
		h := newIngestDoor(t)
		held, deviating := map[string]int{}, map[string]int{}
		for _, f := range facts {
			t.Run(prefix+"/"+f.ID, func(t *testing.T) {
				f.replay(t, h, prefix)
				if f.Deviation == "" {
					held[f.Group]++
				} else {
					deviating[f.Group]++
				}
			})
		}
		require.Equal(t, map[string]int{"import-text": 25, "import-json": 8, "import-csv": 10, "remote-write": 8}, held)
		require.Equal(t, map[string]int{"import-text": 9, "import-json": 10}, deviating, deviatesBadLine)
	}
}

func newIngestDoor(t *testing.T) http.Handler {
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(t, err)
	door, err := remote.New(remote.Options{Engine: engine})
	require.NoError(t, err)
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	door.Open(db)
	return door
}

func (f *ingestFact) replay(t *testing.T, h http.Handler, prefix string) {
	for _, r := range f.Requests {
		path := prefix + strings.TrimPrefix(r.Path, prefix)
		body := append([]byte(r.Body), r.Base64...)
		req := httptest.NewRequest(r.Method, path, bytes.NewReader(body))
		for name, value := range r.Headers {
			req.Header.Set(name, value)
		}
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if f.Deviation == "" {
			require.Equal(t, r.Status, rec.Code, rec.Body.String())
			continue
		}
		require.Equal(t, deviatesBadLine, f.Deviation)
		require.Equal(t, http.StatusNoContent, r.Status)
		require.Equal(t, http.StatusBadRequest, f.VarveStatus)
		require.Equal(t, http.StatusBadRequest, rec.Code)
		require.Regexp(t, `^1 bad line, the others were stored\nline \d+: .+: "`, rec.Body.String())
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, prefix+"/api/v1/export?match[]="+url.QueryEscape(f.Match), nil))
	require.Equal(t, http.StatusOK, rec.Code)
	var got []ingestSeries
	for line := range bytes.Lines(rec.Body.Bytes()) {
		var s ingestSeries
		require.NoError(t, json.Unmarshal(line, &s))
		got = append(got, s)
	}
	require.Equal(t, f.asSet(t, f.Series), f.asSet(t, got))
}

// asSet prints series in an order of their own, without times that the server
// set.
func (f *ingestFact) asSet(t *testing.T, all []ingestSeries) []string {
	var out []string
	for _, s := range all {
		if f.Times == "ignore" {
			require.Len(t, s.Values, 1)
			s.Timestamps = nil
		}
		line, err := json.Marshal(s)
		require.NoError(t, err)
		out = append(out, string(line))
	}
	slices.Sort(out)
	return out
}
