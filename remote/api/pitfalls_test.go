package api

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api/apitest"
	"github.com/varvedb/varve/tsdb"
)

const (
	pitfallsFile = "testdata/pitfalls.txt"
	pitfallBase  = 1_700_002_800 // T, in s
)

// TestPitfalls asks the queries of a file over its data: in the obvious
// storage, in the real one, and in the real one after a flush.
func TestPitfalls(t *testing.T) {
	text, err := os.ReadFile(pitfallsFile)
	require.NoError(t, err)
	data, blocks := pitfallBlocks(t, string(text))
	obvious := &apitest.Storage{}
	for _, s := range data {
		obvious.Add(s.lset, s.points...)
	}
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{MinFree: -1})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	loadPitfalls(t, db, data)
	ask := func(name string, s Storage) {
		h := serve(newAPI(t, func(o *Options) { o.Storage, o.Admin, o.Metadata = s, db, db }))
		for _, b := range blocks {
			t.Run(name+"/"+b.query, func(t *testing.T) { require.Equal(t, b.want, askPitfall(t, h, b.query)) })
		}
	}
	if os.Getenv("GOLDEN_REWRITE") != "" {
		rewritePitfalls(t, string(text), serve(newAPI(t, func(o *Options) { o.Storage = obvious })))
		return
	}
	ask("obvious", obvious)
	ask("head", tsdb.NewStorage(db))
	require.NoError(t, db.ForceFlush(t.Context()))
	ask("part", tsdb.NewStorage(db))
}

type pitfallSeries struct {
	lset   labels.Labels
	points []apitest.Point
}

type pitfallBlock struct{ query, want string }

func pitfallBlocks(t *testing.T, text string) (data []pitfallSeries, blocks []pitfallBlock) {
	t.Helper()
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		lines := strings.Split(block, "\n")
		for strings.HasPrefix(lines[0], "#") {
			lines = lines[1:]
		}
		if lines[0] == "data" {
			for _, line := range lines[1:] {
				data = append(data, parsePitfallSeries(t, line))
			}
			continue
		}
		require.Equal(t, "----", lines[1], block)
		blocks = append(blocks, pitfallBlock{lines[0], strings.Join(lines[2:], "\n")})
	}
	return append(data, computedPitfalls()...), blocks
}

// parsePitfallSeries reads `name{label="value"} 0:5 60:stale`.
func parsePitfallSeries(t *testing.T, line string) pitfallSeries {
	t.Helper()
	cut := strings.LastIndex(line, "} ") + 1
	if cut == 0 {
		cut = strings.Index(line, " ")
	}
	lset, err := parser.NewParser(parser.Options{}).ParseMetric(line[:cut])
	require.NoError(t, err, line)
	s := pitfallSeries{lset: lset}
	for _, field := range strings.Fields(line[cut:]) {
		at, val, ok := strings.Cut(field, ":")
		require.True(t, ok, line)
		sec, err := strconv.ParseFloat(at, 64)
		require.NoError(t, err, line)
		v := math.Float64frombits(value.StaleNaN)
		if val != "stale" {
			v, err = strconv.ParseFloat(val, 64)
			require.NoError(t, err, line)
		}
		s.points = append(s.points, apitest.Point{Time: pitfallTime(sec), Value: v})
	}
	return s
}

func pitfallTime(sec float64) int64 { return pitfallBase*1000 + int64(math.Round(sec*1000)) }

// computedPitfalls are the series too long, or of a kind, to be written down.
func computedPitfalls() []pitfallSeries {
	count := func(name string, n int, step float64) pitfallSeries {
		s := pitfallSeries{lset: labels.FromStrings("__name__", name)}
		for i := range n {
			s.points = append(s.points, apitest.Point{Time: pitfallTime(float64(i) * step), Value: float64(i)})
		}
		return s
	}
	hist := func(name string, hs ...*histogram.FloatHistogram) pitfallSeries {
		s := pitfallSeries{lset: labels.FromStrings("__name__", name)}
		for i, h := range hs {
			s.points = append(s.points, apitest.Point{Time: pitfallTime(float64(i) * 60), Histogram: h})
		}
		return s
	}
	exp := func(schema int32, total float64, counts ...float64) *histogram.FloatHistogram {
		return &histogram.FloatHistogram{
			Schema: schema, ZeroThreshold: 0x1p-128, Count: total, Sum: total,
			PositiveSpans: []histogram.Span{{Offset: 1, Length: uint32(len(counts))}}, PositiveBuckets: counts,
		}
	}
	custom := &histogram.FloatHistogram{
		Schema: histogram.CustomBucketsSchema, Count: 3, Sum: 3, CustomValues: []float64{1, 2},
		PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []float64{2, 1},
	}
	return []pitfallSeries{
		count("p13", 61, 1), count("c1", 121, 60),
		hist("n1", exp(3, 10, 5, 5), exp(3, 13, 3, 10), exp(0, 16, 16)),
		hist("n3", custom, exp(0, 3, 3), exp(0, 9, 9)),
		shiftingHistogram(),
	}
}

