package promqlx

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/cache"
	"github.com/varvedb/varve/tsdb"
)

// aging is a store that goes on while it is asked: samples every minute, some
// late, deletes, flushes and merges.
type aging struct {
	t    *testing.T
	rnd  *rand.Rand
	db   *tsdb.DB
	sets []labels.Labels
	now  int64 // milliseconds
}

const minuteMs, hourMs = 60_000, 3600_000

// agingFrom is the first sample's time.
const agingFrom = 1_700_000_000_000

func newAging(t *testing.T, hours int64) *aging {
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	a := &aging{t: t, rnd: rand.New(rand.NewPCG(5, 7)), db: db, now: agingFrom}
	add := func(lbls ...string) { a.sets = append(a.sets, labels.FromStrings(lbls...)) }
	for h := range 4 {
		host, dc := fmt.Sprint("h", h), fmt.Sprint(h%2)
		add("__name__", "req_total", "host", host, "dc", dc)
		add("__name__", "other_total", "host", host, "dc", dc)
		add("__name__", "up", "host", host, "dc", dc)
		add("__name__", "native", "host", host, "dc", dc)
		for _, le := range []string{"0.1", "1", "+Inf"} {
			add("__name__", "lat_bucket", "host", host, "le", le)
		}
	}
	a.ingest(hours * 60)
	return a
}

// ingest writes the samples of minutes to come. Some series are not there for some
// hours, so that the order of groups changes.
func (a *aging) ingest(minutes int64) {
	b := a.db.Batch()
	for range minutes {
		a.now += minuteMs
		for i, lset := range a.sets {
			if (a.now/(3*hourMs)+int64(i))%5 != 0 && a.rnd.IntN(20) > 0 {
				a.add(b, lset, a.now-int64(a.rnd.IntN(10_000)))
			}
		}
	}
	require.NoError(a.t, b.Commit(context.Background()))
}

func (a *aging) add(b *tsdb.Batch, lset labels.Labels, at int64) {
	s, err := b.Series(lset)
	require.NoError(a.t, err)
	n := (at - agingFrom) / 1000 % 50_000
	switch lset.Get("__name__") {
	case "native":
		h := &histogram.Histogram{
			Schema: 1, Count: uint64(3 * n), Sum: float64(n) / 3, ZeroThreshold: 0.001,
			PositiveSpans: []histogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []int64{n, n},
		}
		require.NoError(a.t, b.Histogram(s, 0, at, h))
	case "up":
		require.NoError(a.t, b.Add(s, at, float64(a.rnd.IntN(2))))
	default:
		require.NoError(a.t, b.Add(s, at, float64(n)*(1+a.rnd.Float64()/100)))
	}
}

// happen lets something happen to the store.
func (a *aging) happen() {
	ctx, past := context.Background(), func() int64 { return agingFrom + a.rnd.Int64N(a.now-agingFrom) }
	switch a.rnd.IntN(12) {
	case 0, 8, 9:
		b := a.db.Batch()
		for range 1 + a.rnd.IntN(3) {
			a.add(b, a.sets[a.rnd.IntN(len(a.sets))], past())
		}
		require.NoError(a.t, b.Commit(ctx))
	case 1:
		at := past()
		m := labels.MustNewMatcher(labels.MatchEqual, "host", fmt.Sprint("h", a.rnd.IntN(4)))
		require.NoError(a.t, a.db.Delete(ctx, at, at+a.rnd.Int64N(hourMs), m))
	case 2:
		require.NoError(a.t, a.db.ForceFlush(ctx))
	case 3:
		require.NoError(a.t, a.db.Tidy(ctx))
	case 4, 5, 6, 7:
		a.ingest(1 + a.rnd.Int64N(30))
	}
}

