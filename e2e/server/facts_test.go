package server

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
	"github.com/varvedb/varve/remote/influx/influxtest"
)

// The recorded facts of writing hold over HTTP: all are sent to one server,
// then what they stored is checked in every state of the store.
func TestInfluxFacts(t *testing.T) {
	facts, err := influxtest.ReadFacts("../../remote/influx/testdata/influx_facts.jsonl")
	require.NoError(t, err)
	require.Len(t, facts, 237)
	replayFacts(t, facts)
}

func TestIngestFacts(t *testing.T) {
	const path = "../../remote/testdata/ingest/facts.jsonl"
	all, err := influxtest.ReadFacts(path)
	require.NoError(t, err)
	statuses := ourStatuses(t, path)
	for i := range all {
		all[i].OurStatus = statuses[all[i].ID]
	}
	require.Len(t, all, 70)
	replayFacts(t, all)
}

// ourStatuses reads the statuses that these records keep under a name of their own.
func ourStatuses(t *testing.T, path string) map[string]int {
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	out := map[string]int{}
	for line := range bytes.Lines(text) {
		var f struct {
			ID     string
			Status int `json:"varve_status"`
		}
		require.NoError(t, json.Unmarshal(line, &f))
		out[f.ID] = f.Status
	}
	return out
}

func replayFacts(t *testing.T, facts []influxtest.Fact) {
	v := harness.StartVarve(t)
	target := influxtest.Target{
		Send: func(req *http.Request) (int, string, error) {
			base, err := url.Parse(v.URL)
			if err != nil {
				return 0, "", err
			}
			req.URL = base.ResolveReference(req.URL)
			resp, err := v.SendRequest(req)
			return resp.Status, resp.String(), err
		},
		Export: func(match string) ([]influxtest.Series, error) {
			resp, err := v.Send(http.MethodGet, "/api/v1/export?"+harness.Form("match[]", match).Encode(), nil)
			if err != nil {
				return nil, err
			}
			var out []influxtest.Series
			for d := json.NewDecoder(bytes.NewReader(resp.Body)); ; {
				var s influxtest.Series
				if err := d.Decode(&s); err == io.EOF {
					return out, nil
				} else if err != nil {
					return nil, err
				}
				out = append(out, s)
			}
		},
	}
	deviations := 0
	for _, f := range facts {
		if err := f.Send(target); err != nil {
			t.Errorf("%s: %s", f.ID, err)
		}
		if f.Deviation != "" {
			deviations++
		}
	}
	inEveryState(t, v, func(t *testing.T) {
		for _, f := range facts {
			if err := f.CheckStored(target); err != nil {
				t.Errorf("%s: %s", f.ID, err)
			}
		}
	})
	t.Logf("%d facts, %d of them deviations by design", len(facts), deviations)
}
