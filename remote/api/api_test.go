package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/metadata"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api/apitest"
)

// empty is a storage of which there is nothing to say, as upstream.txt has it.
type empty struct{ recorder }

func (*empty) Metadata(string, int) map[string][]metadata.Metadata { return nil }
func (*empty) Blocks(context.Context) ([]Block, error)             { return nil, nil }

func TestUpstreamAnswers(t *testing.T) {
	replayGolden(t, upstreamFile, serve(newAPI(t, func(o *Options) {
		o.Metadata, o.Status = &empty{}, &empty{}
		o.Flags = map[string]string{"web.b": "<x>", "a": "1"}
	})))
}

func TestOwnAnswers(t *testing.T) {
	reg := prometheus.NewRegistry()
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: "varve_test_total", Help: "A counter."})
	c.Add(3)
	reg.MustRegister(c)
	replayGolden(t, "testdata/own.txt", serve(newAPI(t, func(o *Options) {
		o.Gatherer = reg
		o.Config = func() string { return "global: {}\n" }
	})))
}

func TestAdmin(t *testing.T) {
	rec := &recorder{}
	h := serve(newAPI(t, func(o *Options) { o.Admin, o.EnableAdminAPI = rec, true }))
	replayGolden(t, "testdata/admin.txt", h)
	minMs, maxMs := minTime().UnixMilli(), maxTime().UnixMilli()
	require.Equal(t, []deletion{
		{apitest.Base, apitest.Base + 500, `__name__="l1_abc";my="v1";`},
		{minMs, maxMs, `__name__="l1_abc";`},
		{minMs, maxMs, `__name__=~"l1.*";`},
	}, sortedMatchers(rec.deletes), "a bad selector deletes nothing")
	require.Equal(t, []string{"snapshot", "snapshot", "clean", "clean"}, rec.calls)

	rec.err = errDouble
	for path, want := range map[string]string{
		"/api/v1/admin/tsdb/delete_series?match[]=a": `500 application/json` + "\n" + `{"status":"error","errorType":"internal","error":"disk on fire"}`,
		"/api/v1/admin/tsdb/snapshot":                `500 application/json` + "\n" + `{"status":"error","errorType":"internal","error":"create snapshot: disk on fire"}`,
		"/api/v1/admin/tsdb/clean_tombstones":        `500 application/json` + "\n" + `{"status":"error","errorType":"internal","error":"disk on fire"}`,
		"/internal/force_flush":                      "500 text/plain; charset=utf-8\nforce flush: disk on fire",
		"/internal/force_merge":                      "500 text/plain; charset=utf-8\nforce merge: disk on fire",
	} {
		require.Equal(t, want, answerOf(do(h, "POST", path)), path)
	}
}

// sortedMatchers puts the matchers of each deletion into one order: the parser
// promises none.
func sortedMatchers(list []deletion) []deletion {
	for i, d := range list {
		parts := strings.SplitAfter(strings.TrimSuffix(d.matchers, ";")+";", ";")
		parts = parts[:len(parts)-1]
		for j := range parts {
			for k := j + 1; k < len(parts); k++ {
				if parts[k] < parts[j] {
					parts[j], parts[k] = parts[k], parts[j]
				}
			}
		}
		list[i].matchers = strings.Join(parts, "")
	}
	return list
}

func do(h http.Handler, method, target string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, http.NoBody)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestStatusErrors(t *testing.T) {
	h := serve(newAPI(t, func(o *Options) { o.Status = &recorder{err: errDouble} }))
	for path, want := range map[string]string{
		"tsdb":        "disk on fire",
		"tsdb/blocks": "error getting block metadata: disk on fire",
		"walreplay":   "disk on fire",
	} {
		w := do(h, "GET", "/api/v1/status/"+path)
		require.Equal(t, 500, w.Code)
		require.Equal(t, `{"status":"error","errorType":"internal","error":"`+want+`"}`, w.Body.String())
	}
}

