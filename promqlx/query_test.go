package promqlx

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

// scripted is an Evaluator whose evaluations are functions.
type scripted struct {
	run    func(ctx context.Context, r *Request, t *Trace) *Result
	last   *Request
	closed int
}

func (s *scripted) Prepare(_ context.Context, r *Request) (Evaluation, error) {
	s.last = r
	if s.run == nil {
		return nil, errors.New("no plan")
	}
	return &scriptedEvaluation{s, r}, nil
}

type scriptedEvaluation struct {
	s *scripted
	r *Request
}

func (e *scriptedEvaluation) Run(ctx context.Context, t *Trace) *Result { return e.s.run(ctx, e.r, t) }
func (e *scriptedEvaluation) Close()                                    { e.s.closed++ }

func scriptedEngine(t *testing.T, opts Options, run func(context.Context, *Request, *Trace) *Result) (*Engine, *scripted) {
	t.Helper()
	e := newEngine(t, opts)
	s := &scripted{run: run}
	e.evaluator = s
	return e, s
}

func TestRequestIsResolved(t *testing.T) {
	e, s := scriptedEngine(t, Options{LookbackDelta: time.Minute, EnabledFeatures: []string{"use-start-timestamps,promql-per-step-stats"}}, nil)
	_, err := e.Instant(t.Context(), nil, "up + 1", QueryOptions{PerStepStats: true}, time.Unix(7, 0))
	require.EqualError(t, err, "no plan")
	require.Equal(t, "up + 1", s.last.Expr.String())
	require.Equal(t, []any{"up + 1", time.Unix(7, 0), time.Unix(7, 0), time.Duration(0), time.Minute, true},
		[]any{s.last.Text, s.last.Start, s.last.End, s.last.Step, s.last.Lookback, s.last.StartTimestamps})
	require.True(t, s.last.Stats.Samples.EnablePerStepStats)
	off := false
	_, err = e.Range(t.Context(), nil, "up", QueryOptions{LookbackDelta: time.Hour, UseStartTimestamps: &off}, time.Unix(7, 0), time.Unix(9, 0), time.Second)
	require.EqualError(t, err, "no plan")
	require.Equal(t, []any{time.Unix(9, 0), time.Second, time.Hour, false}, []any{s.last.End, s.last.Step, s.last.Lookback, s.last.StartTimestamps})
	require.False(t, s.last.Stats.Samples.EnablePerStepStats)
	for _, typ := range []string{"a[5m]", `"text"`} {
		_, err = e.Range(t.Context(), nil, typ, QueryOptions{}, time.Unix(7, 0), time.Unix(9, 0), time.Second)
		require.ErrorContains(t, err, "must be Scalar or instant Vector")
	}
}

// TestMemory: a query over its limit fails alone; one for which there is no room
// waits; a result counts until it is closed.
func TestMemory(t *testing.T) {
	const mib = 1 << 20
	synctest.Test(t, func(t *testing.T) {
		e, s := scriptedEngine(t, Options{MaxMemory: 100 * mib, MaxQueryMemory: 60 * mib, Timeout: time.Minute}, func(ctx context.Context, r *Request, _ *Trace) *Result {
			var estimate, result int64
			require.NoError(t, json.Unmarshal([]byte(r.Expr.(*parser.StringLiteral).Val), &[]any{&estimate, &result}))
			if err := r.Meter.Admit(ctx, estimate*mib); err != nil {
				return &Result{Err: err}
			}
			return &Result{Err: r.Meter.Grow(result * mib), Value: promql.Vector{}}
		})
		ask := func(what string) (Query, *Result) {
			q, err := e.Instant(t.Context(), nil, "'"+what+"'", QueryOptions{}, time.Unix(1, 0))
			require.NoError(t, err)
			return q, q.Exec(t.Context())
		}
		large, res := ask("[55,50]")
		require.NoError(t, res.Err)
		require.EqualValues(t, 50*mib, e.memory.Reserved(), "only the result is held")
		over, res := ask("[40,61]")
		require.EqualError(t, res.Err, "query needs at least 61 MiB of memory (limit: 60 MiB, --query.max-memory-per-query)")
		over.Close()
		never, res := ask("[70,0]")
		var memory *MemoryError
		require.ErrorAs(t, res.Err, &memory)
		never.Close()

		began := time.Now()
		late, res := ask("[55,1]")
		require.Equal(t, time.Minute, time.Since(began))
		var queued *QueueError
		require.ErrorAs(t, res.Err, &queued)
		late.Close()

		time.AfterFunc(time.Second, large.Close)
		began = time.Now()
		patient, res := ask("[55,1]")
		require.NoError(t, res.Err)
		require.Equal(t, time.Second, time.Since(began))
		patient.Close()
		require.Zero(t, e.memory.Reserved())
		require.Equal(t, 5, s.closed)
	})
}

func TestActiveAndEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended []QueryInfo
		release := make(chan struct{})
		e, _ := scriptedEngine(t, Options{MaxConcurrent: 1, QueryEnded: func(i QueryInfo) { ended = append(ended, i) }}, func(_ context.Context, r *Request, _ *Trace) *Result {
			require.NoError(t, r.Meter.Grow(1000))
			require.NoError(t, r.Meter.Samples(17))
			<-release
			r.Meter.Shrink(500)
			r.Stats.Samples.TotalSamples, r.Stats.Samples.PeakSamples = 99, 17
			return &Result{Err: errors.New("as told")}
		})
		require.Empty(t, e.ActiveQueries())
		start, end := time.Unix(100, 0), time.Unix(400, 0)
		for _, text := range []string{"first", "second"} {
			q, err := e.Range(t.Context(), nil, text, QueryOptions{Client: text + ":1"}, start, end, time.Minute)
			require.NoError(t, err)
			go func() { defer q.Close(); q.Exec(context.Background()) }()
			synctest.Wait()
		}
		began := time.Now()
		require.Equal(t, []ActiveQuery{
			{ID: 1, Text: "first", Start: start, End: end, Step: time.Minute, Client: "first:1", Began: began, Running: true, Memory: 1000, Samples: 17},
			{ID: 2, Text: "second", Start: start, End: end, Step: time.Minute, Client: "second:1", Began: began},
		}, e.ActiveQueries())

		time.Sleep(2 * time.Second)
		release <- struct{}{}
		synctest.Wait()
		time.Sleep(3 * time.Second)
		release <- struct{}{}
		synctest.Wait()
		require.Empty(t, e.ActiveQueries())
		require.Len(t, ended, 2)
		require.Equal(t, QueryInfo{Text: "second", Start: start, End: end, Step: time.Minute, Client: "second:1", Began: began,
			Duration: 5 * time.Second, Queued: 2 * time.Second, Samples: 99, PeakSamples: 17, Memory: 1000, Err: errors.New("as told")}, ended[1])
		ranks := e.TopQueries(10, time.Hour)
		require.Len(t, ranks.ByCount, 2)
		require.Equal(t, QueryRank{Text: "second", Range: 5 * time.Minute, Count: 1, Duration: 5 * time.Second, Memory: 1000}, ranks.ByAvgDuration[0])
		require.Empty(t, e.TopQueries(10, -time.Second).ByCount)
	})
}

func TestTraceAndExplain(t *testing.T) {
	e, _ := scriptedEngine(t, Options{}, func(_ context.Context, r *Request, t *Trace) *Result {
		t.Start("select up").Donef("3 series")
		return &Result{Value: promql.Vector{}}
	})
	root := NewTrace(true, "query")
	q, err := e.Instant(t.Context(), nil, "up", QueryOptions{Trace: root}, time.Unix(1, 0))
	require.NoError(t, err)
	require.NoError(t, q.Exec(t.Context()).Err)
	q.Close()
	root.Done()
	got := string(root.AppendJSON(nil))
	for _, step := range []string{"parse 2 bytes", "plan", "wait for a slot", "evaluate: 0 samples at its peak, 0 bytes", "select up: 3 series"} {
		at := strings.Index(got, `"message":"`+step+`"`)
		require.GreaterOrEqual(t, at, 0, "%s in %s", step, got)
		got = got[at:]
	}
	require.Contains(t, q.(Explainer).Explain(), "VectorSelector :: up")
	require.Nil(t, NewTrace(false, "query"))
}

// TestMetricsAreThoseOfPrometheus: every figure of Prometheus' engine is there,
// with its type, labels and help.
func TestMetricsAreThoseOfPrometheus(t *testing.T) {
	describe := func(set func(prometheus.Registerer)) map[string]string {
		reg := prometheus.NewRegistry()
		set(reg)
		families, err := reg.Gather()
		require.NoError(t, err)
		out := map[string]string{}
		for _, f := range families {
			text := f.GetType().String() + " " + f.GetHelp()
			for _, m := range f.Metric {
				for _, l := range m.Label {
					text += " " + l.GetValue()
				}
			}
			out[f.GetName()] = text
		}
		return out
	}
	want := describe(func(r prometheus.Registerer) { promql.NewEngine(promql.EngineOpts{Reg: r}) })
	require.Len(t, want, 8)
	got := describe(func(r prometheus.Registerer) { newEngine(t, Options{Registerer: r}) })
	require.Subset(t, got, want)
	require.Contains(t, got, "varve_query_memory_bytes")
}

func TestMetricsCount(t *testing.T) {
	reg := prometheus.NewRegistry()
	e, _ := scriptedEngine(t, Options{Registerer: reg}, func(_ context.Context, r *Request, _ *Trace) *Result {
		r.Stats.Samples.TotalSamples, r.Stats.Samples.SamplesRead = 10, 7
		return &Result{Value: promql.Vector{}}
	})
	for range 3 {
		_, _, err := execute(t, e, nil, "up")
		require.NoError(t, err)
	}
	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			name := f.GetName()
			for _, l := range m.Label {
				name += "/" + l.GetValue()
			}
			got[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetSummary().GetSampleCount())
		}
	}
	for name, want := range map[string]float64{
		"query_samples_total": 30, "query_samples_read_total": 21, "queries": 0, "queries_concurrent_max": DefaultMaxConcurrent,
		"query_duration_seconds/queue_time": 3, "query_duration_seconds/inner_eval": 3, "query_duration_seconds/result_sort": 0,
	} {
		require.Equal(t, want, got["prometheus_engine_"+name], name)
	}
}

func TestMemoryOptions(t *testing.T) {
	require.EqualError(t, Options{MaxMemory: 10, MaxQueryMemory: 11}.Validate(), "max memory of a query, 11 bytes, must not exceed that of all queries, 10")
	require.ErrorContains(t, Options{MaxMemory: -1}.Validate(), "max memory of queries must not be negative, got -1")
	require.NoError(t, Options{MaxQueryMemory: DefaultMaxMemory}.Validate())
	require.EqualValues(t, DefaultMaxMemory/2, Options{}.withDefaults().MaxQueryMemory)
}
