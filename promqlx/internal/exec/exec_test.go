package exec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// free is a Meter without limits that knows what is held.
type free struct {
	bytes, peak int64
	expected    []int64
	err         error // of Expect
}

func (m *free) Grow(n int64) error {
	m.bytes += n
	m.peak = max(m.peak, m.bytes)
	return nil
}
func (m *free) Shrink(n int64)      { m.bytes -= n }
func (m *free) Samples(int64) error { return nil }

func (m *free) Expect(_ context.Context, n int64) error {
	m.expected = append(m.expected, n)
	return m.err
}

// hidden is a storage that is not known as ours.
type hidden struct{ storage.Queryable }

const minute = 60_000

// fill writes hosts x 5 series of an hour, with gaps.
func fillStore(t testing.TB, hosts int) *tsdb.Storage {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	r := rand.New(rand.NewPCG(1, 2))
	b := db.Batch()
	for h := range hosts {
		for m := range 5 {
			s, err := b.Series(labels.FromStrings("__name__", fmt.Sprintf("m%d", m), "host", fmt.Sprint("h", h), "dc", fmt.Sprint("d", h%3)))
			require.NoError(t, err)
			for i := range 240 {
				if r.IntN(10) > 0 {
					require.NoError(t, b.Add(s, int64(i)*15_000, r.NormFloat64()))
				}
			}
		}
	}
	require.NoError(t, b.Commit(context.Background()))
	return tsdb.NewStorage(db)
}

func named(name string) plan.Selector {
	return plan.Selector{Matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "__name__", name)}}
}

// memory is shared by the queries of the tests, as by those of an engine.
var memory = &Memory{}

func run(t testing.TB, n plan.Node, q storage.Queryable, workers int) (promql.Matrix, annotations.Annotations, *stats.QuerySamples) {
	m := &free{}
	count := stats.NewQuerySamples(true)
	v, answer, annos, err := Run(context.Background(), n, Params{
		Queryable: q, Grid: row.GridOf(5*minute, 60*minute, minute), Lookback: 5 * minute,
		Meter: m, Memory: memory, Gate: budget.NewGate(workers), Stats: count, Workers: workers,
	})
	require.NoError(t, err)
	t.Cleanup(answer.Free)
	return v.(promql.Matrix), annos, count
}

// same compares as bits.
func same(t testing.TB, want, got promql.Matrix) {
	require.Len(t, got, len(want))
	for i, w := range want {
		require.Equal(t, w.Metric, got[i].Metric)
		require.Len(t, got[i].Floats, len(w.Floats))
		for k, p := range w.Floats {
			g := got[i].Floats[k]
			require.Equal(t, p.T, g.T)
			require.Equal(t, math.Float64bits(p.F), math.Float64bits(g.F), "%v at %d: want %v, got %v", w.Metric, p.T, p.F, g.F)
		}
	}
}

func sumBy(child plan.Node, by ...string) plan.Node {
	return &plan.Aggregate{Op: parser.SUM, Child: child, Grouping: by, Fused: true}
}

func rate(sel plan.Selector, collide bool) plan.Node {
	return &plan.Rollup{Func: "rate", Selector: &sel, Range: 5 * minute, ArgPos: []plan.Pos{{}}, Collide: collide}
}

// What will be kept is told before it is read, once, if it is known; what is only
// folded is not. The answer alone is held afterwards.
func TestMemoryIsExpected(t *testing.T) {
	store := fillStore(t, 100)
	f := func(n plan.Node, grid row.Grid, m *free) (parser.Value, error) {
		v, _, _, err := Run(context.Background(), n, Params{
			Queryable: store, Grid: grid, Lookback: 5 * minute, Meter: m, Memory: memory, Stats: stats.NewQuerySamples(false), Workers: 1,
		})
		return v, err
	}
	fine := row.GridOf(5*minute, 60*minute, 15_000)
	all := &plan.Instant{Selector: named("m.")}
	m := &free{}
	v, err := f(all, fine, m)
	require.NoError(t, err)
	require.Len(t, m.expected, 1)
	require.LessOrEqual(t, m.peak, 2*m.expected[0])
	require.GreaterOrEqual(t, 2*m.peak, m.expected[0])
	points := 0
	for _, s := range v.(promql.Matrix) {
		points += len(s.Floats)
	}
	result := int64(points*pointBytes + 500*seriesBytes)
	require.GreaterOrEqual(t, m.bytes, result)
	require.LessOrEqual(t, m.bytes, result+5*slabPoints*pointBytes/4, "slabs are filled")

	for _, n := range []plan.Node{sumBy(all, "host"), &plan.Instant{Selector: named("m1")}} {
		m = &free{}
		_, err = f(n, row.GridOf(5*minute, 60*minute, minute), m)
		require.NoError(t, err)
		require.Empty(t, m.expected, "folded, or not worth it")
	}
	m = &free{err: errors.New("no room")}
	_, err = f(all, fine, m)
	require.ErrorIs(t, err, m.err)
	require.Zero(t, m.bytes)
}

