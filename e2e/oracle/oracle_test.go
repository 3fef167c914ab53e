package oracle

import (
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/stretchr/testify/require"
)

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// bench is the data, the stores that hold them, and a judge over these.
type bench struct {
	data   []Series
	seed   uint64 // of the data
	states []string
	judge  *Judge
}

func newBench(t *testing.T) *bench {
	t.Helper()
	seed := uint64(envInt("ORACLE_DATA", 1))
	b := &bench{data: RandomData(seed), seed: seed}
	stores, err := Stores(t.Context(), t.TempDir(), b.data)
	require.NoError(t, err)
	b.judge = &Judge{Oracle: Oracles(), Stores: map[string]storage.Queryable{}}
	for _, s := range stores {
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		b.states = append(b.states, s.Name)
		b.judge.Stores[s.Name] = s.Queryable
	}
	b.judge.Ours, err = Ours()
	require.NoError(t, err)
	return b
}

// run has all processors judge questions until next returns false.
func (b *bench) run(t *testing.T, next func() (Question, bool)) *Tally {
	t.Helper()
	total, start := &Tally{}, time.Now()
	var mu sync.Mutex // guards next, total and the file
	var wg sync.WaitGroup
	out := output(t)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			tally := &Tally{}
			if out != nil {
				tally.Out = out
			}
			for {
				mu.Lock()
				q, more := next()
				mu.Unlock()
				if !more {
					break
				}
				q.Data = b.seed
				tally.Add(t.Context(), b.judge, q)
			}
			mu.Lock()
			total.Merge(tally)
			mu.Unlock()
		})
	}
	wg.Wait()
	t.Logf("%s; in %s", total.Summary(), time.Since(start).Round(time.Millisecond))
	if len(total.Failures) > 0 {
		t.Logf("differences by the outermost function of the smallest expression:\n%s", total.Report(20))
	}
	return total
}

// output appends to ORACLE_OUT.
func output(t *testing.T) *os.File {
	if os.Getenv("ORACLE_OUT") == "" {
		return nil
	}
	f, err := os.OpenFile(os.Getenv("ORACLE_OUT"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func strict() bool { return os.Getenv("ORACLE_STRICT") != "0" }

// TestRandom judges random queries over random data.
func TestRandom(t *testing.T) {
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	n, seed := envInt("ORACLE_QUERIES", n), uint64(envInt("ORACLE_SEED", 0))
	if seed == 0 {
		seed = rand.Uint64N(1 << 30)
	}
	t.Logf("ORACLE_SEED=%d", seed)
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	b := newBench(t)
	only, err := regexp.Compile(os.Getenv("ORACLE_ONLY"))
	require.NoError(t, err)
	source, left := NewSource(seed, b.data, exprs, b.states), n
	met, p := Coverage{}, parser.NewParser(parserOptionsOf("all"))
	var mu sync.Mutex // guards met
	b.judge.Met = func(q Question, a Answer) {
		mu.Lock()
		defer mu.Unlock()
		met.add(p, q.Text, a)
	}
	tally := b.run(t, func() (Question, bool) {
		if left--; left < 0 {
			return Question{}, false
		}
		for range 10_000 {
			if q := source.Next(); only.MatchString(q.Text) {
				return q, true
			}
		}
		return Question{}, false
	})
	t.Logf("met least: %s", met.Rarest(15))
	require.False(t, tally.Failed(strict()), "ORACLE_SEED=%d", seed)
	if only.String() != "" {
		return // what follows is about all queries
	}
	if n >= 10_000 {
		require.Empty(t, met.Missing(), "parts of the language without an equal answer")
	}
	require.Greater(t, tally.Counts[Equal]+tally.Counts[Unstable]+tally.Counts[Flickering], n/2, "queries with an answer that has series")
	require.Less(t, tally.Counts[Skipped], n/50+1)
}

// TestCorpusMutated judges every expression of the corpus with its names
// replaced by those of the random data.
func TestCorpusMutated(t *testing.T) {
	exprs, err := promqltest.GetBuiltInExprs()
	require.NoError(t, err)
	b := newBench(t)
	source, i, every := NewSource(uint64(envInt("ORACLE_SEED", 1)), b.data, exprs, b.states), 0, 1
	if testing.Short() {
		every = 10
	}
	tally := b.run(t, func() (Question, bool) {
		if i >= len(exprs) {
			return Question{}, false
		}
		q := source.Ask(source.Mutate(exprs[i]))
		i += every
		return q, true
	})
	require.False(t, tally.Failed(strict()))
}

// TestOne asks one question and shows both answers, and the samples it may read.
func TestOne(t *testing.T) {
	q := Question{Text: os.Getenv("ORACLE_QUERY"), Features: os.Getenv("ORACLE_FEATURES"), State: os.Getenv("ORACLE_STATE")}
	if q.Text == "" {
		t.Skip("ORACLE_QUERY names no query")
	}
	if q.Features == "" {
		q.Features = "all"
	}
	if q.State == "" {
		q.State = "head"
	}
	require.NoError(t, parseGrid(&q, os.Getenv("ORACLE_GRID")))
	if d := os.Getenv("ORACLE_LOOKBACK"); d != "" {
		var err error
		q.Lookback, err = time.ParseDuration(d)
		require.NoError(t, err)
	}
	b := newBench(t)
	b.show(t, q)
	v, d := b.judge.Ask(t.Context(), q)
	require.Contains(t, []Verdict{Equal, Empty, EqualError, Unstable}, v, "%s", d)
}

func (b *bench) show(t *testing.T, q Question) {
	e, err := parser.NewParser(parserOptionsOf(q.Features)).ParseExpr(q.Text)
	if err == nil {
		parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
			if vs, ok := n.(*parser.VectorSelector); ok {
				t.Logf("samples of %s:\n%s", vs, samplesOf(b.data, vs.LabelMatchers, q.Start-3600_000, max(q.End, q.Start)+600_000))
			}
			return nil
		})
	}
	for name, engines := range map[string]Engines{"oracle": b.judge.Oracle, "ours": b.judge.Ours} {
		a := engines.Ask(context.Background(), b.judge.Stores[q.State], q)
		t.Logf("%s: error %v, warnings %q, infos %q\n%s", name, a.Err, a.Warnings, a.Infos, a.Text())
	}
}