// kept are queries whose answers are kept.
var kept = []string{
	`req_total`, `up`, `{__name__=~"req_total|other_total"}`, `native`, `up offset 1h`, `req_total offset -10m`,
	`rate(req_total[5m])`, `sum(rate(req_total[5m]))`, `sum by (dc) (rate(req_total[7m]))`, `avg without (host) (up)`,
	`topk(2, rate(req_total[5m]))`, `bottomk(1, up)`, `quantile(0.3, req_total)`, `stddev by (dc) (req_total)`,
	`histogram_quantile(0.9, sum by (le) (rate(lat_bucket[5m])))`, `histogram_quantile(0.5, rate(lat_bucket[10m]))`,
	`histogram_quantile(0.9, sum(rate(native[5m])))`, `rate(native[5m])`, `sum by (dc) (increase(native[20m]))`,
	`histogram_count(rate(native[5m]))`, `sum_over_time(native[5m])`, `avg_over_time(native[7m])`,
	`max_over_time(rate(req_total[5m])[30m:1m])`, `sum(sum_over_time(up[1h:7m]))`, `avg_over_time(up[2h])`,
	`rate(req_total[5m]) / rate(other_total[5m])`, `rate(req_total[5m]) / on (host) group_left rate(other_total[5m])`,
	`req_total and on (host) (up == 1)`, `up == 1 or other_total`, `sum(up) or vector(0)`, `req_total unless up`,
	`-req_total`, `1 - avg(up)`, `clamp_max(up, 0.5)`, `abs(req_total - 100)`, `req_total > 1000`,
	`count(up) by (dc)`, `count(sum by (dc) (up))`, `count_values("v", up)`, `group by (host) (req_total)`,
	`absent(up{host="h1"})`, `absent_over_time(up{host="h1"}[10m])`, `scalar(sum(up)) + up`, `timestamp(up)`, `hour(req_total)`,
	`label_replace(up, "a", "$1", "host", "(.).*")`, `changes(up[1h])`, `quantile_over_time(0.4, req_total[30m])`,
	`predict_linear(req_total[1h], 60)`, `deriv(req_total[20m])`, `resets(req_total[3h])`, `last_over_time(up[15m])`, `time() - timestamp(up)`,
	`min by (dc) (min_over_time(req_total[10m]))`, `rate(req_total[max_of(step(), 5m)])`, `stdvar_over_time(req_total[25m])`,
	`sum_over_time(up[6h])`, `req_total offset 9h`, `sum(sum_over_time(up[5h:7m]))`, `max_over_time(sum_over_time(req_total[2h] offset 3h)[1h:5m] offset 1h)`,
	`rate(up[5m])`, `sum by (dc) (increase(up[10m]))`, `avg(rate(up[5m])) * 8`, `-sum(rate(native[5m]))`, `1 - sum(rate(up{host="h1"}[3m]))`,
	`double_exponential_smoothing(up[20m], 0.5, 0.5)`, `ts_of_max_over_time(req_total[1h])`,
}

// notKept are queries of which nothing is kept.
var notKept = []string{
	`up @ 1700050000`, `up + on () group_left () sum(up @ end())`, `sum(sum by (dc) (rate(req_total[5m])))`, `topk(1, sum by (host) (up))`,
	`max(sum by (dc) (up))`, `sort(up)`, `limitk(1, up)`, `sum(up and req_total)`, `histogram_count(native)`, `vector(1)`,
	`sum_over_time(up[1m:30s])`, `rate(req_total[5m] smoothed)`, `sum(rate({__name__=~"req_total|other_total"}[5m]))`,
	`topk(1, count by (host) ({__name__=~"req_total|other_total"}))`, `sum(sum by (host) ({__name__=~"req_total|other_total"}))`,
	`topk(scalar(count(up)), up)`, `sum_over_time(up[10m:1m] @ 1700050000)`, `info(up)`,
}

// sometimes fail, or have annotations.
var awkward = []string{
	`count(rate(up[5m]))`, `rate(up[5m]) > 0`, `sum(rate({__name__=~"native|up"}[5m]))`, `rate(up[5m]) / rate(up[10m])`, `max_over_time(rate(up[5m])[10m:1m])`, `rate(native[5m]) + rate(req_total[5m])`, `up + on (dc) req_total`, `rate({__name__=~"req_total|other_total"}[5m])`,
	`sum({__name__=~"native|up"})`, `avg_over_time({__name__=~"native|up"}[1h])`, `req_total + on (host) group_right () (up == 0)`,
	`label_replace(up, "host", "x", "host", "h[12]")`, `histogram_quantile(0.9, up)`, `up + on (dc) (req_total > 40000)`, `start() + up`,
}

