package exec

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/trace"
	"github.com/varvedb/varve/tsdb"
)

const (
	dayMs = 24 * 60 * minute
	t0    = int64(1700006400000) // a midnight
)

// statShapes are values that statistics know all, some or nothing of.
var statShapes = map[string]func(r *rand.Rand, i int) float64{
	"gauge":    func(r *rand.Rand, _ int) float64 { return float64(r.IntN(100) - 20) },
	"decimals": func(r *rand.Rand, i int) float64 { return float64(i*7+r.IntN(7)) / 100 },
	"doubles":  func(r *rand.Rand, _ int) float64 { return r.NormFloat64() },
	"constant": func(*rand.Rand, int) float64 { return 3 },
	"line":     func(_ *rand.Rand, i int) float64 { return float64(i * 15) },
	"runs":     func(_ *rand.Rand, i int) float64 { return float64(i / 400 % 3) },
	"counter":  func(r *rand.Rand, i int) float64 { return float64(i%2900*50 + r.IntN(50)) },
	"restless": func(r *rand.Rand, i int) float64 { return float64(i%90*50 + r.IntN(50)) },
	"huge":     func(r *rand.Rand, i int) float64 { return float64(1<<43 + int64(i)<<20 + r.Int64N(1<<20)) },
	"both":     func(r *rand.Rand, i int) float64 { return float64((r.Int64N(1<<42) + 1<<42) * int64(1-i/1500%2*2)) },
	"stale": func(r *rand.Rand, i int) float64 {
		if i%700 == 3 || i%2000 > 1900 {
			return math.Float64frombits(value.StaleNaN)
		}
		return float64(i + r.IntN(20))
	},
	"odd": func(r *rand.Rand, i int) float64 {
		if i/1000%2 == 0 {
			return float64(i % 50)
		}
		return []float64{math.NaN(), math.Copysign(0, -1), 0, 1, -1, math.Inf(1), math.Float64frombits(value.StaleNaN)}[r.IntN(7)]
	},
	"sometimes": func(r *rand.Rand, i int) float64 {
		if i%1700 == 600 {
			return []float64{math.NaN(), math.Copysign(0, -1), math.Inf(-1), 0.5, 1e300}[r.IntN(5)]
		}
		return float64(r.IntN(50))
	},
}

// statStore is a store with series of all shapes, at a sample every 20 to 40 s.
type statStore struct {
	t  testing.TB
	r  *rand.Rand
	db *tsdb.DB
	n  map[string]int // samples so far
}

func newStatStore(t testing.TB, seed uint64) *statStore {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff(), MinFree: -1})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return &statStore{t: t, r: rand.New(rand.NewPCG(seed, 9)), db: db, n: map[string]int{}}
}

func (s *statStore) fill(from, to int64) {
	b := s.db.Batch()
	for _, shape := range slices.Sorted(maps.Keys(statShapes)) {
		for k := range 2 {
			s.series(b, shape, strconv.Itoa(k), from, to)
		}
	}
	s.histograms(b, from, to)
	require.NoError(s.t, b.Commit(context.Background()))
}

func (s *statStore) series(b *tsdb.Batch, shape, k string, from, to int64) {
	ref, err := b.Series(labels.FromStrings("__name__", shape+"_total", "k", k))
	require.NoError(s.t, err)
	jitter := int64(0)
	if shape == "doubles" || shape == "runs" {
		jitter = 9000
	}
	for at := from; at < to; at += 30_000 {
		if s.r.IntN(3000) == 0 {
			at += s.r.Int64N(4 * 60 * minute) // a gap
		}
		s.n[shape+k]++
		require.NoError(s.t, b.Add(ref, at+s.r.Int64N(1+jitter), statShapes[shape](s.r, s.n[shape+k])))
	}
}

// histograms writes a series that turns from floats to histograms and back.
func (s *statStore) histograms(b *tsdb.Batch, from, to int64) {
	ref, err := b.Series(labels.FromStrings("__name__", "mixed_total", "k", "0"))
	require.NoError(s.t, err)
	for at := from; at < to; at += minute {
		s.n["mixed"]++
		i := s.n["mixed"]
		if i/1000%2 == 0 {
			require.NoError(s.t, b.Add(ref, at, float64(i)))
			continue
		}
		require.NoError(s.t, b.Histogram(ref, 0, at, &histogram.Histogram{
			Schema: 1, Count: uint64(2 * i), Sum: float64(i), ZeroThreshold: 0.001,
			PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{int64(i), 0},
		}))
	}
}

