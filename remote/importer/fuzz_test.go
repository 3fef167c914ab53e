package importer_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
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

// FuzzImportCSV: what is stored is what a reading byte by byte finds.
func FuzzImportCSV(f *testing.F) {
	for _, s := range [][2]string{
		{"1:label:host,2:metric:m053,3:time:unix_ms", "host,value,time\na,1.5,1749938400000\nb,2,1749938400000"},
		{"1:time:unix_s,2:metric:m,3:metric:n", "1749938400,1,2\n1749938401,,NaN\r\n,3,x\n"},
		{"1:time:rfc3339,2:metric:m", "2025-06-14T22:00:00Z,7"}, {"1:time:unix_ns,2:metric:m", "1749938400000000000,-0"},
		{"1:time:custom:2006-01-02 15:04,4:metric:m", "\"2025-06-14 22:00\",a,\"open,7\n2025-06-14 22:00,,'',inf"},
		{"2:metric:m,1:label:host", "\"a,\"\"b\",1,1749938400000\n'it''s',2\n\"a\"b,3\n\xff,4\n"}, {"1:label:__name__,2:metric:m", "n,.5e1\n"}, {"1:foo:bar", "a,1"},
	} {
		f.Add(s[0], s[1])
	}
	tally := fuzztally.New(f)
	f.Fuzz(func(t *testing.T, format, body string) {
		tally.Input()
		m := newModel()
		h := importer.New(m, importer.Options{Now: func() time.Time { return time.UnixMilli(7) }})
		rec := post(h, csvPath(format), body)
		require.Contains(t, []int{http.StatusNoContent, http.StatusBadRequest}, rec.Code)
		if strings.HasPrefix(rec.Body.String(), "argument format") {
			require.Empty(t, m.series)
			return
		}
		tally.Accepted()
		want, bad := slowCSV(t, format, body)
		got := map[string]map[int64]uint64{}
		for key, s := range m.series {
			got[key] = map[int64]uint64{}
			for ts, v := range s.samples {
				got[key][ts] = math.Float64bits(v)
			}
		}
		require.Equal(t, want, got)
		text := rec.Body.String()
		require.Equal(t, bad > 0, rec.Code == http.StatusBadRequest, text)
		if bad == 1 {
			require.Contains(t, text, "1 bad line,")
		} else if bad > 1 {
			require.Contains(t, text, fmt.Sprintf("%d bad lines,", bad))
		}
	})
}

// slowCSV reads a table of a valid format: samples of each series, and how many
// lines are bad.
func slowCSV(t *testing.T, format, body string) (map[string]map[int64]uint64, int) {
	columns, width := map[int][]string{}, 0
	for _, item := range strings.Split(format, ",") {
		parts := strings.SplitN(item, ":", 3)
		position, err := strconv.Atoi(parts[0])
		require.NoError(t, err)
		columns[position], width = parts[1:], max(width, position)
	}
	stored, bad, first := map[string]map[int64]uint64{}, 0, true
	for _, line := range strings.Split(body, "\n") {
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			continue
		}
		mayBeHeader := first
		first = false
		set, samples, at, isGood := map[string]string{}, map[int]float64{}, int64(0), true
		fields, closed := slowCSVFields(line)
		for i, cell := range fields {
			what := columns[i+1]
			if what == nil || cell == "" || !isGood {
				continue
			}
			switch what[0] {
			case "label":
				set[what[1]] = cell
			case "metric":
				samples[i+1], isGood = slowCSVNumber(cell)
			case "time":
				at, isGood = slowCSVTime(what[1], cell)
			}
		}
		switch {
		case !isGood && mayBeHeader:
			continue
		case !isGood || !closed || len(fields) < width:
			bad++
			continue
		}
		if at == 0 {
			at = 7
		}
		if !slowCSVStore(stored, set, columns, samples, at) {
			bad++
		}
	}
	return stored, bad
}

// slowCSVStore adds the samples of a line, if the store takes them.
func slowCSVStore(stored map[string]map[int64]uint64, set map[string]string, columns map[int][]string, samples map[int]float64, at int64) bool {
	isGood := true
	for _, position := range slices.Sorted(maps.Keys(samples)) {
		v := samples[position]
		if v != v {
			continue
		}
		all := map[string]string{labels.MetricName: columns[position][1]}
		maps.Copy(all, set)
		valid := at >= 0
		for name, value := range all {
			valid = valid && utf8.ValidString(name) && utf8.ValidString(value)
		}
		if !valid {
			isGood = false
			continue
		}
		key := labelsOf(all).String()
		if stored[key] == nil {
			stored[key] = map[int64]uint64{}
		}
		stored[key][at] = math.Float64bits(v)
	}
	return isGood
}

// slowCSVFields takes a line apart; closed is false where a quote is not, and the
// fields are those before.
func slowCSVFields(line string) (fields []string, closed bool) {
	var field []byte
	quote, begun := byte(0), false // of the field
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && !begun && (c == '"' || c == '\''):
			quote, begun = c, true
		case quote == 0 && c == ',':
			fields, field, begun = append(fields, string(field)), nil, false
		case quote != 0 && c == quote && i+1 < len(line) && line[i+1] == quote:
			field = append(field, c)
			i++
		case quote != 0 && c == quote:
			if i+1 < len(line) && line[i+1] != ',' {
				return fields, false
			}
			quote = 0
			if i+1 == len(line) {
				return append(fields, string(field)), true
			}
		default:
			field, begun = append(field, c), true
		}
	}
	if quote != 0 {
		return fields, false
	}
	return append(fields, string(field)), true
}

var (
	csvNumber = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
	csvWord   = regexp.MustCompile(`^([+-]?([iI][nN][fF]|[iI][nN][fF][iI][nN][iI][tT][yY])|[nN][aA][nN])$`)
)

func slowCSVNumber(cell string) (float64, bool) {
	v, err := strconv.ParseFloat(cell, 64)
	return v, err == nil && (csvNumber.MatchString(cell) || csvWord.MatchString(cell))
}

func slowCSVTime(format, cell string) (int64, bool) {
	layout, isLayout := strings.CutPrefix(format, "custom:")
	if format == "rfc3339" {
		layout, isLayout = time.RFC3339, true
	}
	if isLayout {
		at, err := time.Parse(layout, cell)
		return at.UnixMilli(), err == nil
	}
	n, ok := new(big.Int).SetString(cell, 10)
	if !ok || !n.IsInt64() {
		return 0, false
	}
	switch format {
	case "unix_s":
		n.Mul(n, big.NewInt(1000))
	case "unix_ns":
		n.Quo(n, big.NewInt(1e6))
	}
	return n.Int64(), n.IsInt64()
}
