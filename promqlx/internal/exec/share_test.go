package exec

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// trap is a storage that calls spring when it is asked for the samples of a series,
// with how many were read before. Queriers are counted until they are closed.
type trap struct {
	storage.Queryable
	spring func(n int64)
	read   atomic.Int64
	open   atomic.Int64
}

type trapQuerier struct {
	storage.Querier
	t *trap
}

type trapSet struct {
	storage.SeriesSet
	t *trap
}

type trapSeries struct {
	storage.Series
	t *trap
}

func (t *trap) Querier(mint, maxt int64) (storage.Querier, error) {
	q, err := t.Queryable.Querier(mint, maxt)
	t.open.Add(1)
	return trapQuerier{q, t}, err
}

func (q trapQuerier) Select(ctx context.Context, sort bool, hints *storage.SelectHints, ms ...*labels.Matcher) storage.SeriesSet {
	return trapSet{q.Querier.Select(ctx, sort, hints, ms...), q.t}
}

func (q trapQuerier) Close() error {
	q.t.open.Add(-1)
	return q.Querier.Close()
}

func (s trapSet) At() storage.Series { return trapSeries{s.SeriesSet.At(), s.t} }

func (s trapSeries) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	s.t.spring(s.t.read.Add(1))
	return s.Series.Iterator(it)
}

// asked runs a plan as an engine with three workers does, which has the gate g, and
// takes what panics for an error.
func asked(ctx context.Context, n plan.Node, q storage.Queryable, g *budget.Gate, emit Meter) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.New("panic")
		}
	}()
	_, answer, _, err := Run(ctx, n, Params{
		Queryable: q, Grid: row.GridOf(5*minute, 60*minute, minute), Lookback: 5 * minute,
		Meter: emit, Memory: memory, Gate: g, Stats: stats.NewQuerySamples(false), Workers: 3,
	})
	answer.Free()
	return err
}

// overSubquery is max_over_time(sel[30m:10s]).
func overSubquery(sel plan.Selector) plan.Node {
	return &plan.Rollup{Func: "max_over_time", Range: 30 * minute, ArgPos: []plan.Pos{{}}, Subquery: &plan.Subquery{
		Range: 30 * minute, Step: 10_000, Child: &plan.Instant{Selector: sel},
	}}
}

// refusing is a meter that says no from the n-th row that is kept on, or panics.
type refusing struct {
	free
	n      int64
	panics bool
}

func (m *refusing) Grow(n int64) error {
	if m.n--; m.n < 0 {
		if m.panics {
			panic("meter")
		}
		return errors.New("enough")
	}
	return nil
}
func (m *refusing) Shrink(int64)        {}
func (m *refusing) Samples(int64) error { return nil }

// However shared work ends, all places behind the gate are free afterwards, what was
// opened is closed, and no goroutine is left.
func TestSharingEnds(t *testing.T) {
	store := fillStore(t, 300)
	idle := func(what string, g *budget.Gate, tr *trap, before int) {
		t.Helper()
		require.Zero(t, g.Inside(), what)
		require.Zero(t, tr.open.Load(), what)
		for range 1000 { // the last ones may still be on their way out
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(time.Millisecond)
		}
		require.LessOrEqual(t, runtime.NumGoroutine(), before, what)
	}
	sum := sumBy(rate(named("m.*"), false), "host")
	plans := map[string]plan.Node{"sum": sum, "rows": rate(named("m.*"), false), "subquery": overSubquery(named("m.*"))}
	for name, n := range plans {
		f := func(what string, spring func(n int64, cancel func()), m Meter, want string) {
			t.Helper()
			what = name + " " + what
			g := budget.NewGate(3)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			tr := &trap{Queryable: hidden{store}, spring: func(n int64) { spring(n, cancel) }}
			before := runtime.NumGoroutine()
			err := asked(ctx, n, tr, g, m)
			if want == "" {
				require.NoError(t, err, what)
			} else {
				require.ErrorContains(t, err, want, what)
			}
			idle(what, g, tr, before)
		}
		quiet := func(int64, func()) {}
		f("whole", quiet, &free{}, "")
		f("panic before it is shared", func(n int64, _ func()) {
			if n == 3 {
				panic("boom")
			}
		}, &free{}, "panic")
		f("panic of a worker", func(n int64, _ func()) {
			if n == 400 {
				panic("boom")
			}
		}, &free{}, "panic")
		f("canceled", func(n int64, cancel func()) {
			if n == 400 {
				cancel()
			}
		}, &free{}, "canceled")
	}
	for _, panics := range []bool{false, true} {
		for k := range int64(20) {
			g := budget.NewGate(3)
			tr := &trap{Queryable: hidden{store}, spring: func(int64) {}}
			before := runtime.NumGoroutine()
			require.Error(t, asked(t.Context(), plans["rows"], tr, g, &refusing{n: k, panics: panics}))
			idle("refused", g, tr, before)
		}
	}
}
