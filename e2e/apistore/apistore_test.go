package apistore

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/remote/api/apitest"
	"github.com/varvedb/varve/tsdb"
)

// open returns a store with the data of the API's golden answers.
func open(t *testing.T) *tsdb.DB {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	data := apitest.Data()
	q, err := data.Querier(0, math.MaxInt64)
	require.NoError(t, err)
	all := q.Select(context.Background(), true, nil, labels.MustNewMatcher(labels.MatchNotEqual, "__name__", ""))
	b := db.Batch()
	for all.Next() {
		series, err := b.Series(all.At().Labels())
		require.NoError(t, err)
		it := all.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				at, v := it.At()
				require.NoError(t, b.Float(series, 0, at, v))
			} else {
				at, h := it.AtFloatHistogram(nil)
				require.NoError(t, b.FloatHistogram(series, 0, at, h))
			}
		}
	}
	require.NoError(t, all.Err())
	for _, x := range data.Exemplars {
		series, err := b.Series(x.SeriesLabels)
		require.NoError(t, err)
		for _, e := range x.Exemplars {
			require.NoError(t, b.Exemplar(series, e))
		}
	}
	require.NoError(t, b.Commit(context.Background()))
	return db
}

// door returns varve's own API over a store.
func door(t *testing.T, db *tsdb.DB) http.Handler {
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(t, err)
	d, err := remote.New(remote.Options{Engine: engine})
	require.NoError(t, err)
	d.Open(db)
	return d
}

// ask returns the answer to a request as text.
func ask(t *testing.T, h http.Handler, c apitest.Case) string {
	r, err := c.Request()
	require.NoError(t, err)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return apitest.Answer(w.Code, w.Header(), sortNotes(w.Body.String()))
}

// notes are the lists of warnings and infos at the end of an answer, which
// Prometheus leaves in any order.
var notes = regexp.MustCompile(`"(?:warnings|infos)":(\["(?:[^"\\]|\\.)*"(?:,"(?:[^"\\]|\\.)*")*\])`)

func sortNotes(body string) string {
	return notes.ReplaceAllStringFunc(body, func(list string) string {
		name, raw, _ := strings.Cut(list, ":")
		var texts []string
		if json.Unmarshal([]byte(raw), &texts) != nil {
			return list
		}
		slices.Sort(texts)
		return fmt.Sprintf("%s:%q", name, texts)
	})
}

// differ lists what has to differ, by path.
var differ = map[string]string{
	"/api/v1/status/tsdb":         "figures of the store",
	"/api/v1/status/tsdb/blocks":  "parts of the store",
	"/api/v1/status/self_metrics": "metrics of the process",
	"/api/v1/status/flags":        "flags of the process",
}

// Every recorded request is answered alike, with the data in the head and in
// parts.
func TestRecorded(t *testing.T) {
	text, err := os.ReadFile("../../remote/api/testdata/upstream.txt")
	require.NoError(t, err)
	cases, err := apitest.ParseCases(string(text))
	require.NoError(t, err)
	db := open(t)
	ours, theirs := door(t, db), Upstream(tsdb.NewStorage(db))
	compare := func(t *testing.T) {
		compared, left := 0, map[string]int{}
		for _, c := range cases {
			if reason := differ[c.Path]; reason != "" {
				left[reason]++
				continue
			}
			want := ask(t, theirs, c)
			require.Equal(t, want, ask(t, ours, c), "%s:%d\n%s", "upstream.txt", c.Line, c.Text)
			compared++
		}
		t.Logf("%d requests are answered alike; left out: %v", compared, left)
		require.Greater(t, compared, 250)
	}
	t.Run("head", compare)
	require.NoError(t, db.ForceFlush(context.Background()))
	require.NoError(t, db.ForceMerge(context.Background()))
	t.Run("parts", compare)
}

