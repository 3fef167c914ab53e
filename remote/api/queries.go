package api

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/varvedb/varve/promqlx"
)

// activeQuery is a row of status/active_queries. The fields that VictoriaMetrics
// has too are written as there: times and step are milliseconds.
type activeQuery struct {
	Duration   string `json:"duration"`
	ID         string `json:"id"`
	RemoteAddr string `json:"remote_addr"`
	Query      string `json:"query"`
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Step       int64  `json:"step"`
	State      string `json:"state"`
	Memory     int64  `json:"memory_bytes"`
	Samples    int64  `json:"samples"`
}

// activeQueries lists what waits and runs, the oldest first.
func (a *API) activeQueries(*http.Request) result {
	rows := []activeQuery{}
	for _, q := range a.opts.Engine.ActiveQueries() {
		state := "queued"
		if q.Running {
			state = "running"
		}
		rows = append(rows, activeQuery{
			Duration: fmt.Sprintf("%.3fs", time.Since(q.Began).Seconds()), ID: fmt.Sprintf("%016X", q.ID), RemoteAddr: q.Client,
			Query: q.Text, Start: q.Start.UnixMilli(), End: q.End.UnixMilli(), Step: q.Step.Milliseconds(),
			State: state, Memory: q.Memory, Samples: q.Samples,
		})
	}
	return answer(rows)
}

// topQuery is a row of status/top_queries, written as VictoriaMetrics does.
type topQuery struct {
	Query       string   `json:"query"`
	Range       int64    `json:"timeRangeSeconds"`
	AvgDuration *float64 `json:"avgDurationSeconds,omitempty"`
	SumDuration *float64 `json:"sumDurationSeconds,omitempty"`
	AvgMemory   *int64   `json:"avgMemoryBytes,omitempty"`
	Count       int      `json:"count"`
}

// topQueries ranks the last queries by count, time and memory.
func (a *API) topQueries(r *http.Request) result {
	const maxTop = 1000
	n, maxAge := 20, 10*time.Minute
	var err error
	if s := r.Form.Get("topN"); s != "" {
		if n, err = strconv.Atoi(s); err == nil && (n < 1 || n > maxTop) {
			err = fmt.Errorf("must be from 1 to %d, got %d", maxTop, n)
		}
		if err != nil {
			return invalidParam(err, "topN")
		}
	}
	if s := r.Form.Get("maxLifetime"); s != "" {
		if maxAge, err = parseDuration(s); err == nil && maxAge <= 0 {
			err = errors.New("must be positive")
		}
		if err != nil {
			return invalidParam(err, "maxLifetime")
		}
	}
	ranks := a.opts.Engine.TopQueries(n, maxAge)
	rows := func(rank []promqlx.QueryRank, figure func(promqlx.QueryRank, *topQuery)) []topQuery {
		out := []topQuery{}
		for _, r := range rank {
			row := topQuery{Query: r.Text, Range: int64(r.Range / time.Second), Count: r.Count}
			figure(r, &row)
			out = append(out, row)
		}
		return out
	}
	seconds := func(d time.Duration) *float64 { s := d.Seconds(); return &s }
	return answer(map[string]any{
		"topN": strconv.Itoa(n), "maxLifetime": maxAge.String(),
		// As VictoriaMetrics tells its flags: there is no least time or memory.
		"search.queryStats.lastQueriesCount":    promqlx.RankedQueries,
		"search.queryStats.minQueryDuration":    "0s",
		"search.queryStats.minQueryMemoryUsage": "0",
		"topByCount":                            rows(ranks.ByCount, func(promqlx.QueryRank, *topQuery) {}),
		"topByAvgDuration":                      rows(ranks.ByAvgDuration, func(r promqlx.QueryRank, row *topQuery) { row.AvgDuration = seconds(r.AvgDuration()) }),
		"topBySumDuration":                      rows(ranks.BySumDuration, func(r promqlx.QueryRank, row *topQuery) { row.SumDuration = seconds(r.Duration) }),
		"topByAvgMemoryUsage":                   rows(ranks.ByAvgMemory, func(r promqlx.QueryRank, row *topQuery) { m := r.AvgMemory(); row.AvgMemory = &m }),
	})
}
