package influx

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/influx/influxtest"
)

// Every recorded fact holds, or deviates in the way that its record says.
func TestFacts(t *testing.T) {
	facts, err := influxtest.ReadFacts("testdata/influx_facts.jsonl")
	require.NoError(t, err)
	require.Len(t, facts, 237)
	d := openDoor(t, Options{})
	d.mux.HandleFunc("/health", func(http.ResponseWriter, *http.Request) {}) // another room's
	target := influxtest.Target{
		Send: func(req *http.Request) (int, string, error) {
			served := httptest.NewRequest(req.Method, req.URL.String(), req.Body)
			served.Header = req.Header
			w := d.send(served)
			return w.Code, w.Body.String(), nil
		},
		Export: func(match string) ([]influxtest.Series, error) {
			return export(d.all(match)), nil
		},
	}
	for _, f := range facts {
		require.NoError(t, f.Send(target), f.ID)
	}
	deviations := map[string]int{}
	for _, f := range facts {
		require.NoError(t, f.CheckStored(target), f.ID)
		if f.Deviation != "" {
			deviations[f.Deviation]++
		}
	}
	for reason, n := range deviations {
		t.Logf("%d facts deviate: %s", n, reason)
	}
}

func export(all []stored) []influxtest.Series {
	out := make([]influxtest.Series, len(all))
	for i, s := range all {
		out[i].Metric = s.lset.Map()
		for _, p := range s.samples {
			out[i].Values = append(out[i].Values, influxtest.Value(p.v))
			out[i].Timestamps = append(out[i].Timestamps, p.t)
		}
	}
	return out
}