func (s *statStore) flush() { require.NoError(s.t, s.db.ForceFlush(context.Background())) }
func (s *statStore) merge() { require.NoError(s.t, s.db.ForceMerge(context.Background())) }

func (s *statStore) delete(from, to int64) {
	m := labels.MustNewMatcher(labels.MatchRegexp, "__name__", "(gauge|counter|stale|huge|mixed)_total")
	require.NoError(s.t, s.db.Delete(context.Background(), from, to, m))
}

// statStates are the places that samples can be at.
var statStates = map[string]func(*statStore){
	"head":    func(s *statStore) { s.fill(t0, t0+3*dayMs) },
	"flushed": func(s *statStore) { s.fill(t0, t0+3*dayMs); s.flush() },
	"merged": func(s *statStore) {
		for d := range int64(6) {
			s.fill(t0+d*dayMs/2, t0+(d+1)*dayMs/2)
			s.flush()
		}
		s.merge()
	},
	"half": func(s *statStore) {
		s.fill(t0, t0+2*dayMs-dayMs/3)
		s.flush()
		s.fill(t0+2*dayMs-dayMs/3, t0+3*dayMs)
	},
	"late": func(s *statStore) {
		s.fill(t0, t0+2*dayMs)
		s.flush()
		s.fill(t0+dayMs/2, t0+3*dayMs/4)
		s.flush()
		s.fill(t0+2*dayMs, t0+3*dayMs)
		s.fill(t0+5*dayMs/4, t0+5*dayMs/4+2*60*minute)
	},
	"deletes": func(s *statStore) {
		s.fill(t0, t0+3*dayMs)
		s.flush()
		s.delete(t0+dayMs/3, t0+dayMs/2)
		s.delete(t0+2*dayMs+1, t0+2*dayMs+6*60*minute)
	},
}

// answers are what a plan yields with and without statistics.
type answers struct {
	m     promql.Matrix
	notes string
	known int64 // samples that were not read
	count *stats.QuerySamples
}

var knewSamples = regexp.MustCompile("knew ([0-9]+) by statistics")

func answersOf(t testing.TB, n plan.Node, p Params, workers int) answers {
	p.Meter, p.Stats, p.Lookback = &free{}, stats.NewQuerySamples(true), 5*minute
	p.Memory, p.Gate, p.Workers = memory, budget.NewGate(workers), workers
	p.Trace = trace.New(true, "test")
	v, _, annos, err := Run(context.Background(), n, p)
	require.NoError(t, err)
	found := knewSamples.FindSubmatch(p.Trace.AppendJSON(nil))
	require.NotNil(t, found)
	known, err := strconv.ParseInt(string(found[1]), 10, 64)
	require.NoError(t, err)
	warnings, infos := annos.AsStrings("", 0, 0)
	slices.Sort(warnings)
	slices.Sort(infos)
	return answers{v.(promql.Matrix), fmt.Sprint(warnings, infos), known, p.Stats}
}

func rollupOf(fn, name string, window, offset int64, at *int64) *plan.Rollup {
	sel := named(name)
	sel.Offset, sel.At = offset, at
	return &plan.Rollup{Func: fn, Selector: &sel, Range: window, ArgPos: []plan.Pos{{}}}
}

var statFuncs = []string{
	"absent_over_time", "avg_over_time", "count_over_time", "delta", "first_over_time", "increase", "last_over_time",
	"max_over_time", "min_over_time", "present_over_time", "rate", "sum_over_time", "ts_of_first_over_time", "ts_of_last_over_time",
}