func TestStorageErrors(t *testing.T) {
	d := apitest.Data()
	d.Err = errDouble
	h := serve(newAPI(t, func(o *Options) { o.Storage = d }))
	for path, want := range map[string]string{
		"/api/v1/query?query=or1&time=1":                     `422 {"status":"error","errorType":"execution","error":"expanding series: disk on fire"}`,
		"/api/v1/query_range?query=or1&start=1&end=2&step=1": `422 {"status":"error","errorType":"execution","error":"expanding series: disk on fire"}`,
		"/api/v1/query_exemplars?query=or1":                  `422 {"status":"error","errorType":"execution","error":"disk on fire"}`,
		"/api/v1/labels":                                     `422 {"status":"error","errorType":"execution","error":"disk on fire"}`,
		"/api/v1/label/a/values?match[]=a&match[]=b":         `422 {"status":"error","errorType":"execution","error":"disk on fire"}`,
		"/api/v1/series?match[]=a":                           `422 {"status":"error","errorType":"execution","error":"disk on fire"}`,
		"/api/v1/series?match[]=a&match[]=b":                 `422 {"status":"error","errorType":"execution","error":"disk on fire"}`,
		"/federate?match[]=a":                                `500 disk on fire`,
	} {
		w := do(h, "GET", path)
		require.Equal(t, want, strings.TrimSpace(answerLine(w)), path)
	}
}

// TestUnavailable checks that a failing disk is not the query's fault.
func TestUnavailable(t *testing.T) {
	d := apitest.Data()
	d.Err = fmt.Errorf("read part 7: %w", syscall.EIO)
	rec := &recorder{err: d.Err}
	h := serve(newAPI(t, func(o *Options) { o.Storage, o.Admin, o.EnableAdminAPI = d, rec, true }))
	for _, path := range []string{"/api/v1/query?query=or1&time=1", "/api/v1/labels", "/api/v1/series?match[]=a", "/federate?match[]=a", "/internal/force_flush"} {
		w := do(h, "GET", path)
		require.Equal(t, 503, w.Code, path)
		require.Equal(t, "10", w.Header().Get("Retry-After"), path)
		require.Contains(t, w.Body.String(), "read part 7: input/output error")
	}
	require.Equal(t, 503, do(h, "POST", "/api/v1/admin/tsdb/delete_series?match[]=a").Code)
	require.Contains(t, do(h, "GET", "/api/v1/labels").Body.String(), `"errorType":"unavailable"`)

	d.Err = fmt.Errorf("wait: %w", context.DeadlineExceeded)
	require.Equal(t, `503 {"status":"error","errorType":"timeout","error":"wait: context deadline exceeded"}`, answerLine(do(h, "GET", "/api/v1/labels")))
}

func answerLine(w *httptest.ResponseRecorder) string {
	status, body, _ := strings.Cut(answerOf(w), "\n")
	code, _, _ := strings.Cut(status, " ")
	return code + " " + body
}

func TestNotReady(t *testing.T) {
	ready := false
	a := newAPI(t, func(o *Options) { o.Ready = func() bool { return ready } })
	a.Handle("write", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }), "POST")
	h := serve(a)
	gated := []string{
		"GET /api/v1/query?query=1", "GET /api/v1/labels", "POST /api/v1/admin/tsdb/snapshot", "POST /api/v1/write",
		"GET /-/ready", "GET /federate", "GET /internal/force_flush", "GET /internal/force_merge", "GET /api/v1/status/buildinfo",
	}
	open := []string{
		"GET /-/healthy", "GET /health", "GET /metrics", "GET /api/v1/status/walreplay", "GET /api/v1/notifications",
		"GET /debug/pprof/cmdline", "OPTIONS /api/v1/query",
	}
	for _, req := range gated {
		method, path, _ := strings.Cut(req, " ")
		w := do(h, method, path)
		require.Equal(t, "503 Service Unavailable", answerLine(w), req)
		require.Equal(t, "false", w.Header().Get("X-Prometheus-Stopping"))
	}
	for _, req := range open {
		method, path, _ := strings.Cut(req, " ")
		require.Less(t, do(h, method, path).Code, 300, req)
	}
	ready = true
	for _, req := range gated {
		method, path, _ := strings.Cut(req, " ")
		require.NotEqual(t, 503, do(h, method, path).Code, req)
	}
}