// randomQuery returns a query of the metrics of aging.
func randomQuery(r *rand.Rand, depth int) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	if depth == 0 {
		sel := pick("req_total", "other_total", "up", "native", `{host="h1"}`, `{__name__=~".+_total"}`, `up{host=~"h[12]"}`, `{__name__=~"up|native"}`, "lat_bucket")
		at := pick("", "", "", "", " offset 3m", " offset -1h", " @ end()")
		if r.IntN(2) == 0 {
			return sel + at
		}
		return pick("rate", "increase", "max_over_time", "last_over_time", "count_over_time", "sum_over_time", "absent_over_time", "deriv", "changes", "resets", "avg_over_time") +
			"(" + sel + pick("[5m]", "[90s]", "[3h]") + at + ")"
	}
	a := randomQuery(r, depth-1)
	switch r.IntN(12) {
	case 0, 1, 2, 3:
		return pick("sum", "count", "max", "avg", "stddev", "group") + pick("", " by (host)", " by (dc, host)", " without (host)", " by (__name__, dc)") + " (" + a + ")"
	case 4:
		return pick("topk", "bottomk", "limitk", "quantile") + pick("", " by (dc)") + " (" + pick("1", "2", "0.5 + 0.5", "scalar(up{host=\"h1\"})") + ", " + a + ")"
	case 5:
		return pick("abs", "hour", "timestamp", "sort", "histogram_sum", "histogram_count", "sgn", "absent", "-") + "(" + a + ")"
	case 6:
		return "(" + a + ")" + pick(" * ", " > ", " - ", " > bool ") + pick("2", "pi()", "scalar("+a+")", "time()")
	case 7:
		return "(" + a + ")" + pick(" + ", " / ", " and ", " or ", " unless ", " > ", " / on (host) ", " + on (dc) group_left () ") + "(" + a + ")"
	case 8:
		return "(" + a + ")" + pick(" + ", " or ", " unless ", " > ") + "(" + randomQuery(r, depth-1) + ")"
	case 9, 10:
		return pick("max_over_time", "rate", "last_over_time", "count_over_time", "sum_over_time") + "((" + a + ")" + pick("[10m:1m]", "[3h:7m]", "[45s:10s]") + pick("", " offset 2m") + ")"
	}
	return pick(`label_replace(`+a+`, "host", "$1", "dc", "(.*)")`, `count_values("v", `+a+`)`, `histogram_quantile(0.7, `+a+`)`, `clamp(`+a+`, 1, 3)`)
}

func cachedEngine(t testing.TB, opts cache.Options, now func() time.Time) (*Engine, *cache.Cache) {
	e, err := New(Options{CacheBytes: opts.Bytes, EnabledFeatures: []string{
		"promql-experimental-functions", "promql-extended-range-selectors", "promql-duration-expr", "promql-per-step-stats",
	}})
	require.NoError(t, err)
	o := e.evaluator.(*own)
	o.cache, o.now = cache.New(opts), now
	return e, o.cache
}

func (a *aging) clock() time.Time { return time.UnixMilli(a.now) }

// answer is all of an answer, as text.
func (a *aging) answer(e *Engine, text string, opts QueryOptions, start, end int64, step time.Duration) string {
	q, err := e.Range(context.Background(), tsdb.NewStorage(a.db), text, opts, time.UnixMilli(start), time.UnixMilli(end), step)
	require.NoError(a.t, err, text)
	defer q.Close()
	return answerText(q.Exec(context.Background()))
}

func answerText(res *Result) string {
	if res.Err != nil {
		return "error " + res.Err.Error()
	}
	var b strings.Builder
	for _, s := range res.Value.(promql.Matrix) {
		fmt.Fprintf(&b, "%s %v\n", s.Metric, s.DropName)
		for _, p := range s.Floats {
			fmt.Fprintf(&b, " %d=%x", p.T, math.Float64bits(p.F))
		}
		for _, p := range s.Histograms {
			fmt.Fprintf(&b, " %d=%+v", p.T, *p.H)
		}
		b.WriteByte('\n')
	}
	var notes []string
	for text := range res.Warnings {
		notes = append(notes, text)
	}
	slices.Sort(notes)
	return b.String() + strings.Join(notes, "\n")
}

// difference tells where two answers begin to differ.
func difference(want, got string) string {
	i := 0
	for i < min(len(want), len(got)) && want[i] == got[i] {
		i++
	}
	cut := func(s string) string { return s[max(0, i-200):min(len(s), i+200)] }
	return fmt.Sprintf("want\n%s\ngot\n%s", cut(want), cut(got))
}

