package promqlx

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

// BenchmarkShell is what the life of a query costs beside its evaluation.
func BenchmarkShell(b *testing.B) {
	e, err := New(Options{Registerer: prometheus.NewRegistry()})
	require.NoError(b, err)
	e.evaluator = &scripted{run: func(_ context.Context, r *Request, _ *Trace) *Result {
		if err := r.Meter.Grow(1000); err != nil {
			return &Result{Err: err}
		}
		return &Result{Value: promql.Vector{}}
	}}
	b.ReportAllocs()
	for b.Loop() {
		q, err := e.Range(context.Background(), nil, `sum by (job) (rate(http_requests_total{job="a"}[5m]))`, QueryOptions{}, time.Unix(0, 0), time.Unix(3600, 0), time.Minute)
		if err != nil {
			b.Fatal(err)
		}
		if res := q.Exec(context.Background()); res.Err != nil {
			b.Fatal(res.Err)
		}
		q.Close()
	}
}
