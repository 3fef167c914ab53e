package remote_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/tsdb"
)

func newDoor(t *testing.T) (*remote.Door, *httptest.Server) {
	t.Helper()
	engine, err := promqlx.New(promqlx.Options{})
	require.NoError(t, err)
	door, err := remote.New(remote.Options{Engine: engine, EnableAdminAPI: true})
	require.NoError(t, err)
	server := httptest.NewServer(door)
	t.Cleanup(server.Close)
	return door, server
}

func openDoor(t *testing.T, opts tsdb.Options) (*tsdb.DB, *httptest.Server) {
	t.Helper()
	door, server := newDoor(t)
	opts.MinFree = -1
	db, err := tsdb.Open(t.TempDir(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	door.Open(db)
	return db, server
}

func ask(t *testing.T, method, url, body string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(b), resp.Header
}

// Before the store is open the door is healthy, not ready, and takes nothing.
func TestDoorIsServedBeforeTheStoreIsOpen(t *testing.T) {
	_, server := newDoor(t)
	f := func(method, path string, want int) {
		t.Helper()
		code, _, _ := ask(t, method, server.URL+path, "m v=1")
		require.Equal(t, want, code, "%s %s", method, path)
	}
	f("GET", "/-/healthy", 200)
	f("GET", "/health", 200)
	f("GET", "/metrics", 200)
	f("GET", "/api/v1/status/walreplay", 200)
	f("GET", "/-/ready", 503)
	f("GET", "/api/v1/query?query=up", 503)
	f("POST", "/api/v1/write", 503)
	f("POST", "/api/v1/read", 503)
	f("POST", "/write", 503)
	f("GET", "/ping", 503)
	_, _, header := ask(t, "POST", server.URL+"/write", "m v=1")
	require.NotEmpty(t, header.Get("Retry-After"))
}

func TestDoorRoutesEveryProtocol(t *testing.T) {
	_, server := openDoor(t, tsdb.Options{})
	f := func(method, path, body string, want int) string {
		t.Helper()
		code, text, _ := ask(t, method, server.URL+path, body)
		require.Equal(t, want, code, "%s %s: %s", method, path, text)
		return text
	}
	f("GET", "/-/ready", "", 200)
	for _, prefix := range []string{"/write", "/api/v2/write", "/influx/write", "/influx/api/v2/write"} {
		f("POST", prefix, "weather,city=Rome temp=21.5", 204)
	}
	f("GET", "/ping", "", 204)
	f("POST", "/api/v1/import", `{"metric":{"__name__":"imported"},"values":[1],"timestamps":[1700000000000]}`, 204)
	for _, prefix := range []string{"", "/prometheus"} {
		f("POST", prefix+"/api/v1/import/csv?format=1:metric:table_metric,2:time:unix_ms", "3,1700000000000", 204)
		f("POST", prefix+"/api/v1/import/csv?format=1:metric", "3", 400)
	}
	f("POST", "/api/v1/import/prometheus", "text_metric 3 1700000000000", 204)
	f("POST", "/api/v1/import/prometheus/metrics/job/j1", "text_metric3 3 1700000000000", 200)
	f("POST", "/prometheus/api/v1/import/prometheus", "text_metric2 3 1700000000000", 204)
	for _, prefix := range []string{"", "/prometheus"} {
		require.Contains(t, f("GET", prefix+"/api/v1/query?query=weather_temp", "", 200), `"21.5"`)
		require.Contains(t, f("GET", prefix+"/api/v1/export?match[]=imported", "", 200), `"values":[1]`)
		require.Contains(t, f("GET", prefix+"/api/v1/export?match[]=table_metric", "", 200), `"values":[3]`)
	}
	f("POST", "/api/v1/write", "", 400)
	f("POST", "/api/v1/read", "", 400)
	f("GET", "/api/v1/write", "", 405)
	f("GET", "/api/v1/nope", "", 404)
	f("GET", "/nope", "", 404)
	require.Contains(t, f("GET", "/", "", 200), "varve")
	require.Contains(t, f("GET", "/metrics", "", 200), `varve_http_requests_total{code="204",handler="protocol"} `)
	f("POST", "/internal/force_flush", "", 200)
	f("POST", "/internal/force_merge", "", 200)
	require.Contains(t, f("GET", "/api/v1/status/tsdb", "", 200), "seriesCountByMetricName")
	require.Contains(t, f("GET", "/api/v1/status/tsdb/blocks", "", 200), `"ulid":"0000`)
	require.Contains(t, f("POST", "/api/v1/admin/tsdb/snapshot", "", 200), `"name"`)
	f("POST", "/api/v1/admin/tsdb/delete_series?match[]=weather_temp", "", 204)
	f("POST", "/api/v1/admin/tsdb/clean_tombstones", "", 204)
	require.NotContains(t, f("GET", "/api/v1/query?query=weather_temp", "", 200), `"21.5"`)
}

// A path that has others below it answers itself, without a redirect.
func TestDoorDoesNotRedirect(t *testing.T) {
	door, _ := newDoor(t)
	for _, path := range []string{"/api/v1/import/prometheus", "/prometheus/api/v1/import/prometheus", "/api/v1/influx", "/write", "/api/v1/query"} {
		w := httptest.NewRecorder()
		door.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		require.Equal(t, 503, w.Code, path)
	}
}

func TestHealthSpeaksInfluxToItsClients(t *testing.T) {
	door, _ := newDoor(t)
	r := httptest.NewRequest("GET", "/health", nil)
	w := httptest.NewRecorder()
	door.ServeHTTP(w, r)
	require.Equal(t, "OK", w.Body.String())
	r.Header.Set("Accept", "application/json")
	w = httptest.NewRecorder()
	door.ServeHTTP(w, r)
	require.JSONEq(t, `{"name":"influxdb","message":"ready for queries and writes","status":"pass","checks":[]}`, w.Body.String())
}

func TestSeriesLimitIsAnsweredWith429(t *testing.T) {
	_, server := openDoor(t, tsdb.Options{MaxSeries: 1})
	code, _, _ := ask(t, "POST", server.URL+"/write", "a v=1")
	require.Equal(t, 204, code)
	code, text, header := ask(t, "POST", server.URL+"/write", "b v=1")
	require.Equal(t, 429, code)
	require.Contains(t, text, "1 active series")
	require.NotEmpty(t, header.Get("Retry-After"))
}

func TestMistakesOfImportAndReadAre400(t *testing.T) {
	_, server := openDoor(t, tsdb.Options{})
	code, text, _ := ask(t, "POST", server.URL+"/api/v1/import", "{oops\n"+`{"metric":{"__name__":"ok"},"values":[1],"timestamps":[1700000000000]}`)
	require.Equal(t, 400, code)
	require.Contains(t, text, "line 1")
	code, text, _ = ask(t, "GET", server.URL+"/api/v1/export?match[]=ok", "")
	require.Equal(t, 200, code)
	require.Contains(t, text, "ok", "the good neighbour was kept")
	code, _, _ = ask(t, "POST", server.URL+"/api/v1/read", "not snappy at all")
	require.Equal(t, 400, code)
}
