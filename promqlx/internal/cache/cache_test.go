package cache_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/cache"
	"github.com/varvedb/varve/promqlx/internal/row"
)

const minute, hour = 60_000, 3600_000

// store is a Store whose samples change when it is told so, by hour.
type store struct{ changed map[int64]uint64 }

func (s *store) Generation(mint, maxt int64) uint64 {
	sum := uint64(0)
	for h := (mint - hour) / hour; h <= maxt/hour; h++ {
		sum += s.changed[h]
	}
	return sum
}

// asked is a cache, and an evaluation that yields the time of each step, and of
// another series only those of some hours. It remembers the grids.
type asked struct {
	t     *testing.T
	cache *cache.Cache
	store *store
	now   int64
	meter *budget.Meter
	grids []row.Grid

	err   error
	annos annotations.Annotations
	whole bool
}

func newAsked(t *testing.T, opts cache.Options) *asked {
	return &asked{
		t: t, cache: cache.New(opts), store: &store{map[int64]uint64{}}, now: 1000 * hour,
		meter: budget.NewPool(budget.Limits{Memory: 1 << 30, QueryMemory: 1 << 30, Samples: 1 << 30}).Meter(),
	}
}

var all = cache.Options{Bytes: 1 << 20, MinTime: -1}

func (a *asked) run(_ context.Context, g row.Grid) (cache.Answer, error) {
	a.grids = append(a.grids, g)
	if a.err != nil {
		return cache.Answer{}, a.err
	}
	odd := promql.Series{Metric: labels.FromStrings("a", "1")}
	every := promql.Series{Metric: labels.FromStrings("b", "1")}
	for i := range g.N {
		t := g.T(i)
		every.Floats = append(every.Floats, promql.FPoint{T: t, F: float64(t)})
		if t/hour%3 == 0 && t/minute%2 == 0 {
			odd.Floats = append(odd.Floats, promql.FPoint{T: t, F: float64(-t)})
		}
	}
	m := promql.Matrix{every}
	if len(odd.Floats) > 0 {
		m = promql.Matrix{odd, every}
	}
	return cache.Answer{Matrix: m, Annotations: a.annos, Whole: a.whole}, nil
}

// ask returns an answer, having compared it with an evaluation, and how many steps
// were evaluated for it.
func (a *asked) ask(key string, start, end int64) (steps int, got cache.Answer, err error) {
	q := &cache.Query{
		Store: a.store, Plan: planOf(a.t, "sum_over_time(x[5m])", time.UnixMilli(start), time.UnixMilli(end), time.Minute),
		Key: key, Grid: row.GridOf(start, end, minute), Lookback: 5 * minute, Now: time.UnixMilli(a.now), Run: a.run,
		Read: func() int64 { return 0 }, Meter: a.meter,
	}
	a.grids = nil
	got, err = a.cache.Run(context.Background(), q)
	for _, g := range a.grids {
		require.True(a.t, g.Ranged)
		steps += g.N
	}
	if err == nil {
		want, err := a.run(context.Background(), q.Grid)
		require.NoError(a.t, err)
		require.True(a.t, reflect.DeepEqual(want, got), "%d to %d", start, end)
	}
	return steps, got, err
}

func (a *asked) steps(key string, start, end int64) int {
	n, _, err := a.ask(key, start, end)
	require.NoError(a.t, err)
	return n
}

func TestRunEvaluatesWhatIsMissing(t *testing.T) {
	a := newAsked(t, all)
	const start, end = 500 * hour, 524 * hour
	require.Equal(t, 24*60+1, a.steps("x", start, end))
	require.Zero(t, a.steps("x", start, end))
	require.Zero(t, a.steps("x", start+7*minute, end-7*minute), "parts of buckets")
	require.Zero(t, a.steps("x", start+7*minute, start+8*minute))
	n := a.steps("x", start+hour, end+hour)
	require.True(t, 60 <= n && n <= 60+64, "the bucket at the end is had anew, %d steps", n)
	require.Zero(t, a.steps("x", start, end+hour))
	require.Equal(t, 24*60+1, a.steps("y", start, end), "another plan")
	require.Equal(t, 24*60+1, a.steps("x", start+1, end+1), "another phase")
	a.store = &store{map[int64]uint64{}}
	require.Equal(t, 24*60+1, a.steps("x", start, end), "another store")
}

