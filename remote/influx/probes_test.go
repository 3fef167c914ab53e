package influx

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProbes(t *testing.T) {
	d := openDoor(t, Options{Databases: []string{"a", "b"}, Version: "9.9.9"})
	f := func(method, path, body string, status int, want string) {
		t.Helper()
		w := d.send(httptest.NewRequest(method, path, strings.NewReader(body)))
		require.Equal(t, status, w.Code, path)
		require.Equal(t, want, strings.TrimSpace(w.Body.String()))
		if status < 400 {
			require.Equal(t, "9.9.9", w.Header().Get("X-Influxdb-Version"), path)
		}
	}
	f("GET", "/ping", "", 204, "")
	f("HEAD", "/ping", "", 204, "")
	f("GET", "/ping?verbose=true", "", 200, `{"version":"9.9.9"}`)
	databases := `{"results":[{"statement_id":0,"series":[{"name":"databases","columns":["name"],"values":[["a"],["b"]]}]}]}`
	f("GET", "/query?q=SHOW+DATABASES", "", 200, databases)
	f("POST", "/query", "q=CREATE+DATABASE+x", 200, databases)
	f("POST", "/influx/query?q=CREATE+DATABASE+x", "", 200, databases)
	f("GET", "/influx/health", "", 200, `{"name":"influxdb", "message":"ready for queries and writes", "status":"pass", "checks":[]}`)
	f("GET", "/write", "", 204, "")
	f("POST", "/write", "", 204, "")
	f("GET", "/influx/nonsense", "", 400, `unsupported path requested: "/influx/nonsense"`)
	f("POST", "/write/", "m v=1", 400, `unsupported path requested: "/write/"`)

	bucket := `{"id":"0000000000000001","orgID":"0000000000000001","type":"user","name":"telegraf","retentionRules":[],` +
		`"createdAt":"0001-01-01T00:00:00Z","updatedAt":"0001-01-01T00:00:00Z"}`
	for _, prefix := range []string{"", "/influx"} {
		path := prefix + "/api/v2/buckets"
		f("GET", path+"?name=telegraf", "", 200, `{"buckets":[`+bucket+`],"links":{"self":"`+path+`?name=telegraf"}}`)
		f("POST", path, `{"name":"telegraf","orgID":"x"}`, 201, bucket)
		f("POST", path, `{`, 400, `{"error":"cannot read the bucket: unexpected EOF","code":"invalid","message":"cannot read the bucket: unexpected EOF"}`)
		f("DELETE", path, "", 405, `{"error":"buckets can be listed and created only","code":"method not allowed","message":"buckets can be listed and created only"}`)
	}
	require.Empty(t, d.all(`{__name__=~".+"}`))
}

// Stream mode stores the good lines and keeps silent about the bad ones.
func TestStreamMode(t *testing.T) {
	d := openDoor(t, Options{})
	req := httptest.NewRequest("POST", "/write", strings.NewReader("s v=1 1700000000\nbad\ns v=2 1700000001"))
	req.Header.Set("Stream-Mode", "1")
	require.Equal(t, 204, d.send(req).Code)
	require.Equal(t, "{__name__=\"s_v\"} 1700000000000=1 1700000001000=2\n", d.text(`{__name__="s_v"}`))
	require.Equal(t, uint64(1), d.h.Stats().BadLines)
}
