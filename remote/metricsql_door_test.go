package remote_test

import (
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote"
	"github.com/varvedb/varve/remote/api"
)

func getFrom(h http.Handler, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
	return w
}

// Answers of VictoriaMetrics over the same data, without its counts of requests.
func TestMetricsQLCardinality(t *testing.T) {
	db, h := vmDoor(t)
	f := func(args, want string) {
		t.Helper()
		for range 2 {
			w := getFrom(h, "/metricsql/api/v1/status/tsdb?"+args)
			require.Equal(t, http.StatusOK, w.Code, w.Body.String())
			require.Equal(t, `{"status":"success","data":{`+want+"}}", w.Body.String())
			require.NoError(t, db.ForceFlush(t.Context()))
		}
	}
	f("date=2025-06-16&topN=3&focusLabel=disk", `"totalSeries":4,"totalLabelValuePairs":10,"seriesCountByMetricName":[{"name":"backup_runs_total","value":2},{"name":"disk_free_gib","value":2}],`+
		`"seriesCountByLabelName":[{"name":"__name__","value":4},{"name":"dc","value":4},{"name":"disk","value":2}],`+
		`"seriesCountByFocusLabelValue":[{"name":"sda","value":1},{"name":"sdb","value":1}],`+
		`"seriesCountByLabelValuePair":[{"name":"__name__=backup_runs_total","value":2},{"name":"__name__=disk_free_gib","value":2},{"name":"dc=fra","value":2}],`+
		`"labelValueCountByLabelName":[{"name":"__name__","value":2},{"name":"dc","value":2},{"name":"disk","value":2}]`)
	f("date=2025-06-15&topN=1&match[]={job=%22web%22}&match[]=tank_level", `"totalSeries":23,"totalLabelValuePairs":92,"seriesCountByMetricName":[{"name":"http_requests_total","value":8}],`+
		`"seriesCountByLabelName":[{"name":"__name__","value":23}],"seriesCountByFocusLabelValue":[],`+
		`"seriesCountByLabelValuePair":[{"name":"job=web","value":22}],"labelValueCountByLabelName":[{"name":"le","value":8}]`)
}

// Names that Prometheus' text did not have of old, as VictoriaMetrics wrote them.
func TestMetricsQLFederationOfNames(t *testing.T) {
	_, h := vmDoor(t)
	f := func(header, value, want string) {
		t.Helper()
		r := httptest.NewRequest(http.MethodGet, `/metricsql/federate?match[]={__name__=~%22legacy.*%22}&start=1749942000&end=1749942600`, nil)
		r.Header.Set(header, value)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.Equal(t, want+" 47 1749942600000\n", w.Body.String())
	}
	f("Accept", "allow-utf-8", `{"legacy.disk-usage","job"="db","mount-point"="/var/lib"}`)
	f("User-Agent", "Prometheus", `legacy_disk_usage{job="db",mount_point="/var/lib"}`)
	f("User-Agent", "curl", `legacy.disk-usage{job="db",mount-point="/var/lib"}`)
}

var took = regexp.MustCompile(`Msec":\d+`)

// All ways to ask for the dialect give the same answer, and the default is the
// server's choice.
func TestMetricsQLIsAskedForInManyWays(t *testing.T) {
	_, h := vmDoor(t)
	_, vm := vmDoor(t, func(o *remote.Options) { o.Dialect, o.LatencyOffset = api.MetricsQL, 30*time.Second })
	const range_ = "query=sum(rate(http_requests_total))+by+(job)&start=1749942000&end=1749945600&step=60"
	body := func(h http.Handler, target string) string {
		t.Helper()
		w := getFrom(h, target)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return took.ReplaceAllString(w.Body.String(), `Msec":0`)
	}
	want := body(h, "/metricsql/api/v1/query_range?"+range_)
	require.Contains(t, want, `"seriesFetched": "20"`)
	for _, target := range []string{"/api/v1/query_range?dialect=metricsql&", "/prometheus/api/v1/query_range?dialect=metricsql&", "/prometheus/metricsql/api/v1/query_range?"} {
		require.Equal(t, want, body(h, target+range_), target)
	}
	for _, target := range []string{"/api/v1/query_range?", "/prometheus/api/v1/query_range?", "/metricsql/api/v1/query_range?"} {
		require.Equal(t, want, body(vm, target+range_), target)
	}
	// PromQL has no rate without a window.
	for _, ask := range []func() *httptest.ResponseRecorder{
		func() *httptest.ResponseRecorder { return getFrom(h, "/api/v1/query_range?"+range_) },
		func() *httptest.ResponseRecorder { return getFrom(vm, "/api/v1/query_range?dialect=promql&"+range_) },
	} {
		w := ask()
		require.Equal(t, http.StatusBadRequest, w.Code)
		require.Contains(t, w.Body.String(), `"errorType":"bad_data"`)
	}
	r := httptest.NewRequest(http.MethodPost, "/metricsql/api/v1/query_range", strings.NewReader(range_))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, want, took.ReplaceAllString(w.Body.String(), `Msec":0`))
}

// Requests that VictoriaMetrics dies of, or could: all are answered.
func TestMetricsQLHostileRequests(t *testing.T) {
	_, h := vmDoor(t)
	f := func(code int, target string) {
		t.Helper()
		w := getFrom(h, "/metricsql/api/v1/"+target)
		require.Equal(t, code, w.Code, "%s: %s", target, w.Body.String())
	}
	f(422, `query?query=limit_offset(%22a%22,1,license_seats)`) // crashes 1.146
	f(422, `query?query=limit_offset(1,%22a%22,license_seats)`)
	f(200, `query?query=limit_offset(1,9,license_seats)&time=1749942000`)
	f(422, `query?query=limit_offset(-1,-1,license_seats)&time=1749942000`)
	f(422, `query_range?query=1&start=0&end=9223372036854&step=0.001`)
	f(200, `query_range?query=license_seats&start=9223372036854&end=0&step=1d`)
	f(200, `query?query=license_seats[100y]&time=9223372036854`)
	f(200, `query?query=1&time=-9223372036.854`)
	f(200, `query?query=license_seats&round_digits=-9223372036854775808`)
	f(200, `labels?start=9223372036854&end=0`)
	f(200, `label/job/values?start=0&end=9223372036854&limit=-5`)
	f(422, `query?query=`+strings.Repeat("(", 16000))
	f(422, `query?query=`+strings.Repeat("-", 16000)+"1{")
}