func TestRunSeesChanges(t *testing.T) {
	a := newAsked(t, all)
	const start, end = 500 * hour, 524 * hour
	a.steps("x", start, end)
	a.store.changed[510]++
	n := a.steps("x", start, end)
	require.True(t, 60 <= n && n <= 5*64, "%d steps", n)
	require.Zero(t, a.steps("x", start, end))
	for h := int64(500); h < 524; h += 4 {
		a.store.changed[h]++
	}
	require.Greater(t, a.steps("x", start, end), 18*60)
	require.Len(t, a.grids, 2, "holes are evaluated at once, and the test's own")
	require.Zero(t, a.steps("x", start, end))
}

func TestRunLeavesTheLastHours(t *testing.T) {
	a := newAsked(t, all)
	a.now = 524*hour + hour
	const start, end = 500 * hour, 524 * hour
	a.steps("x", start, end)
	n := a.steps("x", start, end)
	require.True(t, 1 <= n && n <= 3*64, "%d steps", n)
	require.Equal(t, int64(end), a.grids[0].End())
	require.Equal(t, n, a.steps("x", start, end))
}

func TestRunWithErrorsAndAnnotations(t *testing.T) {
	a := newAsked(t, all)
	const start, end = 500 * hour, 524 * hour
	whole := 24*60 + 1
	f := func(key string, set func(on bool)) {
		t.Helper()
		a.steps(key, start, end)
		set(true)
		used, held := a.meter.Used(), a.meter.Held()
		n, _, err := a.ask(key, start+hour, end+hour)
		require.ErrorIs(t, err, a.err)
		require.Greater(t, n, whole, "a part, and then the whole")
		require.Equal(t, row.GridOf(start+hour, end+hour, minute), a.grids[1])
		require.Equal(t, used, a.meter.Used())
		require.Equal(t, held, a.meter.Held())
		n, _, err = a.ask(key, start+hour, end+hour)
		require.ErrorIs(t, err, a.err)
		require.Equal(t, whole, n, "what was kept is gone")
		set(false)
		require.Equal(t, whole, a.steps(key, start+hour, end+hour), "nothing was kept")
	}
	failure := errors.New("many to many")
	f("err", func(on bool) {
		if a.err = nil; on {
			a.err = failure
		}
	})
	f("annos", func(on bool) {
		if a.annos = nil; on {
			a.annos = a.annos.Add(failure)
		}
	})
	f("whole", func(on bool) { a.whole = on })
}

func TestBudget(t *testing.T) {
	a := newAsked(t, cache.Options{Bytes: 100_000, MinTime: -1})
	const start, end = 500 * hour, 510 * hour
	for i := range 50 {
		a.steps(fmt.Sprint(i), start, end)
		s := a.cache.Stats()
		require.LessOrEqual(t, s.Bytes, int64(100_000))
		require.Positive(t, s.Entries)
	}
	s := a.cache.Stats()
	require.Positive(t, s.Evictions)
	require.Greater(t, s.Bytes, int64(90_000))
	require.Zero(t, s.Hits)
	require.Zero(t, a.steps("49", start, end), "used last")
	require.Equal(t, 601, a.steps("0", start, end))

	a = newAsked(t, cache.Options{Bytes: 1000, MinTime: -1})
	a.steps("x", start, end)
	require.Zero(t, a.cache.Stats().Entries, "an answer that would push out most others")

	a = newAsked(t, cache.Options{Bytes: 1 << 20, MinTime: time.Hour})
	a.steps("x", start, end)
	require.Zero(t, a.cache.Stats().Entries, "it took nothing")
}

func TestMeter(t *testing.T) {
	a := newAsked(t, all)
	const start, end = 500 * hour, 510 * hour
	a.steps("x", start, end)
	require.Zero(t, a.meter.Held(), "the evaluation's own matter")
	a.steps("x", start, end)
	require.Greater(t, a.meter.Held(), int64(601))
	require.Greater(t, a.meter.Used(), int64(16*601))
	a.meter = budget.NewPool(budget.Limits{Memory: 1 << 30, QueryMemory: 1 << 30, Samples: 600}).Meter()
	_, _, err := a.ask("x", start, end)
	require.ErrorAs(t, err, new(promql.ErrTooManySamples))
}