// More of the same: every data endpoint with every kind of matcher, range and
// limit.
func TestCombinations(t *testing.T) {
	db := open(t)
	ours, theirs := door(t, db), Upstream(tsdb.NewStorage(db))
	matchers := []string{``, `l1_abc`, `{my!=""}`, `{my=~"v.*"}`, `{__name__=~"p8|p12"}`, `{i!~"[a-f]",__name__="p8"}`, `{"host.name"="h1"}`, `{nope="x"}`, `{`, `{a=""}`, `p8 offset 5m`, `rate(p8[5m])`}
	ranges := [][2]string{{"", ""}, {"1700000000", "1700000060"}, {"1700000000", "1700000000"}, {"1600000000", "1600000060"}, {"", "1700000000"}, {"1700000001", ""}, {"2023-11-14T22:13:20Z", "2023-11-14T22:14:20.5Z"}, {"x", ""}, {"1700000060", "1700000000"}}
	limits := []string{"", "0", "1", "3", "-1", "x"}
	compared := 0
	for _, path := range []string{"/api/v1/series", "/api/v1/labels", "/api/v1/label/__name__/values", "/api/v1/label/i/values"} {
		for i, match := range matchers {
			for j, span := range ranges {
				c := apitest.Case{Method: http.MethodGet, Path: path}
				add := func(name, value string) {
					if value != "" {
						c.Params = append(c.Params, [2]string{name, value})
					}
				}
				add("match[]", match)
				if (i+j)%3 == 0 {
					add("match[]", "or1")
				}
				add("start", span[0])
				add("end", span[1])
				add("limit", limits[(i+2*j)%len(limits)])
				if (i+j)%2 == 0 && !strings.Contains(path, "/label/") {
					c.Method = http.MethodPost
				}
				require.Equal(t, ask(t, theirs, c), ask(t, ours, c), "%s %s %v", c.Method, path, c.Params)
				compared++
			}
		}
	}
	t.Logf("%d requests are answered alike", compared)
}

func form(pairs ...string) [][2]string {
	var out [][2]string
	for i := 0; i+1 < len(pairs); i += 2 {
		out = append(out, [2]string{pairs[i], pairs[i+1]})
	}
	return out
}

// Queries over the parameters that only a query takes.
func TestQueryParameters(t *testing.T) {
	db := open(t)
	ours, theirs := door(t, db), Upstream(tsdb.NewStorage(db))
	compared := 0
	for _, expr := range []string{"or1", "p13", "sum(p13)", "p13[30s]", "rate(p13[20s])", "nh", "histogram_quantile(0.9, nh)", "p8 > 0", "1", `"s"`, "topk(2, p8)", "sort(p8)", "lbs", "absent(x)", "p24m_bucket", "sum by (", "x{}[", "vector(scalar(or1))", "count_over_time(p13[1m:7s])", "p13 @ start()", "max_over_time(p13[1m] offset 10s)"} {
		for _, params := range [][][2]string{
			form("time", "1700000060"), form("time", "1700000060.5"), form("time", "2023-11-14T22:14:20.123Z"), form("time", "bad"),
			form("time", "1700000060", "limit", "1"), form("time", "1700000060", "lookback_delta", "1s"), form("time", "1700000060", "lookback_delta", "-1s"),
			form("time", "1700000060", "timeout", "5s"), form("time", "1700000060", "timeout", "x"), form("time", "1700000060", "timeout", "0"),
		} {
			c := apitest.Case{Method: http.MethodGet, Path: "/api/v1/query", Params: append(form("query", expr), params...)}
			require.Equal(t, ask(t, theirs, c), ask(t, ours, c), "%v", c.Params)
			compared++
		}
		for _, params := range [][][2]string{
			form("start", "1700000000", "end", "1700000060", "step", "10"), form("start", "1700000000", "end", "1700000060", "step", "7.5s"),
			form("start", "1700000000.25", "end", "1700000001", "step", "0.3"), form("start", "1700000000", "end", "1700000060", "step", "1m", "limit", "1"),
			form("start", "1700000060", "end", "1700000000", "step", "1"), form("start", "1700000000", "end", "1700100000", "step", "1"),
			form("start", "1700000000", "step", "1"), form("start", "1700000000", "end", "1700000060", "step", "0"), form("start", "1700000000", "end", "1700000060", "step", "15", "lookback_delta", "2s"),
		} {
			c := apitest.Case{Method: http.MethodPost, Path: "/api/v1/query_range", Params: append(form("query", expr), params...)}
			require.Equal(t, ask(t, theirs, c), ask(t, ours, c), "%v", c.Params)
			compared++
		}
		for _, path := range []string{"/api/v1/format_query", "/api/v1/parse_query"} {
			c := apitest.Case{Method: http.MethodGet, Path: path, Params: form("query", expr)}
			require.Equal(t, ask(t, theirs, c), ask(t, ours, c), "%s %v", path, c.Params)
			compared++
		}
		c := apitest.Case{Method: http.MethodGet, Path: "/api/v1/query_exemplars", Params: form("query", expr, "start", "1700000000", "end", "1700000100")}
		require.Equal(t, ask(t, theirs, c), ask(t, ours, c), "exemplars %v", c.Params)
		compared++
	}
	t.Logf("%d requests are answered alike", compared)
}
