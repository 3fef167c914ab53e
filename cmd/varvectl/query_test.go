package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestQuery(t *testing.T) {
	var asked, answer string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked = r.URL.Path + " " + r.PostForm.Encode()
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(server.Close)
	f := func(args []string, from, wantAsked, wantOut, wantErr string, wantCode int) {
		t.Helper()
		answer = from
		code, out, errOut := ctl(append([]string{"query", "--url=" + server.URL + "/"}, args...)...)
		require.Equal(t, wantOut, out)
		require.Equal(t, wantErr, errOut)
		require.Equal(t, wantCode, code)
		require.Equal(t, wantAsked, asked)
	}
	f([]string{"up"}, `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"up","job":"a"},"value":[1.5,"1"]},{"metric":{},"histogram":[2,{"count":"3"}]}]},"infos":["i"],"warnings":["w"]}`,
		"/api/v1/query query=up", "{__name__=\"up\", job=\"a\"} 1 @[1.5]\n{} {\"count\":\"3\"} @[2]\n", "warning: w\ninfo: i\n", 0)
	f([]string{"up", "--start=1", "--end=2", "--step=1s"}, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"a":"b"},"values":[[1,"1"],[2,"NaN"]],"histograms":[[3,{}]]}]}}`,
		"/api/v1/query_range end=2&query=up&start=1&step=1s", "{a=\"b\"}\n1 @[1]\nNaN @[2]\n{} @[3]\n", "", 0)
	f([]string{"1", "--time=7", "--trace"}, `{"status":"success","data":{"resultType":"scalar","result":[7,"1"]},"trace":{"duration_msec":1.5,"message":"query","children":[{"duration_msec":0.001,"message":"parse"}]}}`,
		"/api/v1/query query=1&time=7&trace=1", "1 @[7]\n\n1.500ms query\n  0.001ms parse\n", "", 0)
	f([]string{"--explain", "1"}, `{"status":"success","data":{"explain":"plan\n  of it\n"}}`, "/api/v1/query explain=1&query=1", "plan\n  of it\n", "", 0)
	f([]string{"("}, `{"status":"error","errorType":"bad_data","error":"no"}`, "/api/v1/query query=%28", "", "varvectl: bad_data: no\n", 1)
	f([]string{"1"}, `nonsense`, "/api/v1/query query=1", "", "varvectl: the server answers 200 OK: nonsense\n", 1)
	f([]string{"1"}, `{"status":"success","data":{"resultType":"vector","result":7}}`, "/api/v1/query query=1", "",
		"varvectl: read result: json: cannot unmarshal number into Go value of type []main.querySeries\n", 1)
	asked = ""
	f([]string{"1", "--time=1", "--start=1"}, "", "", "", "varvectl: --time and --start exclude each other\n", 2)
	server.Close()
	code, _, errOut := ctl("query", "--url="+server.URL, "1")
	require.Equal(t, 1, code)
	require.Contains(t, errOut, "varvectl: ask server: ")
}
