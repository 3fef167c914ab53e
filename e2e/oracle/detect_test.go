package oracle

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"
)

// wrong is the oracle, but for what it does to results.
type wrong struct {
	promql.QueryEngine
	spoil func(text string, r *promql.Result)
}

func (e wrong) NewInstantQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, t time.Time) (promql.Query, error) {
	qry, err := e.QueryEngine.NewInstantQuery(ctx, q, opts, text, t)
	return wrongQuery{qry, e}, err
}

func (e wrong) NewRangeQuery(ctx context.Context, q storage.Queryable, opts promql.QueryOpts, text string, start, end time.Time, step time.Duration) (promql.Query, error) {
	qry, err := e.QueryEngine.NewRangeQuery(ctx, q, opts, text, start, end, step)
	return wrongQuery{qry, e}, err
}

type wrongQuery struct {
	promql.Query
	engine wrong
}

func (q wrongQuery) Exec(ctx context.Context) *promql.Result {
	r := q.Query.Exec(ctx)
	q.engine.spoil(q.String(), r)
	return r
}

// eachFloat changes the last float that f changes.
func eachFloat(r *promql.Result, f func(float64) float64) {
	switch v := r.Value.(type) {
	case promql.Matrix:
		for i := range slices.Backward(v) {
			for j := range slices.Backward(v[i].Floats) {
				p := &v[i].Floats[j].F
				if was := *p; math.Float64bits(f(was)) != math.Float64bits(was) {
					*p = f(was)
					return
				}
			}
		}
	case promql.Vector:
		for i := range slices.Backward(v) {
			p := &v[i].F
			if was := *p; v[i].H == nil && math.Float64bits(f(was)) != math.Float64bits(was) {
				*p = f(was)
				return
			}
		}
	}
}

func eachHistogram(r *promql.Result, f func(*histogram.FloatHistogram)) {
	spoil := func(h *histogram.FloatHistogram) *histogram.FloatHistogram {
		h = h.Copy()
		f(h)
		return h
	}
	switch v := r.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			for j := range s.Histograms {
				s.Histograms[j].H = spoil(s.Histograms[j].H)
			}
		}
	case promql.Vector:
		for i := range v {
			if v[i].H != nil {
				v[i].H = spoil(v[i].H)
			}
		}
	}
}

// spoilers are the ways to be wrong, and the kind of difference each must show as.
var spoilers = []struct {
	name, kind string
	spoil      func(text string, r *promql.Result)
}{
	{"flip the last bit", "value", func(_ string, r *promql.Result) {
		eachFloat(r, func(f float64) float64 {
			if math.IsNaN(f) {
				return f
			}
			return math.Float64frombits(math.Float64bits(f) ^ 1)
		})
	}},
	{"lose the sign of zero", "value", func(_ string, r *promql.Result) {
		eachFloat(r, func(f float64) float64 {
			if f == 0 {
				return 0
			}
			return f
		})
	}},
	{"make NaN stale", "value", func(_ string, r *promql.Result) {
		eachFloat(r, func(f float64) float64 {
			if math.IsNaN(f) {
				return math.Float64frombits(value.StaleNaN)
			}
			return f
		})
	}},
	{"drop an annotation", "annotations", func(_ string, r *promql.Result) {
		kept := annotations.Annotations{}
		dropped := false
		for k, err := range r.Warnings {
			if !dropped {
				dropped = true
				continue
			}
			kept[k] = err
		}
		r.Warnings = kept
	}},
	{"reorder", "order", func(_ string, r *promql.Result) {
		if v, ok := r.Value.(promql.Vector); ok && len(v) > 1 {
			v[0], v[len(v)-1] = v[len(v)-1], v[0]
		}
	}},
	{"lose a series", "series", func(_ string, r *promql.Result) {
		if v, ok := r.Value.(promql.Matrix); ok && len(v) > 0 {
			r.Value = v[:len(v)-1]
		}
	}},
	{"lose a point", "times", func(_ string, r *promql.Result) {
		if v, ok := r.Value.(promql.Matrix); ok && len(v) > 0 && len(v[0].Floats) > 1 {
			v[0].Floats = v[0].Floats[1:]
		}
	}},
	{"lose the hint", "histogram", func(_ string, r *promql.Result) {
		eachHistogram(r, func(h *histogram.FloatHistogram) { h.CounterResetHint ^= 1 })
	}},
	{"round a bucket", "histogram", func(_ string, r *promql.Result) {
		eachHistogram(r, func(h *histogram.FloatHistogram) {
			for i, b := range h.PositiveBuckets {
				h.PositiveBuckets[i] = float64(float32(b))
			}
		})
	}},
	{"say the error otherwise", "error", func(_ string, r *promql.Result) {
		if r.Err != nil {
			r.Err = errors.New(r.Err.Error() + ".")
		}
	}},
	{"say the error by another type", "error", func(_ string, r *promql.Result) {
		if r.Err != nil {
			r.Err = promql.ErrStorage{Err: r.Err}
		}
	}},
	{"return a vector for a scalar", "type", func(_ string, r *promql.Result) {
		if s, ok := r.Value.(promql.Scalar); ok {
			r.Value = promql.Vector{{T: s.T, F: s.V}}
		}
	}},
	{"crash", "error", func(text string, _ *promql.Result) {
		if strings.Contains(text, "group") {
			panic("boom")
		}
	}},
}

