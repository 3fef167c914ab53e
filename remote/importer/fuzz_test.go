package importer_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/importer"
	"github.com/varvedb/varve/tsdb/tsdbtest/fuzztally"
)

// FuzzImportJSON: what is stored is what encoding/json reads from the line.
func FuzzImportJSON(f *testing.F) {
	for _, s := range []string{
		`{"metric":{"__name__":"m035","a":"b"},"values":[1,2.5],"timestamps":[1749938400000,1749938415000]}`,
		`{"metric":{"__name__":"m","k":5,"u":"\u00e9\n"},"values":[1,null,-0,1e-7],"timestamps":[1,2,3,4],"x":{"y":[true]}}`,
		`{"timestamps":[1,2,3],"values":["Infinity","-Infinity","NaN"],"metric":{"__name__":"m"}}`,
		"\n", "not json",
	} {
		f.Add(s)
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, line string) {
		tally.Input()
		line, _, _ = strings.Cut(line, "\n")
		m := newModel()
		rec := post(importer.New(m, importer.Options{}), jsonPath, line)
		require.Contains(t, []int{http.StatusNoContent, http.StatusBadRequest}, rec.Code)
		if rec.Code != http.StatusNoContent || strings.TrimSpace(line) == "" {
			return
		}
		tally.Accepted()
		want, ok := slowJSON(t, line)
		if !ok {
			return // encoding/json has its own idea of equal names
		}
		got := map[int64]uint64{}
		for _, s := range m.series {
			for ts, v := range s.samples {
				got[ts] = math.Float64bits(v)
			}
		}
		require.Equal(t, want, got)
		require.LessOrEqual(t, len(m.series), 1)
	})
}

// slowJSON reads the samples of an accepted line.
func slowJSON(t *testing.T, line string) (map[int64]uint64, bool) {
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(line), &members), "%q", line)
	if strings.Count(line, `"values"`) != 1 || strings.Count(line, `"timestamps"`) != 1 {
		return nil, false
	}
	var values []any
	var times []int64
	d := json.NewDecoder(bytes.NewReader(members["values"]))
	d.UseNumber()
	require.NoError(t, d.Decode(&values))
	require.NoError(t, json.Unmarshal(members["timestamps"], &times))
	out := map[int64]uint64{}
	for i, v := range values {
		switch v := v.(type) {
		case nil:
			continue
		case json.Number:
			x, err := strconv.ParseFloat(string(v), 64)
			require.NoError(t, err)
			out[times[i]] = math.Float64bits(x)
		case string:
			if x, err := strconv.ParseFloat(v, 64); err == nil && x == x {
				out[times[i]] = math.Float64bits(x)
			}
		default:
			require.Fail(t, "accepted a value of an odd type")
		}
	}
	return out, true
}

// FuzzImportText: any body is answered, and what is stored prints and reads
// back the same.
func FuzzImportText(f *testing.F) {
	for _, s := range []string{
		"m003{a=\"b\",c=\"d e\"} -3 1749938400000\nm003 4 1749938415000\n",
		`m004{a="q\"x",n="l\nm",s="b\\c"} 1 1749938400000`,
		"# HELP m005 text\n# TYPE m005 counter\nm005_total 5 1749938400\n",
		`{"m021",a="b"} +Inf 1749938400.5`, "m016 1e3 1749938400000 # {trace=\"x\"} 0.5", "m011 {a=\"b\",} NaN", "broken{", "m 1\r\n",
	} {
		f.Add(s)
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, body string) {
		tally.Input()
		m := newModel()
		rec := post(importer.New(m, importer.Options{}), textPath, body)
		require.Contains(t, []int{http.StatusNoContent, http.StatusBadRequest}, rec.Code)
		if len(m.series) == 0 {
			return
		}
		tally.Accepted()
		for _, s := range m.series {
			require.NotEmpty(t, s.lset.Get(labels.MetricName))
			s.lset.Range(func(l labels.Label) {
				require.True(t, l.Name != "" && l.Value != "" && utf8.ValidString(l.Name) && utf8.ValidString(l.Value))
			})
		}
		again := newModel()
		text := get(importer.New(m, importer.Options{}), `/api/v1/export?match[]={__name__!=""}`)
		rec = post(importer.New(again, importer.Options{}), jsonPath, text.Body.String())
		require.Equal(t, http.StatusNoContent, rec.Code, "%s\n%s", rec.Body.String(), text.Body.String())
		require.Len(t, again.series, len(m.series))
		for key, s := range m.series {
			require.Equal(t, s.samples, again.series[key].samples)
		}
	})
}