func TestHandle(t *testing.T) {
	a := newAPI(t)
	a.Handle("write", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.Path)
	}), "POST")
	mux := http.NewServeMux()
	a.Register(mux, "")
	a.Register(mux, "/prometheus/")
	require.Equal(t, "200 /api/v1/write", answerLine(do(mux, "POST", "/api/v1/write")))
	require.Equal(t, "200 /api/v1/write", answerLine(do(mux, "POST", "/prometheus/api/v1/write")))
	w := do(mux, "GET", "/api/v1/write")
	require.Equal(t, 405, w.Code)
	require.Equal(t, "OPTIONS, POST", w.Header().Get("Allow"))
	require.Equal(t, "GET, HEAD, OPTIONS, POST", do(mux, "DELETE", "/api/v1/query").Header().Get("Allow"))
	require.Equal(t, 200, do(mux, "GET", "/prometheus/api/v1/label/my/values").Code)
	require.Equal(t, 200, do(mux, "GET", "/prometheus/-/ready").Code)
	require.Equal(t, 404, do(mux, "GET", "/other/api/v1/query").Code)
	require.Panics(t, func() { a.Handle("/query", http.NotFoundHandler(), "GET") })
}

func TestCORS(t *testing.T) {
	f := func(pattern, origin, want string) {
		t.Helper()
		h := serve(newAPI(t, func(o *Options) { o.CORSOrigin = pattern }))
		for _, method := range []string{"GET", "OPTIONS"} {
			w := do(h, method, "/api/v1/query?query=1&time=1", "Origin", origin)
			require.Equal(t, want, w.Header().Get("Access-Control-Allow-Origin"))
			require.Contains(t, w.Header().Values("Vary"), "Origin")
			headers := "GET, POST, OPTIONS"
			if origin == "" {
				headers = ""
			}
			require.Equal(t, headers, w.Header().Get("Access-Control-Allow-Methods"))
		}
	}
	f("", "https://a.example", "*")
	f(".*", "https://a.example", "*")
	f("https://(a|b).example", "https://b.example", "https://b.example")
	f("https://(a|b).example", "https://b.example.evil", "")
	f("", "", "")
}

func TestOptions(t *testing.T) {
	_, err := New(Options{CORSOrigin: "(", LookbackDelta: -1, MaxFormBytes: -1})
	for _, want := range []string{"engine is missing", "storage is missing", "admin is missing", "metadata is missing",
		"status is missing", "lookback delta must not be negative", "max form bytes must not be negative", "compile CORS origin"} {
		require.ErrorContains(t, err, want)
	}
}