// However many workers there are and whichever way the store is read, the
// answer is the same, as bits.
func TestWaysToOneAnswer(t *testing.T) {
	store := fillStore(t, 100)
	for name, n := range map[string]plan.Node{
		"selector":       &plan.Instant{Selector: named("m.")},
		"sum by host":    sumBy(&plan.Instant{Selector: named("m.")}, "host"),
		"sum by two":     sumBy(rate(named("m1|m2"), false), "dc", "host"),
		"sum":            sumBy(rate(named("m1"), false)),
		"sum by nothing": sumBy(rate(named("m1"), false), "nolabel"),
		"rate":           rate(named("m3"), true),
	} {
		t.Run(name, func(t *testing.T) {
			want, notes, count := run(t, n, hidden{store}, 1)
			require.NotEmpty(t, want)
			for _, workers := range []int{1, 2, 5} {
				got, gotNotes, gotCount := run(t, n, store, workers)
				same(t, want, got)
				require.Equal(t, len(notes), len(gotNotes))
				require.Equal(t, count.TotalSamplesPerStep, gotCount.TotalSamplesPerStep)
				require.Equal(t, count.SamplesReadPerStep, gotCount.SamplesReadPerStep)
				require.Equal(t, count.TotalSamples, gotCount.TotalSamples)
			}
		})
	}
}

// What is current at a step is found the same by the two ways of filling rows.
func TestCurrentOfFloats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		var s tsdb.Samples
		at := int64(0)
		step, wide := 1+r.Int64N(50), 1+r.Int64N(40)
		regular := r.IntN(2) == 0 // a sample a step, most of the time
		for range r.IntN(50) + r.IntN(2)*200 {
			switch {
			case regular && r.IntN(300) == 0:
				at -= r.Int64N(step) // one comes early
				fallthrough
			case regular:
				at += step
			default:
				at += 1 + r.Int64N(wide)
			}
			f := r.Float64()
			if r.IntN(50) == 0 {
				f = math.Float64frombits(value.StaleNaN)
			}
			s.T, s.F = append(s.T, at), append(s.F, f)
		}
		g := scope{Grid: row.GridOf(r.Int64N(100), max(1000, at-r.Int64N(100)), step)}
		c := current{scope: g, off: r.Int64N(60) - 30, lookback: 1 + r.Int64N(60)}
		fast := row.New(g.N)
		c.floats(s.T, s.F, fast)
		slow := row.New(g.N)
		for i := range g.N {
			ref := g.T(i) - c.off
			for k := len(s.T) - 1; k >= 0; k-- {
				if s.T[k] <= ref {
					if s.T[k] > ref-c.lookback && !value.IsStaleNaN(s.F[k]) {
						slow.SetF(i, s.F[k])
					}
					break
				}
			}
		}
		require.Equal(t, slow.Has, fast.Has)
		for i := range g.N {
			if slow.Has.Get(i) {
				require.Equal(t, slow.F[i], fast.F[i])
			}
		}
	}
}

func TestSortSeries(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for n := range 40 {
		var want, got promql.Matrix
		for i := range n {
			want = append(want, promql.Series{
				Metric: labels.FromStrings("l", fmt.Sprintf("%03d", i)), Floats: []promql.FPoint{{F: float64(i)}},
			})
		}
		for _, i := range r.Perm(n) {
			got = append(got, want[i])
		}
		sortSeries(got)
		require.Equal(t, want, got)
	}
}

// Points that come back are given out again where they fit, and never too few.
func TestPointsAgain(t *testing.T) {
	m := &Memory{}
	r := rand.New(rand.NewPCG(7, 8))
	for range 1000 {
		n := worthPoints + r.IntN(slabPoints-worthPoints+1)
		s := m.getPoints(n)
		require.Empty(t, s)
		require.GreaterOrEqual(t, cap(s), n)
		require.LessOrEqual(t, cap(s), n+n/4)
		m.putPoints(s[:1])
	}
}