// TestCachedAnswersAreTheSame asks a store that changes for windows that move on:
// answers out of the cache are those of an evaluation, as bits.
func TestCachedAnswersAreTheSame(t *testing.T) {
	rounds := 600
	if testing.Short() {
		rounds = 60
	}
	a := newAging(t, 30)
	e, c := cachedEngine(t, cache.Options{Bytes: 64 << 20, MinTime: -1}, a.clock)
	texts := slices.Concat(kept, kept, notKept, awkward)
	steps := []time.Duration{time.Minute, time.Minute, 5 * time.Minute, 61 * time.Second, 15 * time.Minute, 2 * time.Hour}
	few := []string{}
	for round := range rounds {
		a.happen()
		if round%20 == 0 { // a dashboard, for a while
			few = few[:0]
			for range 3 {
				text := texts[a.rnd.IntN(len(texts))]
				if a.rnd.IntN(3) == 0 {
					text = randomQuery(a.rnd, 1+a.rnd.IntN(3))
				}
				few = append(few, text)
			}
		}
		text, step := few[a.rnd.IntN(len(few))], steps[a.rnd.IntN(len(steps))]
		end := a.now
		if a.rnd.IntN(3) == 0 {
			end -= a.rnd.Int64N(20 * hourMs)
		}
		ms := step.Milliseconds()
		if end = end / ms * ms; a.rnd.IntN(4) == 0 {
			end += 7
		}
		start := max(agingFrom-hourMs, end-int64(1+a.rnd.IntN(24))*hourMs)
		want := a.answer(e, text, QueryOptions{NoCache: true}, start, end, step)
		for range 2 {
			got := a.answer(e, text, QueryOptions{}, start, end, step)
			if want != got {
				t.Fatalf("round %d: %s, %d to %d by %s: %s", round, text, start, end, step, difference(want, got))
			}
		}
	}
	s := c.Stats()
	t.Logf("%+v", s)
	require.Greater(t, s.Hits, int64(rounds))
	require.Positive(t, s.Misses)
}

// TestOrderOfGroups: which of equal groups is in topk is decided by their order of
// appearance in the whole range, which a later part of it does not tell.
func TestOrderOfGroups(t *testing.T) {
	a := &aging{t: t, rnd: rand.New(rand.NewPCG(5, 7)), now: agingFrom}
	var err error
	a.db, err = tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.db.Close()) })
	b := a.db.Batch()
	for i := range int64(600) {
		at := agingFrom + i*minuteMs
		a.add(b, labels.FromStrings("__name__", "a_total", "host", "h1"), at)
		a.add(b, labels.FromStrings("__name__", "b_total", "host", "h0"), at)
		if i < 200 { // brings h0 to the front
			a.add(b, labels.FromStrings("__name__", "a_total", "host", "h0"), at)
		} else {
			a.add(b, labels.FromStrings("__name__", "b_total", "host", "h1"), at)
		}
		if i < 200 {
			a.add(b, labels.FromStrings("__name__", "b_total", "host", "h1"), at)
		} else {
			a.add(b, labels.FromStrings("__name__", "c_total", "host", "h0"), at)
		}
	}
	require.NoError(t, b.Commit(context.Background()))
	a.now += 24 * hourMs
	e, c := cachedEngine(t, cache.Options{Bytes: 64 << 20, MinTime: -1}, a.clock)
	const text = `topk(1, count by (host) ({__name__=~".+_total"}))`
	const from, middle, to = agingFrom, agingFrom + 300*minuteMs, agingFrom + 599*minuteMs
	later := a.answer(e, text, QueryOptions{}, middle, to, time.Minute)
	require.Contains(t, later, "h1", "the first in a part")
	want := a.answer(e, text, QueryOptions{NoCache: true}, from, to, time.Minute)
	require.NotContains(t, want, "h1", "but not of the whole")
	require.Equal(t, want, a.answer(e, text, QueryOptions{}, from, to, time.Minute))
	require.Zero(t, c.Stats().Entries)
}