func TestCompression(t *testing.T) {
	h := serve(newAPI(t))
	const big, small = "/api/v1/query_range?query=p8&start=1700000000&end=1700000100&step=1", "/api/v1/query?query=1&time=1"
	w := do(h, "GET", big)
	plain := w.Body.Bytes()
	require.Greater(t, len(plain), minCompressed)
	require.Equal(t, strconv.Itoa(len(plain)), w.Header().Get("Content-Length"))

	w = do(h, "GET", big, "Accept-Encoding", "gzip")
	require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	require.Empty(t, w.Header().Get("Content-Length"))
	require.Contains(t, w.Header().Values("Vary"), "Accept-Encoding")
	gz, err := gzip.NewReader(w.Body)
	require.NoError(t, err)
	got, err := io.ReadAll(gz)
	require.NoError(t, err)
	require.Equal(t, string(plain), string(got))

	w = do(h, "GET", big, "Accept-Encoding", "gzip, zstd")
	require.Equal(t, "zstd", w.Header().Get("Content-Encoding"))
	zr, err := zstd.NewReader(w.Body)
	require.NoError(t, err)
	defer zr.Close()
	got, err = io.ReadAll(zr)
	require.NoError(t, err)
	require.Equal(t, string(plain), string(got))

	w = do(h, "GET", small, "Accept-Encoding", "gzip, zstd")
	require.Empty(t, w.Header().Get("Content-Encoding"))
	require.Equal(t, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`, w.Body.String())
}

// TestPieces checks that a big answer leaves in pieces and whole.
func TestPieces(t *testing.T) {
	a := newAPI(t)
	w := &pieceWriter{ResponseRecorder: httptest.NewRecorder()}
	serve(a).ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query_range?query=p13&start=1700000000&end=1700010000&step=1&lookback_delta=3h", http.NoBody))
	require.Greater(t, w.writes, 2)
	require.Less(t, w.largest, 2*spillBytes)
	require.Empty(t, w.Header().Get("Content-Length"))
	require.True(t, strings.HasSuffix(w.Body.String(), `[1700010000,"60"]]}]}}`))
	require.Equal(t, 10001, strings.Count(w.Body.String(), "[17000"))
}

type pieceWriter struct {
	*httptest.ResponseRecorder
	writes, largest int
	fail            error
}

func (w *pieceWriter) Write(p []byte) (int, error) {
	w.writes++
	w.largest = max(w.largest, len(p))
	if w.fail != nil {
		return 0, w.fail
	}
	return w.ResponseRecorder.Write(p)
}

func TestClientGone(t *testing.T) {
	var told []error
	a := newAPI(t, func(o *Options) { o.OnError = func(_ *http.Request, err error) { told = append(told, err) } })
	h := serve(a)
	for _, path := range []string{"/api/v1/query?query=p8&time=1700000000", "/api/v1/query?query=(", "/federate?match[]=f1"} {
		h.ServeHTTP(&pieceWriter{ResponseRecorder: httptest.NewRecorder(), fail: errDouble}, httptest.NewRequest("GET", path, http.NoBody))
	}
	require.Len(t, told, 3)
	for _, err := range told {
		require.ErrorIs(t, err, errDouble)
	}
}

func TestForms(t *testing.T) {
	h := serve(newAPI(t, func(o *Options) { o.MaxFormBytes = 1000 }))
	post := func(contentType, body string) string {
		r := httptest.NewRequest("POST", "/api/v1/query?time=1", strings.NewReader(body))
		r.Header.Set("Content-Type", contentType)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return answerLine(w)
	}
	const form, ok = "application/x-www-form-urlencoded", `200 {"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`
	require.Equal(t, ok, post(form, "query=1%2B1"))
	require.Equal(t, ok, post(form+"; charset=utf-8", "query=1%2B1"))
	require.Equal(t, `413 {"status":"error","errorType":"bad_data","error":"error parsing form values: http: request body too large"}`,
		post(form, "query=1&x="+strings.Repeat("y", 1000)))
	require.Equal(t, `400 {"status":"error","errorType":"bad_data","error":"error parsing form values: invalid URL escape \"%zz\""}`, post(form, "query=%zz"))
	require.Equal(t, `400 {"status":"error","errorType":"bad_data","error":"invalid parameter \"query\": unknown position: parse error: no expression found in input"}`,
		post("application/json", `{"query":"1"}`), "a body of another kind is no form")

	var body bytes.Buffer
	mw := multipart.NewWriter(&body)
	require.NoError(t, mw.WriteField("query", "1+1"))
	require.NoError(t, mw.Close())
	require.Equal(t, ok, post(mw.FormDataContentType(), body.String()))
	require.Equal(t, `400`, post("multipart/form-data", body.String())[:3], "no boundary")
	require.Equal(t, `400`, post(mw.FormDataContentType(), body.String()[:20])[:3], "cut body")
}

func TestReload(t *testing.T) {
	var err error
	calls := 0
	h := serve(newAPI(t, func(o *Options) { o.Reload = func() error { calls++; return err } }))
	require.Equal(t, "200", strings.TrimSpace(answerLine(do(h, "POST", "/-/reload"))))
	err = errDouble
	require.Equal(t, "500 failed to reload config: disk on fire", answerLine(do(h, "PUT", "/-/reload")))
	require.Equal(t, 405, do(h, "GET", "/-/reload").Code)
	require.Equal(t, 2, calls)
}

func TestProfiles(t *testing.T) {
	h := serve(newAPI(t))
	require.Contains(t, do(h, "GET", "/debug/pprof/").Body.String(), "goroutine")
	require.Contains(t, do(h, "GET", "/debug/pprof/heap?debug=1").Body.String(), "heap profile")
	require.Equal(t, 404, do(h, "GET", "/debug/pprof/nope").Code)
	require.Contains(t, do(h, "GET", "/debug/pprof/cmdline").Body.String(), "test")
}

