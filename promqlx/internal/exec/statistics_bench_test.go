//go:build unix

package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/stats"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/tsdb"
)

// BenchmarkStatistics is windows of a day over a month of samples 15 s apart, with
// statistics and without: processor time of one goroutine, and the ratio. The store
// is made once in STAT_DIR, a temporary folder if that is not set, with STAT_SERIES
// series of each kind, 20 if not set. The bar is 10 with 1000.
func BenchmarkStatistics(b *testing.B) {
	const days = 30
	db := monthStore(b, days)
	for _, kind := range []string{"integer", "counter", "decimal"} {
		for _, fn := range []string{"avg_over_time", "max_over_time", "rate", "increase", "sum by"} {
			for name, at := range map[string]int64{"days": 0, "cut": 7*60*minute + 13*minute} {
				sel := plan.Selector{Matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", kind)}}
				n := &plan.Rollup{Func: fn, Selector: &sel, Range: dayMs, ArgPos: []plan.Pos{{}}}
				var root plan.Node = n
				if fn == "sum by" {
					n.Func = "avg_over_time"
					root = sumBy(n, "dc")
				}
				grid := row.GridOf(t0+dayMs+at, t0+days*dayMs+at, dayMs)
				b.Run(kind+"/"+fn+"/"+name, func(b *testing.B) { bothWays(b, db, root, n, grid) })
			}
		}
	}
}

// bothWays takes turns, so that what else the machine does is the same for both.
func bothWays(b *testing.B, db *tsdb.DB, root plan.Node, n *plan.Rollup, grid row.Grid) {
	once := func(with bool) time.Duration {
		n.Stats = with
		before := processorTime(b)
		_, answer, _, err := Run(context.Background(), root, Params{
			Queryable: tsdb.NewStorage(db), Grid: grid, Lookback: 5 * minute, Meter: &free{}, Memory: memory,
			Stats: stats.NewQuerySamples(false), Workers: 1,
		})
		require.NoError(b, err)
		answer.Free()
		return processorTime(b) - before
	}
	var with, without time.Duration
	for b.Loop() {
		with += once(true)
		without += once(false)
	}
	b.ReportMetric(float64(with.Microseconds())/1000/float64(b.N), "with-ms")
	b.ReportMetric(float64(without.Microseconds())/1000/float64(b.N), "without-ms")
	b.ReportMetric(float64(without)/float64(with), "ratio")
	b.ReportMetric(0, "ns/op")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func monthStore(b *testing.B, days int) *tsdb.DB {
	series := 20
	if s := os.Getenv("STAT_SERIES"); s != "" {
		var err error
		series, err = strconv.Atoi(s)
		require.NoError(b, err)
	}
	dir := os.Getenv("STAT_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	dir = filepath.Join(dir, fmt.Sprint("month", series))
	_, err := os.Stat(dir)
	made := err == nil
	db, err := tsdb.Open(dir, tsdb.Options{Sync: tsdb.SyncOff(), MinFree: -1, FlushBytes: 1 << 30, MemoryBudget: 8 << 30, ScrubInterval: -1})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	if !made {
		fillMonth(b, db, series, days)
	}
	return db
}

func fillMonth(b *testing.B, db *tsdb.DB, series, days int) {
	ctx := context.Background()
	r := rand.New(rand.NewPCG(4, 2))
	level, count := make([]float64, series), make([]float64, series)
	for d := range days {
		for s := range series {
			batch := db.Batch()
			var refs [3]tsdb.Series
			for k, kind := range []string{"integer", "counter", "decimal"} {
				ref, err := batch.Series(labels.FromStrings("__name__", kind, "host", fmt.Sprint("h", s), "dc", fmt.Sprint("d", s%10)))
				require.NoError(b, err)
				refs[k] = ref
			}
			phase := int64(s)*7919%15_000 + 1
			for i := range 5760 {
				at := t0 + int64(d)*dayMs + int64(i)*15_000 + phase
				level[s] = min(100, max(0, level[s]+float64(r.IntN(5)-2)))
				if count[s] += float64(r.IntN(40)); r.IntN(3*5760) == 0 {
					count[s] = 0
				}
				_, _, _ = batch.Add(refs[0], at, level[s]), batch.Add(refs[1], at, count[s]), batch.Add(refs[2], at, level[s]*10+float64(r.IntN(10))/10)
			}
			require.NoError(b, batch.Commit(ctx))
		}
		require.NoError(b, db.ForceFlush(ctx))
	}
	require.NoError(b, db.ForceMerge(ctx))
}

// BenchmarkStatisticsWindows is other windows over the same month: where statistics
// do not pay, they must not cost either.
func BenchmarkStatisticsWindows(b *testing.B) {
	const days, hour = 30, 60 * minute
	db := monthStore(b, days)
	for _, w := range []struct{ window, step, over int64 }{
		{hour / 2, hour / 2, 3 * dayMs}, {hour, hour, 3 * dayMs}, {hour, 6 * hour, days * dayMs}, {4 * hour, 4 * hour, days * dayMs},
		{12 * hour, 12 * hour, days * dayMs}, {dayMs, hour, days * dayMs}, {7 * dayMs, dayMs, days * dayMs},
		{20 * dayMs, hour, days * dayMs}, {dayMs, 0, dayMs},
	} {
		for _, c := range [][2]string{{"integer", "avg_over_time"}, {"integer", "max_over_time"}, {"counter", "rate"}, {"integer", "rate"}} {
			sel := plan.Selector{Matchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, "__name__", c[0])}}
			n := &plan.Rollup{Func: c[1], Selector: &sel, Range: w.window, ArgPos: []plan.Pos{{}}}
			end := t0 + days*dayMs - 47*minute
			grid := row.GridOf(end-w.over+w.window, end, max(1, w.step))
			b.Run(fmt.Sprintf("%dm per %dm/%s of %s", w.window/minute, w.step/minute, c[1], c[0]), func(b *testing.B) { bothWays(b, db, n, n, grid) })
		}
	}
}