// shiftingHistogram has 200 samples whose buckets are drawn anew each time.
func shiftingHistogram() pitfallSeries {
	s := pitfallSeries{lset: labels.FromStrings("__name__", "n7")}
	r := rand.New(rand.NewPCG(7, 7))
	for i := range 200 {
		buckets := r.Perm(80)[:12]
		slices.Sort(buckets)
		h := &histogram.FloatHistogram{Schema: 3, ZeroThreshold: 0x1p-128, Count: float64(i + 1), Sum: 1, ZeroCount: float64(i + 1)}
		next := 0
		for _, b := range buckets {
			index := b - 40
			h.PositiveSpans = append(h.PositiveSpans, histogram.Span{Offset: int32(index - next), Length: 1})
			next = index + 1
			if index == 5 {
				h.PositiveBuckets, h.ZeroCount = append(h.PositiveBuckets, float64(i+1)), 0
			} else {
				h.PositiveBuckets = append(h.PositiveBuckets, 0)
			}
		}
		s.points = append(s.points, apitest.Point{Time: pitfallTime(float64(i + 1)), Histogram: h})
	}
	return s
}

func loadPitfalls(t *testing.T, db *tsdb.DB, data []pitfallSeries) {
	t.Helper()
	b := db.Batch()
	for _, s := range data {
		series, err := b.Series(s.lset)
		require.NoError(t, err)
		for _, p := range s.points {
			if p.Histogram != nil {
				require.NoError(t, b.FloatHistogram(series, 0, p.Time, p.Histogram.Copy()))
			} else {
				require.NoError(t, b.Float(series, 0, p.Time, p.Value))
			}
		}
	}
	require.NoError(t, b.Commit(t.Context()))
}

// askPitfall asks "Q expr @sec" or "R expr [start..end/step]"; @=sec is absolute.
func askPitfall(t *testing.T, h http.Handler, query string) string {
	t.Helper()
	kind, rest, _ := strings.Cut(query, " ")
	params := url.Values{}
	path := "/api/v1/query?"
	abs := func(s string) string {
		sec, err := strconv.ParseFloat(s, 64)
		require.NoError(t, err, query)
		return strconv.FormatFloat(sec+pitfallBase, 'f', -1, 64)
	}
	switch kind {
	case "Q":
		i := strings.LastIndex(rest, " @")
		at := rest[i+2:]
		params.Set("query", rest[:i])
		if sec, ok := strings.CutPrefix(at, "="); ok {
			params.Set("time", sec)
		} else {
			params.Set("time", abs(at))
		}
	case "R":
		i := strings.LastIndex(rest, " [")
		span, step, _ := strings.Cut(strings.Trim(rest[i+1:], "[]"), "/")
		start, end, _ := strings.Cut(span, "..")
		path = "/api/v1/query_range?"
		params.Set("query", rest[:i])
		params.Set("start", abs(start))
		params.Set("end", abs(end))
		params.Set("step", step)
	default:
		require.Fail(t, "no such query", query)
	}
	w := do(h, "GET", path+params.Encode())
	return pitfallAnswer(t, params.Get("time"), w.Code, w.Body.Bytes(), strings.HasPrefix(rest, "sort("))
}

// pitfallAnswer writes an answer for reading: one line per series, in the order
// of their text unless the answer's own order counts.
func pitfallAnswer(t *testing.T, at string, code int, body []byte, ordered bool) string {
	t.Helper()
	var a struct {
		Data struct {
			ResultType string
			Result     json.RawMessage
		}
		ErrorType, Error string
		Warnings, Infos  []string
	}
	require.NoError(t, json.Unmarshal(body, &a), string(body))
	if a.Error != "" {
		return fmt.Sprintf("%d %s: %s", code, a.ErrorType, a.Error)
	}
	var lines []string
	switch a.Data.ResultType {
	case "scalar", "string":
		var v [2]any
		require.NoError(t, json.Unmarshal(a.Data.Result, &v))
		lines = []string{fmt.Sprintf("%s %s", a.Data.ResultType, v[1])}
	default:
		lines = pitfallSeriesLines(t, at, a.Data.Result)
	}
	if !ordered {
		slices.Sort(lines)
	}
	for _, w := range a.Warnings {
		lines = append(lines, "warning: "+w)
	}
	for _, i := range a.Infos {
		lines = append(lines, "info: "+i)
	}
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func pitfallSeriesLines(t *testing.T, at string, result json.RawMessage) (lines []string) {
	t.Helper()
	var list []struct {
		Metric           labels.Labels
		Value, Histogram []json.RawMessage
		Values           [][]json.RawMessage
	}
	require.NoError(t, json.Unmarshal(result, &list), string(result))
	for _, s := range list {
		line := s.Metric.String()
		if one := append(s.Value, s.Histogram...); len(one) == 2 {
			require.JSONEq(t, at, string(one[0]), "an instant's sample carries the instant")
			line += " " + strings.Trim(string(one[1]), `"`)
		}
		for _, v := range s.Values {
			sec, err := strconv.ParseFloat(string(v[0]), 64)
			require.NoError(t, err)
			off := math.Round((sec-pitfallBase)*1000) / 1000
			line += fmt.Sprintf(" %v:%s", off, strings.Trim(string(v[1]), `"`))
		}
		lines = append(lines, line)
	}
	return lines
}

func rewritePitfalls(t *testing.T, text string, h http.Handler) {
	t.Helper()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		if head, _, ok := strings.Cut(block, "\n----\n"); ok {
			lines := strings.Split(head, "\n")
			block = head + "\n----\n" + askPitfall(t, h, lines[len(lines)-1])
		}
		out = append(out, block)
	}
	require.NoError(t, os.WriteFile(pitfallsFile, []byte(strings.Join(out, "\n\n")+"\n"), 0o644))
}