func TestStats(t *testing.T) {
	engine, err := promqlx.New(promqlx.Options{EnabledFeatures: []string{"promql-per-step-stats"}})
	require.NoError(t, err)
	h := serve(newAPI(t, func(o *Options) { o.Engine = engine }))
	const path = "/api/v1/query_range?query=or1&start=1700000000&end=1700000002&step=1&stats="
	require.NotContains(t, do(h, "GET", path).Body.String(), "stats")
	for stats, want := range map[string]string{
		"true": `"samples":\{"totalQueryableSamples":3,"samplesRead":3,"seriesTouched":1,"peakSamples":3\}\}\}\}$`,
		"all":  `"samples":\{"totalQueryableSamplesPerStep":\[\[1700000000,1\],\[1700000001,1\],\[1700000002,1\]\],`,
		"x":    `"peakSamples":3\}\}\},"warnings":\["value \\"x\\" for parameter \\"stats\\" is deprecated`,
	} {
		w := do(h, "GET", path+stats)
		require.Regexp(t, `^\{"status":"success","data":\{"resultType":"matrix","result":\[.*\],"stats":\{"timings":\{"evalTotalTime":[0-9.e-]+,`, w.Body.String())
		require.Regexp(t, want, w.Body.String())
	}
}

func TestFeatures(t *testing.T) {
	body := do(serve(newAPI(t, func(o *Options) { o.EnableAdminAPI = true })), "GET", "/api/v1/features").Body.String()
	for _, want := range []string{`"api":{"admin":true,"exclude_alerts":true,"label_values_match":true,"lifecycle":false,`,
		`"promql_functions":{`, `"rate":true`, `">=":true`, `"at_modifier":true`, `"limitk":false`} {
		require.Contains(t, body, want)
	}
}

func TestSelfMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	for _, name := range []string{"varve_a", "varve_b"} {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "A <gauge>."})
		g.Set(2)
		reg.MustRegister(g)
	}
	h := serve(newAPI(t, func(o *Options) { o.Gatherer = reg }))
	const a, b = `{"name":"varve_a","help":"A <gauge>.","type":"GAUGE","metric":[{"gauge":{"value":2}}]}`, `{"name":"varve_b","help":"A <gauge>.","type":"GAUGE","metric":[{"gauge":{"value":2}}]}`
	require.JSONEq(t, `{"status":"success","data":[`+a+`,`+b+`]}`, do(h, "GET", "/api/v1/status/self_metrics").Body.String())
	require.JSONEq(t, `{"status":"success","data":[`+b+`]}`, do(h, "GET", "/api/v1/status/self_metrics?metric_name_pattern=.*_b").Body.String())
	require.Contains(t, do(h, "GET", "/metrics").Body.String(), "\nvarve_b 2\n")
}

// TestServer runs the API behind a real server: HEAD has the headers of GET and
// no body, and compressed answers are what a client decodes.
func TestServer(t *testing.T) {
	srv := httptest.NewServer(serve(newAPI(t)))
	defer srv.Close()
	for _, path := range []string{"/api/v1/labels", "/api/v1/query?query=1&time=1", "/-/healthy", "/-/ready", "/federate?match[]=f1", "/metrics", "/health"} {
		get, err := http.Get(srv.URL + path)
		require.NoError(t, err)
		body, err := io.ReadAll(get.Body)
		require.NoError(t, err)
		require.NoError(t, get.Body.Close())
		head, err := http.Head(srv.URL + path)
		require.NoError(t, err)
		none, err := io.ReadAll(head.Body)
		require.NoError(t, err)
		require.NoError(t, head.Body.Close())
		require.Equal(t, 200, head.StatusCode, path)
		require.Equal(t, get.Header.Get("Content-Type"), head.Header.Get("Content-Type"), path)
		require.Empty(t, none)
		if path != "/metrics" {
			require.NotEmpty(t, body, path)
		}
	}
}

