package importer_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/importer"
)

// exported is a line of an export.
type exported struct {
	Metric     map[string]string `json:"metric"`
	Values     []json.RawMessage `json:"values"`
	Timestamps []int64           `json:"timestamps"`
}

// sortedLines reads lines of an export as a set.
func sortedLines(t *testing.T, body []byte) []string {
	var out []string
	for line := range bytes.Lines(body) {
		var e exported
		require.NoError(t, json.Unmarshal(line, &e), "%s", line)
		canonical, err := json.Marshal(e)
		require.NoError(t, err)
		out = append(out, string(canonical))
	}
	slices.Sort(out)
	return out
}

func gunzip(t *testing.T, name string) []byte {
	f, err := os.Open(name)
	require.NoError(t, err)
	defer f.Close()
	r, err := gzip.NewReader(f)
	require.NoError(t, err)
	out, err := io.ReadAll(r)
	require.NoError(t, err)
	return out
}

// loadFacts imports the data set of the export facts. Its "stale" values, which
// JSON has no word for, go past the import.
func loadFacts(t *testing.T, m *model, h *importer.Handler) {
	data := gunzip(t, "testdata/data.jsonl.gz")
	plain := bytes.ReplaceAll(data, []byte(`"stale"`), []byte("null"))
	rec := serve(h, http.MethodPost, "/api/v1/import", bytes.NewReader(plain), nil)
	require.Equal(t, http.StatusNoContent, rec.Code, rec.Body.String())
	for line := range bytes.Lines(data) {
		var e exported
		require.NoError(t, json.Unmarshal(line, &e))
		for i, v := range e.Values {
			if string(v) == `"stale"` {
				m.get(labelsOf(e.Metric)).samples[e.Timestamps[i]] = staleNaN
			}
		}
	}
}

func TestExportFacts(t *testing.T) {
	m := newModel()
	h := importer.New(m, importer.Options{})
	loadFacts(t, m, h)
	replayed := 0
	for line := range bytes.Lines(gunzip(t, "testdata/export_facts.jsonl.gz")) {
		var fact struct {
			ID, Body string
			Params   url.Values
			Status   int
		}
		require.NoError(t, json.Unmarshal(line, &fact))
		replayed++
		t.Run(fact.ID, func(t *testing.T) {
			rec := get(h, "/api/v1/export?"+fact.Params.Encode())
			require.Equal(t, fact.Status, rec.Code)
			switch {
			case fact.Status != http.StatusOK:
				require.Equal(t, fact.Body, rec.Body.String())
			case fact.Params.Get("format") == "promapi":
				require.Equal(t, results(t, fact.Body), results(t, rec.Body.String()))
			case fact.Params.Has("format"):
				require.Equal(t, sorted(fact.Body), sorted(rec.Body.String()))
			default:
				require.Equal(t, sortedLines(t, []byte(fact.Body)), sortedLines(t, rec.Body.Bytes()))
			}
		})
	}
	require.Equal(t, 22, replayed)
}

// results are the series of a range query's answer as a set.
func results(t *testing.T, body string) []string {
	var answer struct {
		Data struct {
			Result []any
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &answer))
	var out []string
	for _, r := range answer.Data.Result {
		canonical, err := json.Marshal(r)
		require.NoError(t, err)
		out = append(out, string(canonical))
	}
	slices.Sort(out)
	return out
}

func sorted(lines string) []string {
	out := strings.Split(lines, "\n")
	slices.Sort(out)
	return out
}
