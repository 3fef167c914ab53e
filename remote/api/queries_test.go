package api

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/remote/api/apitest"
)

// failing is an engine all of whose queries fail.
type failing struct {
	Engine
	err error
}

func (f failing) Instant(context.Context, promqlx.Queryable, string, promqlx.QueryOptions, time.Time) (promqlx.Query, error) {
	return f, nil
}
func (f failing) Exec(context.Context) *promqlx.Result { return &promqlx.Result{Err: f.err} }
func (f failing) Close()                               {}
func (f failing) Stats() *stats.Statistics             { return nil }

func TestMemoryLimits(t *testing.T) {
	f := func(err error, code int, retry, body string) {
		t.Helper()
		w := do(serve(newAPI(t, func(o *Options) { o.Engine = failing{o.Engine, err} })), "GET", "/api/v1/query?query=up")
		require.Equal(t, code, w.Code)
		require.Equal(t, retry, w.Header().Get("Retry-After"))
		require.JSONEq(t, body, w.Body.String())
	}
	f(&promqlx.MemoryError{Needs: 300 << 20, Limit: 256 << 20, Flag: "--query.max-memory-per-query"}, http.StatusUnprocessableEntity, "",
		`{"status":"error","errorType":"execution","error":"query needs at least 300 MiB of memory (limit: 256 MiB, --query.max-memory-per-query)"}`)
	f(&promqlx.QueueError{Needs: 300 << 20, Limit: 512 << 20}, http.StatusServiceUnavailable, "5",
		`{"status":"error","errorType":"timeout","error":"query timed out in query queue: waited for 300 MiB of memory (limit of all queries: 512 MiB, --query.max-memory)"}`)
}

