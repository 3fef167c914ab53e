package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api/apitest"
)

func TestVMLabels(t *testing.T) {
	h := serve(newAPI(t))
	f := func(target, want string) {
		t.Helper()
		w := do(h, "GET", "/metricsql/api/v1/"+target)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Equal(t, `{"status":"success","data":[`+want+"]}", w.Body.String())
	}
	f(`labels?match[]={__name__="l1_abc"+or+__name__="p12"}`, `"__name__","my","u","x"`)
	f("label/my/values", `"v1","v2"`)
	f("label/my/values?limit=1", `"v1"`)
	f("label/l/values", `"\u003cb>&\"q\"\\\n\r\t\b\f\u0001`+"\x7f\u2028é\U0001F600"+`"`)
	f("label/U__host_2e_name/values", `"h1"`)
	f("label/nope/values?start=1", "")
	f("series?match[]=l1_abc&match[]=or1", `{"__name__":"l1_abc","my":"v1","u":"https://x.example/a?b=c&d=é"},{"__name__":"or1"}`)
	f("series?match[]=%7B__name__=~%22l1_.*%22%7D&limit=1", `{"__name__":"l1_abc","my":"v1","u":"https://x.example/a?b=c&d=é"}`)
	f(`series?match[]=my.m%C3%A9tric&start=0`, `{"__name__":"my.métric","Z":"z","host.name":"h1","label with space":"s"}`)
	f("series/count", "39")

	bad := func(target, want string) {
		t.Helper()
		w := do(h, "GET", "/metricsql/api/v1/"+target)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code)
		require.Equal(t, `{"status":"error","errorType":"422","error":"`+want+`"}`, w.Body.String())
	}
	bad("series", "missing `match[]` arg")
	bad("labels?limit=x", `cannot parse integer \"limit\"=\"x\": strconv.Atoi: parsing \"x\": invalid syntax`)
	bad("label/a/values?match[]={}", "cannot parse matches[]={}: labelFilterss cannot be empty")

	data := apitest.Data()
	data.Err = errors.New("torn page")
	h = serve(newAPI(t, func(o *Options) { o.Storage = data }))
	bad("labels", "torn page")
	bad("series?match[]=a", "cannot fetch time series: torn page")
	bad("series/count", "cannot obtain series count: torn page")
	bad("status/tsdb", "cannot obtain tsdb stats: torn page")
}

func TestWholeDays(t *testing.T) {
	f := func(start, end, mint, maxt int64) {
		t.Helper()
		gotMin, gotMax := wholeDays(start, end)
		require.Equal(t, [2]int64{mint, maxt}, [2]int64{gotMin, gotMax})
	}
	const day = 86_400_000
	f(day, day, day, 2*day-1)
	f(day-1, day, 0, 2*day-1)
	f(day+5, 3*day-1, day, 3*day-1)
	f(-5, -1, 0, day-1)
}