// TestNoteOfFloatsAlone: a metric of floats that becomes one of histograms is
// remarked on where the floats are.
func TestNoteOfFloatsAlone(t *testing.T) {
	a := &aging{t: t, rnd: rand.New(rand.NewPCG(5, 7)), now: agingFrom}
	var err error
	a.db, err = tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, a.db.Close()) })
	b := a.db.Batch()
	s, err := b.Series(labels.FromStrings("__name__", "latency"))
	require.NoError(t, err)
	for i := range uint64(600) {
		at := agingFrom + int64(i)*minuteMs
		if i < 300 {
			require.NoError(t, b.Add(s, at, float64(i)))
		}
		if i < 310 { // no window has both
			continue
		}
		require.NoError(t, b.Histogram(s, 0, at, &histogram.Histogram{
			Schema: 1, Count: 2 * i, PositiveSpans: []histogram.Span{{Offset: 0, Length: 1}}, PositiveBuckets: []int64{int64(2 * i)},
		}))
	}
	require.NoError(t, b.Commit(context.Background()))
	a.now += 24 * hourMs
	e, c := cachedEngine(t, cache.Options{Bytes: 64 << 20, MinTime: -1}, a.clock)
	for _, noted := range []bool{true, false} { // the second is kept from the first
		from, to := int64(agingFrom+320*minuteMs), int64(agingFrom+550*minuteMs)
		if noted {
			from = agingFrom
		}
		want := a.answer(e, "sum(increase(latency[5m]))", QueryOptions{NoCache: true}, from, to, time.Minute)
		require.Equal(t, noted, strings.Contains(want, "latency"), want)
		require.Equal(t, want, a.answer(e, "sum(increase(latency[5m]))", QueryOptions{}, from, to, time.Minute))
	}
	require.Positive(t, c.Stats().Hits)
}

// TestCacheConcurrently: many ask at once for what is over, while samples of now
// come in.
func TestCacheConcurrently(t *testing.T) {
	a := newAging(t, 12)
	e, c := cachedEngine(t, cache.Options{Bytes: 60_000, MinTime: -1}, a.clock)
	end := a.now/(2*hourMs)*(2*hourMs) - 2*hourMs
	wants := map[string]string{}
	for _, text := range kept[:20] {
		wants[text] = a.answer(e, text, QueryOptions{NoCache: true}, end-6*hourMs, end, time.Minute)
	}
	e.evaluator.(*own).now = func() time.Time { return time.UnixMilli(end + 3*hourMs) }
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for text, want := range wants {
				if got := a.answer(e, text, QueryOptions{}, end-6*hourMs, end, time.Minute); got != want {
					t.Errorf("%s: %s", text, difference(want, got))
				}
			}
		})
	}
	a.ingest(30)
	group.Wait()
	s := c.Stats()
	require.LessOrEqual(t, s.Bytes, int64(60_000))
	require.Positive(t, s.Evictions)
}

// door is a store behind another type, as the server has it.
type door struct {
	Queryable
	db *tsdb.DB
}

func (d door) DB() *tsdb.DB { return d.db }

// TestWhatIsKept: what an Engine keeps as it comes, and what it tells of it.
func TestWhatIsKept(t *testing.T) {
	a := newAging(t, 30)
	reg := prometheus.NewRegistry()
	e, err := New(Options{CacheBytes: 1 << 20, Registerer: reg})
	require.NoError(t, err)
	o := e.evaluator.(*own)
	o.now = a.clock
	hits := func() float64 {
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			if f.GetName() == "varve_query_cache_hits_total" {
				return f.Metric[0].Counter.GetValue()
			}
		}
		t.Fatal("no such metric")
		return 0
	}
	ask := func(q Queryable, opts QueryOptions) string {
		opts.Trace = NewTrace(true, "test")
		r, err := e.Range(context.Background(), q, "sum_over_time(up[3h:2s])", opts, time.UnixMilli(agingFrom), time.UnixMilli(agingFrom+24*hourMs), time.Minute)
		require.NoError(t, err)
		defer r.Close()
		require.NoError(t, r.Exec(context.Background()).Err)
		return string(opts.Trace.AppendJSON(nil))
	}
	own := door{tsdb.NewStorage(a.db), a.db}
	require.Contains(t, ask(own, QueryOptions{}), "cache: 0 buckets with 0 steps")
	ask(own, QueryOptions{}) // it read enough to be kept
	require.Greater(t, hits(), 20.0)
	n := hits()
	require.NotContains(t, ask(own, QueryOptions{NoCache: true}), "cache:")
	require.NotContains(t, ask(door{Queryable: tsdb.NewStorage(a.db)}, QueryOptions{}), "cache:", "no store of ours, as far as one can tell")
	require.Equal(t, n, hits())
	require.Contains(t, ask(tsdb.NewStorage(a.db), QueryOptions{}), "join ")
	require.Greater(t, hits(), n)

	e, err = New(Options{})
	require.NoError(t, err)
	require.NotContains(t, ask(own, QueryOptions{}), "cache:", "by default nothing is kept")
}