func TestRuntimeInfo(t *testing.T) {
	a := newAPI(t, func(o *Options) {
		o.Runtime = func() RuntimeInfo { return RuntimeInfo{StorageRetention: "15d", Hostname: "h", CWD: "/d"} }
	})
	body := do(serve(a), "GET", "/api/v1/status/runtimeinfo").Body.String()
	require.Regexp(t, `^\{"status":"success","data":\{"startTime":"20.*","CWD":"/d","hostname":"h","serverTime":"2023-11-14T22:30:00Z","reloadConfigSuccess":false,"lastConfigTime":"0001-01-01T00:00:00Z","corruptionCount":0,"goroutineCount":[0-9]+,"GOMAXPROCS":[0-9]+,"GOMEMLIMIT":[0-9]+,"GOGC":".*","GODEBUG":".*","storageRetention":"15d"\}\}$`, body)
}

// TestGrafana walks through what Grafana's datasource asks, in its own form.
func TestGrafana(t *testing.T) {
	h := serve(newAPI(t))
	post := func(path, form string) string {
		r := httptest.NewRequest("POST", path, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Accept-Encoding", "gzip")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return answerLine(w)
	}
	require.Contains(t, do(h, "GET", "/api/v1/status/buildinfo").Body.String(), `"version":"3.14.0"`)
	require.Equal(t, `200 {"status":"success","data":{"groups":[]}}`, answerLine(do(h, "GET", "/api/v1/rules")))
	require.Equal(t, 200, do(h, "GET", "/api/v1/features").Code)
	require.Equal(t, `200 {"status":"success","data":{"resultType":"scalar","result":[4,"2"]}}`, post("/api/v1/query", "query=1%2B1&time=4"), "save & test")
	require.Equal(t, `200 {"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"or1"},"values":[[1700000000,"5"],[1700000015,"5"]]}]}}`,
		post("/api/v1/query_range", "query=or1&start=1700000000&end=1700000020&step=15"))
	require.Equal(t, `200 {"status":"success","data":["__name__","my","other","u"]}`,
		post("/api/v1/labels", "start=1699999000&end=1700000020&match%5B%5D=%7B__name__%3D~%22l1_.%2B%22%2C%7D"))
	require.Equal(t, `200 {"status":"success","data":["v1"]}`,
		answerLine(do(h, "GET", "/api/v1/label/my/values?start=1699999000&end=1700000020&match%5B%5D=l1_abc&limit=40000")))
	require.Contains(t, do(h, "GET", "/api/v1/metadata?limit=5000").Body.String(), `"b_total":[{"type":"counter","unit":"bytes","help":"Bytes \u003cread\u003e."}`)
	require.Equal(t, `200 {"status":"success","data":[]}`, post("/api/v1/query_exemplars", "query=nope&start=1699999000&end=1700000020"))
}

// TestSlowQueries covers the timeout, the client that leaves and the queue.
func TestSlowQueries(t *testing.T) {
	engine, err := promqlx.New(promqlx.Options{MaxConcurrent: 1, MaxSamples: 1000})
	require.NoError(t, err)
	blocked := &blocking{Storage: apitest.Data(), entered: make(chan struct{}, 10)}
	h := serve(newAPI(t, func(o *Options) { o.Engine, o.Storage = engine, blocked }))

	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan string)
	go func() {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query?query=or1&time=1700000000", http.NoBody).WithContext(ctx))
		left <- answerLine(w)
	}()
	<-blocked.entered // the one slot is taken

	require.Equal(t, `503 {"status":"error","errorType":"timeout","error":"query timed out in query queue"}`,
		answerLine(do(h, "GET", "/api/v1/query?query=or1&time=1700000000&timeout=20ms")))
	gone, leave := context.WithTimeout(t.Context(), time.Hour)
	leave()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query?query=or1", http.NoBody).WithContext(gone))
	require.Equal(t, `499 {"status":"error","errorType":"canceled","error":"query was canceled in query queue"}`, answerLine(w))
	require.Equal(t, 400, do(h, "GET", "/api/v1/query?query=(").Code, "a bad text needs no slot")

	cancel()
	require.Equal(t, `499 {"status":"error","errorType":"canceled","error":"query was canceled in expression evaluation"}`, <-left)
	require.Equal(t, `503 {"status":"error","errorType":"timeout","error":"query timed out in expression evaluation"}`,
		answerLine(do(h, "GET", "/api/v1/query?query=or1&time=1700000000&timeout=20ms")))
	require.Equal(t, `422 {"status":"error","errorType":"execution","error":"query processing would load too many samples into memory in query execution"}`,
		answerLine(do(h, "GET", "/api/v1/query?query=sum_over_time(vector(1)[60000000s:1s])&time=1700000000")), "PB-45")
}