func (b *bench) wrongly(spoil func(string, *promql.Result)) *Judge {
	ours := Engines{}
	for name, e := range b.judge.Oracle {
		ours[name] = wrong{e, spoil}
	}
	return &Judge{Oracle: b.judge.Oracle, Ours: ours, Stores: b.judge.Stores}
}

// TestDetects holds that an engine that is wrong in any way is found out, and
// that the report says in which way.
func TestDetects(t *testing.T) {
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	b := newBench(t)
	for _, s := range spoilers {
		t.Run(s.name, func(t *testing.T) {
			judge, source := b.wrongly(s.spoil), NewSource(7, b.data, exprs, b.states)
			kinds := map[string]int{}
			for i := 0; i < 3000 && kinds[s.kind] < 3; i++ {
				q := source.Next()
				if v, d := judge.Ask(t.Context(), q); v == Different {
					kinds[d.Kind]++
				}
			}
			require.GreaterOrEqual(t, kinds[s.kind], 3, "found %v", kinds)
		})
	}
}

// TestNoFalseAlarm holds that the oracle does not differ from itself.
func TestNoFalseAlarm(t *testing.T) {
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	b := newBench(t)
	judge, source, tally := b.wrongly(func(string, *promql.Result) {}), NewSource(8, b.data, exprs, b.states), &Tally{}
	for range 500 {
		tally.Add(t.Context(), judge, source.Next())
	}
	require.False(t, tally.Failed(false), tally.Report(5))
	require.Zero(t, tally.Counts[Skipped])
}

// TestShrinks holds that a difference in one function is led back to it.
func TestShrinks(t *testing.T) {
	b := newBench(t)
	judge := b.wrongly(func(text string, r *promql.Result) {
		if strings.Contains(text, "stdvar_over_time") {
			spoilers[0].spoil(text, r)
		}
	})
	tally := &Tally{}
	q := Question{
		Text:  `sum by (job) (clamp_max(abs(stdvar_over_time(temperature{job="j1"}[5m] offset 1m)) * on (job, instance) group_left (version) target_info, 1e6)) or vector(time())`,
		Start: DataStart + 600_000, End: DataStart + 1800_000, Step: 30_000, Features: "all", State: "half",
	}
	require.Equal(t, Different, tally.Add(t.Context(), judge, q))
	require.True(t, tally.Failed(false))
	f := tally.Failures[0]
	require.Equal(t, "stdvar_over_time(), value", f.Group)
	require.Equal(t, `stdvar_over_time(temperature{job="j1"}[5m])`, f.Minimal.Text)
	require.Zero(t, f.Minimal.Step, "one time shows it")
	require.ElementsMatch(t, b.states, f.States)
	report := tally.Report(1)
	for _, want := range []string{"1 stdvar_over_time(), value", "want ", "got ", "ORACLE_QUERY='stdvar_over_time", "shrunk from sum by (job)", "flushed, half, head, hidden, merged"} {
		require.Contains(t, report, want)
	}
	t.Log("\n" + report)
}

// TestDrift holds that an answer to an unstable query is compared with the
// oracle's answers for single times.
func TestDrift(t *testing.T) {
	b := newBench(t)
	for _, text := range []string{"sum by (job) (rate(requests_total[5m]))", "topk(3, temperature)", "hist", "scalar(alone)"} {
		q := Question{Text: text, Start: DataStart + 600_000, End: DataStart + 1800_000, Step: 30_000, Features: "all", State: "half"}
		answer := b.judge.Oracle.Ask(t.Context(), b.judge.Stores["half"], q)
		require.Nil(t, b.judge.drift(t.Context(), q, answer), text)
		r := &promql.Result{Value: answer.Value}
		for _, series := range answer.Value.(promql.Matrix) { // all points: only some times are compared
			for j, p := range series.Floats {
				series.Floats[j].F = math.Float64frombits(math.Float64bits(p.F) ^ 1)
			}
		}
		eachHistogram(r, func(h *histogram.FloatHistogram) { h.Sum++ })
		require.NotNil(t, b.judge.drift(t.Context(), q, answer), text)
	}
}

// TestErrorForUnstable holds that no answer is taken for a stand-in of an error,
// though the oracle's choice among errors may be left to chance.
func TestErrorForUnstable(t *testing.T) {
	b := newBench(t)
	judge := b.wrongly(func(_ string, r *promql.Result) { r.Err, r.Value = nil, promql.Matrix{} })
	q := Question{Text: "rate(requests_total[5m]) * on (job) rate(errors_total[5m])", Start: DataStart + 600_000, End: DataStart + 1800_000, Step: 30_000, Features: "all", State: "head"}
	v, d := judge.Ask(t.Context(), q)
	require.Equal(t, Different, v)
	require.Equal(t, "error", d.Kind)
}

func TestSortsBelow(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		require.Equal(t, want, sortsBelow(Question{Text: text, Features: "all"}))
	}
	f("limitk(3, -(topk(100, x)))", true)
	f("sum(sort(x))", true)
	f("stdvar(limit_ratio without (job) (1, x))", true)
	f("topk(3, sum by (job) (x))", true)
	f("topk(3, sum(x))", false)
	f("topk(3, x) + y", false)
}