func TestVMFederate(t *testing.T) {
	data := apitest.Data()
	data.Add(labels.FromStrings("__name__", "a.b:c", "l-m", "x\"\\\n"), apitest.Point{Time: apitest.Base + 990_000, Value: 1e-7})
	h := serve(newAPI(t, func(o *Options) { o.Storage = data }))
	f := func(query, want string, headers ...string) {
		t.Helper()
		w := do(h, "GET", "/metricsql/federate?"+query, headers...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.Equal(t, "text/plain; charset=utf-8", w.Header().Get("Content-Type"))
		require.Equal(t, want, w.Body.String())
	}
	const newest = "1700000990000\n"
	f("match[]={__name__=~%22f1|a.*%22}", "a.b:c{l-m=\"x\\\"\\\\\\n\"} 0.0000001 "+newest+"f1{a=\"x\"} 1 1700000970000\n")
	f("match[]=a\\.b:c", "a_b:c{l_m=\"x\\\"\\\\\\n\"} 0.0000001 "+newest, "User-Agent", "Prometheus/3.4.0")
	f("match[]=a\\.b:c", "{\"a.b:c\",\"l-m\"=\"x\\\"\\\\\\n\"} 0.0000001 "+newest, "Accept", "text/plain;escaping=allow-utf-8")
	f("match[]=or1", "")
	f("match[]=or1&start=1700000000&end=1700000010", "or1 5 1700000000000\n")
	f("match[]=p13&max_lookback=1h&extra_label=a=b", "")
	f("match[]=p13&max_lookback=1h", "p13 60 1700000060000\n")

	w := do(h, "GET", "/metricsql/federate")
	require.Equal(t, http.StatusBadRequest, w.Code)
	require.Equal(t, "missing `match[]` arg\n", w.Body.String())
	require.Equal(t, http.StatusBadRequest, do(h, "GET", "/federate?dialect=x").Code)
	require.Equal(t, http.StatusBadRequest, do(h, "GET", "/metricsql/federate?match[]=a&max_lookback=x").Code)
}

func TestVMStatus(t *testing.T) {
	h := serve(newAPI(t))
	get := func(target string) string {
		t.Helper()
		w := do(h, "GET", "/metricsql/api/v1/"+target)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		return w.Body.String()
	}
	require.Equal(t, `{"status":"success","data":{"totalSeries":2,"totalLabelValuePairs":6,`+
		`"seriesCountByMetricName":[{"name":"l1_abc","value":1}],"seriesCountByLabelName":[{"name":"__name__","value":2}],`+
		`"seriesCountByFocusLabelValue":[{"name":"v1","value":1}],"seriesCountByLabelValuePair":[{"name":"__name__=l1_abc","value":1}],`+
		`"labelValueCountByLabelName":[{"name":"__name__","value":2}]}}`,
		get(`status/tsdb?topN=1&match[]={my!=%22%22}&focusLabel=my&date=2023-11-14`))
	require.Contains(t, get("status/tsdb?date=0"), `"totalSeries":39,`)
	require.Contains(t, get("status/tsdb?date=2000-01-01"), `"totalSeries":0,"totalLabelValuePairs":0,"seriesCountByMetricName":[],`)
	require.Equal(t, `{"status":"ok","data":[]}`, get("status/active_queries"))

	require.Equal(t, http.StatusOK, do(h, "GET", "/api/v1/query?query="+url.QueryEscape("or1 + p13 + or1")).Code)
	var top struct{ TopN, MaxLifetime string }
	require.NoError(t, json.Unmarshal([]byte(get("status/top_queries?topN=3")), &top))
	require.Equal(t, "3", top.TopN)
	require.Contains(t, get("status/top_queries"), `"search.queryStats.lastQueriesCount":20000,"search.queryStats.minQueryDuration":"0s","search.queryStats.minQueryMemoryUsage":"0",`)
	require.Regexp(t, `"statsCollectedRecordsTotal":2,"records":\[\{"metricName":"or1","queryRequestsCount":1\},\{"metricName":"p13","queryRequestsCount":1\}\]\}$`,
		get("status/metric_names_stats?match_pattern=or1|p13"))
	require.Contains(t, get("status/metric_names_stats?match_pattern=or1|p12&le=0"), `"records":[{"metricName":"p12","queryRequestsCount":0}]`)
	require.Equal(t, 1, strings.Count(get("status/metric_names_stats?limit=1"), "metricName\""))

	require.Equal(t, `{"status":"success","data":{"a":[{"type":"gauge","help":"A."}],"b_total":[{"type":"counter","unit":"bytes","help":"Bytes \u003cread>."}],"c":[{"type":"unknown","help":""}]}}`, get("metadata"))
	require.Equal(t, `{"status":"success","data":{"a":[{"type":"gauge","help":"A."}]}}`, get("metadata?metric=a&limit=1"))

	for target, code := range map[string]int{
		"status/tsdb?date=x": 422, "status/tsdb?topN=x": 422, "status/tsdb?match[]=(": 422, "status/top_queries?topN=x": 422, "metadata?limit=x": 422,
		"status/metric_names_stats?limit=x": 400, "status/metric_names_stats?le=x": 400, "status/metric_names_stats?match_pattern=(": 400,
	} {
		require.Equal(t, code, do(h, "GET", "/metricsql/api/v1/"+target).Code, target)
	}
}

func TestPrettifyAndExpand(t *testing.T) {
	h := serve(newAPI(t))
	f := func(target, want string) {
		t.Helper()
		w := do(h, "GET", target)
		require.Equal(t, http.StatusOK, w.Code)
		require.Equal(t, want, w.Body.String())
	}
	f("/prettify-query?query=a%2B1", `{"status": "success", "query": "a + 1"}`)
	f("/metricsql/prettify-query?query=sum(", `{"status": "error", "msg": "singleExpr: unexpected token \"\"; want \"(\", \"{\", \"-\", \"+\"; unparsed data: \"\""}`)
	with := url.QueryEscape("WITH (f(x) = x{a='<b>'}) f(m)")
	f("/metricsql/expand-with-exprs?format=json&query="+with, `{"status": "success","expr":"m{a=\"\u003cb>\"}"}`)
	f("/expand-with-exprs?format=json&query=a%2Bb%7Bx=%221%22%7D", `{"status": "success","expr":"a{x=\"1\"} + b{x=\"1\"}"}`)
	f("/expand-with-exprs?format=json", `{"status": "error","error":"query string cannot be empty"}`)
	require.Contains(t, do(h, "GET", "/expand-with-exprs?format=json&query=sum(").Body.String(), `{"status": "error","error":"Cannot parse query: `)
	long := strings.Repeat("abs(", 4000) + "m" + strings.Repeat(")", 4000)
	require.Contains(t, do(h, "GET", "/prettify-query?query="+long).Body.String(), "too long query")
	grows := strings.Repeat("ru(1,", 60) + "m" + strings.Repeat(")", 60)
	const tooLong = "too long query; it has more than 65536 bytes when its WITH templates are written out"
	for _, path := range []string{"/expand-with-exprs?format=json&query=", "/metricsql/api/v1/query?query=", "/metricsql/api/v1/series?match[]="} {
		w := do(h, "GET", path+grows)
		require.Contains(t, w.Body.String(), tooLong, path)
		if strings.HasPrefix(path, "/metricsql") {
			require.Equal(t, http.StatusUnprocessableEntity, w.Code, path)
		}
	}
	w := do(h, "GET", "/expand-with-exprs?query="+with)
	require.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	require.Contains(t, w.Body.String(), "m{a=&#34;&lt;b&gt;&#34;}")
	require.NotContains(t, w.Body.String(), "<b>")
}