// TestParallelQueries is PB-45: with one slot, many queries wait for their turn.
func TestParallelQueries(t *testing.T) {
	engine, err := promqlx.New(promqlx.Options{MaxConcurrent: 1})
	require.NoError(t, err)
	h := serve(newAPI(t, func(o *Options) { o.Engine = engine }))
	answers := make(chan string)
	for range 200 {
		go func() { answers <- answerLine(do(h, "GET", "/api/v1/query?query=or1&time=1700000000")) }()
	}
	for range 200 {
		require.Equal(t, `200 {"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"or1"},"value":[1700000000,"5"]}]}}`, <-answers)
	}
}

func TestElevenThousandPoints(t *testing.T) {
	h := serve(newAPI(t))
	w := do(h, "GET", "/api/v1/query_range?query=vector(1)&start=0&end=11000&step=1")
	require.Equal(t, 200, w.Code)
	require.Equal(t, 11001, strings.Count(w.Body.String(), `,"1"]`), "PB-41")
}

func TestTimes(t *testing.T) {
	f := func(s string, wantMs int64) {
		t.Helper()
		got, err := parseTime(s)
		require.NoError(t, err)
		require.Equal(t, wantMs, got.UnixMilli(), s)
	}
	f("0", 0)
	f("-0.001", -1)
	f("1700000000.433", 1700000000433)
	f("1.0004", 1000)
	f("1.0006", 1001)
	f("2023-11-14T22:13:20.433Z", 1700000000433)
	f("-292273086-05-16T16:47:06Z", minUnix*1000)
	f("292277025-08-18T07:12:54.999999999Z", maxUnix*1000+999)
	f("1e300", maxUnix*1000+999)
	f("+Inf", maxUnix*1000+999)
	f("-Inf", minUnix*1000)
	f("-9223372036854775808", minUnix*1000)
	for _, s := range []string{"", "x", "NaN", "2023-13-01T00:00:00Z"} {
		_, err := parseTime(s)
		require.EqualError(t, err, `cannot parse "`+s+`" to a valid timestamp`)
	}
	require.Less(t, int64(math.MinInt64), minTime().UnixMilli())
	require.Equal(t, labels.EmptyLabels(), Options{}.ExternalLabels)
}

// Times that are further apart than a time.Duration is long have too many points too.
func TestPointsOfAllTime(t *testing.T) {
	h := serve(newAPI(t))
	f := func(start, end, step string, want int) {
		t.Helper()
		w := do(h, "GET", "/api/v1/query_range?query=1&start="+start+"&end="+end+"&step="+step)
		require.Equal(t, want, w.Code, w.Body.String())
	}
	f("0", "9007199254740991", "838800", http.StatusBadRequest)
	f("-9007199254740991", "9007199254740991", "31536000", http.StatusBadRequest)
	f("0", "9223372036", "838488", http.StatusOK)
	f("0", "31536000000", "3153600", http.StatusOK)
	f("0", "31536000000", "2866000", http.StatusBadRequest)
}

// A step below the unit of times is named, where Prometheus answers with a panic
// that it caught.
func TestFinestStep(t *testing.T) {
	f := func(step, want string) {
		t.Helper()
		require.Equal(t, want, answerLine(do(serve(newAPI(t)), "GET", "/api/v1/query_range?query=1&start=0&end=0.001&step="+step)))
	}
	const tooFine = `400 {"status":"error","errorType":"bad_data","error":"invalid parameter \"step\": query resolution step widths below 1ms are not accepted, got `
	f("0.0001", tooFine+`100µs"}`)
	f("0.0009", tooFine+`900µs"}`)
	f("1e-9", `400 {"status":"error","errorType":"bad_data","error":"exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)"}`)
	for _, step := range []string{"0.001", "1ms", "0.0015"} {
		f(step, `200 {"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"values":[[0,"1"],[0.001,"1"]]}]}}`)
	}
}