func TestExplain(t *testing.T) {
	h := serve(newAPI(t))
	for _, path := range []string{"/api/v1/query?query=sum(or1)&explain=1", "/api/v1/query_range?query=sum(or1)&start=1&end=2&step=1&explain=true"} {
		w := do(h, "GET", path)
		require.Equal(t, http.StatusOK, w.Code)
		var got struct {
			Status string
			Data   struct{ Explain string }
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		require.Equal(t, "success", got.Status)
		require.Contains(t, got.Data.Explain, "or1")
		require.Contains(t, got.Data.Explain, "\n", "text of several lines")
	}
	require.Equal(t, http.StatusBadRequest, do(h, "GET", "/api/v1/query?query=sum(&explain=1").Code)
	require.Contains(t, do(h, "GET", "/api/v1/query?query=up&explain=maybe").Body.String(), `invalid parameter \"explain\": cannot parse \"maybe\" to a valid boolean`)
	require.Contains(t, do(h, "GET", "/api/v1/query?query=up&trace=maybe").Body.String(), `invalid parameter \"trace\"`)
	require.NotContains(t, do(h, "GET", "/api/v1/query?query=up&explain=0").Body.String(), "explain")
	require.Contains(t, do(h, "GET", "/api/v1/query?query=up&nocache=maybe").Body.String(), `invalid parameter \"nocache\"`)
	require.Contains(t, do(h, "GET", "/api/v1/query?query=up&nocache=1").Body.String(), `"status":"success"`)
}

// traceNode is a step of a trace as clients read it.
type traceNode struct {
	Milliseconds float64 `json:"duration_msec"`
	Message      string
	Children     []traceNode
}

func TestTrace(t *testing.T) {
	h := serve(newAPI(t))
	const path = "/api/v1/query_range?query=or1&start=1700000000&end=1700000002&step=1"
	plain := do(h, "GET", path).Body.String()
	require.NotContains(t, plain, "duration_msec")
	w := do(h, "GET", path+"&trace=1")
	require.Equal(t, plain[:len(plain)-1]+`,"trace":`, w.Body.String()[:len(plain)-1+len(`,"trace":`)], "all else is as without it")
	var got struct{ Trace traceNode }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Equal(t, "/api/v1/query_range or1", got.Trace.Message)
	var steps []string
	for _, c := range got.Trace.Children {
		steps = append(steps, c.Message)
	}
	require.Len(t, steps, 5)
	require.Equal(t, []string{"parse 3 bytes", "plan", "wait for a slot"}, steps[:3])
	require.Regexp(t, "^evaluate: ", steps[3])
	require.Regexp(t, "^encode: [1-9][0-9]* bytes$", steps[4])
}

// TestTraceOfEvaluation: each node of the plan is a step, and so is each selector.
func TestTraceOfEvaluation(t *testing.T) {
	w := do(serve(newAPI(t)), "GET", "/api/v1/query_range?query=sum(or1)%2B1&start=1700000000&end=1700000002&step=1&trace=1")
	var got struct{ Trace traceNode }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	var lines []string
	var walk func(n traceNode, indent string)
	walk = func(n traceNode, indent string) {
		lines = append(lines, indent+n.Message)
		for _, c := range n.Children {
			walk(c, indent+" ")
		}
	}
	walk(got.Trace.Children[3], "")
	require.Len(t, lines, 6, w.Body.String())
	for i, want := range []string{"^evaluate", `^ .*\+.*: 1 rows, whose use took [0-9.]+ ms of that$`, "^  .*sum.*: 1 rows", "^   .*or1.*: [1-9][0-9]* rows", "^    select .*or1.*: [1-9][0-9]* series$",
		"^    read [1-9][0-9]* samples of [1-9][0-9]* series(, knew [0-9]+ by statistics)?$"} {
		require.Regexp(t, want, lines[i])
	}
}

func TestActiveAndTopQueries(t *testing.T) {
	b := &blocking{Storage: apitest.Data(), entered: make(chan struct{}, 1)}
	h := serve(newAPI(t, func(o *Options) { o.Storage = b }))
	get := func(path string, data any) {
		t.Helper()
		w := do(h, "GET", path)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &struct{ Data any }{data}))
	}
	var active []map[string]any
	get("/api/v1/status/active_queries", &active)
	require.Empty(t, active)
	require.NotNil(t, active, "[], not null")

	done := make(chan int)
	go func() {
		done <- do(h, "GET", "/api/v1/query_range?query=or1&start=1700000000&end=1700000600&step=15&timeout=200ms").Code
	}()
	<-b.entered
	get("/api/v1/status/active_queries", &active)
	require.Len(t, active, 1)
	require.Regexp(t, `^0\.\d{3}s$`, active[0]["duration"])
	delete(active[0], "duration")
	require.Equal(t, map[string]any{"id": "0000000000000001", "remote_addr": "192.0.2.1:1234", "query": "or1", "start": 1700000000000.0, "end": 1700000600000.0,
		"step": 15000.0, "state": "running", "memory_bytes": 0.0, "samples": 0.0}, active[0])
	require.Equal(t, http.StatusServiceUnavailable, <-done)
	get("/api/v1/status/active_queries", &active)
	require.Empty(t, active)

	var top map[string]any
	get("/api/v1/status/top_queries?topN=5&maxLifetime=1h", &top)
	require.Equal(t, "5", top["topN"])
	require.Equal(t, "1h0m0s", top["maxLifetime"])
	require.Equal(t, []any{map[string]any{"query": "or1", "timeRangeSeconds": 600.0, "count": 1.0}}, top["topByCount"])
	for rank, figure := range map[string]string{"topByAvgDuration": "avgDurationSeconds", "topBySumDuration": "sumDurationSeconds", "topByAvgMemoryUsage": "avgMemoryBytes"} {
		require.Contains(t, top[rank].([]any)[0], figure)
	}
	for _, bad := range []string{"topN=0", "topN=x", "topN=1001", "maxLifetime=-1", "maxLifetime=x"} {
		require.Equal(t, http.StatusBadRequest, do(h, "GET", "/api/v1/status/top_queries?"+bad).Code, bad)
	}
}