// With statistics answers are the same as without, as bits, and so are
// annotations and counts of samples, wherever the samples are.
func TestStatisticsAnswerAsReading(t *testing.T) {
	rounds := 30
	if testing.Short() {
		rounds = 4
	}
	for state, fill := range statStates {
		t.Run(state, func(t *testing.T) {
			s := newStatStore(t, uint64(len(state)))
			fill(s)
			store, r := tsdb.NewStorage(s.db), s.r
			known := map[string]int64{}
			for range rounds {
				window := minute + r.Int64N([]int64{10, 200, 1440, 4320}[r.IntN(4)]*minute)
				step := minute + r.Int64N(dayMs)
				if r.IntN(4) == 0 {
					window, step = dayMs, dayMs
				}
				start := t0 + r.Int64N(2*dayMs)
				if r.IntN(2) == 0 {
					start -= start % minute
				}
				grid := row.GridOf(start, start+r.Int64N(3*dayMs), step)
				offset, at := int64(0), (*int64)(nil)
				switch r.IntN(5) {
				case 0:
					offset = r.Int64N(dayMs) - dayMs/2
				case 1:
					when := t0 + r.Int64N(3*dayMs)
					at = &when
				}
				for _, fn := range statFuncs {
					n := rollupOf(fn, ".+", window, offset, at)
					p := Params{Queryable: store, Grid: grid}
					want := answersOf(t, n, p, 1)
					n.Stats, p.eager = true, r.IntN(4) > 0
					got := answersOf(t, n, p, 1+r.IntN(2))
					why := fmt.Sprintf("%s[%d] offset %d at %v, grid %+v", fn, window, offset, at, grid)
					sameAnswers(t, want, got, why)
					known[fn] += got.known
				}
			}
			for _, fn := range statFuncs {
				require.Equal(t, state != "head", known[fn] > 0, "%s: samples that were not read", fn)
			}
		})
	}
}

func sameAnswers(t testing.TB, want, got answers, why string) {
	require.Equal(t, len(want.m), len(got.m), why)
	for i, w := range want.m {
		g := got.m[i]
		require.Equal(t, w.Metric, g.Metric, why)
		require.Equal(t, len(w.Floats), len(g.Floats), "%s: %s", why, w.Metric)
		for k, p := range w.Floats {
			require.Equal(t, p.T, g.Floats[k].T, "%s: %s", why, w.Metric)
			if math.Float64bits(p.F) != math.Float64bits(g.Floats[k].F) {
				require.Equal(t, math.Float64bits(p.F), math.Float64bits(g.Floats[k].F), "%s: %s at %d: want %v, got %v", why, w.Metric, p.T, p.F, g.Floats[k].F)
			}
		}
		require.Equal(t, fmt.Sprint(w.Histograms), fmt.Sprint(g.Histograms), "%s: %s", why, w.Metric)
	}
	require.Equal(t, want.notes, got.notes, why)
	require.Equal(t, want.count.TotalSamples, got.count.TotalSamples, why)
	require.Equal(t, want.count.TotalSamplesPerStep, got.count.TotalSamplesPerStep, why)
	require.Equal(t, want.count.SamplesReadPerStep, got.count.SamplesReadPerStep, why)
}

// What pays is found out: long windows over series with statistics are not read,
// short ones are, and so are series that have none of use.
func TestStatisticsWhereTheyPay(t *testing.T) {
	s := newStatStore(t, 1)
	statStates["merged"](s)
	for _, c := range []struct {
		fn, series   string
		window, step int64
		known        bool
	}{
		{"avg_over_time", "gauge_total", dayMs, dayMs, true},
		{"avg_over_time", "gauge_total", 2 * dayMs, dayMs, true},
		{"max_over_time", "decimals_total", dayMs, dayMs, true},
		{"rate", "counter_total", dayMs, dayMs, true},
		{"avg_over_time", "gauge_total", 10 * minute, 10 * minute, false},
		{"avg_over_time", "gauge_total", dayMs, minute, false},
		{"avg_over_time", "decimals_total", dayMs, dayMs, false},
		{"rate", "restless_total", dayMs, dayMs, false},
		{"max_over_time", "mixed_total", dayMs, dayMs, false},
	} {
		n := rollupOf(c.fn, c.series, c.window, 0, nil)
		p := Params{Queryable: tsdb.NewStorage(s.db), Grid: row.GridOf(t0+2*dayMs, t0+3*dayMs, c.step)}
		want := answersOf(t, n, p, 1)
		require.Zero(t, want.known)
		n.Stats = true
		got := answersOf(t, n, p, 1)
		sameAnswers(t, want, got, c.fn)
		require.Equal(t, c.known, got.known > want.count.SamplesRead/2, "%+v", c)
	}
}
