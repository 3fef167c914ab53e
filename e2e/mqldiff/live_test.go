package mqldiff

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// repeats is how often a question is asked again whose answers differ.
const repeats = 12

// verdict is what came of a question.
type verdict struct {
	why       string // "" if the answers are the same
	chance    bool   // VictoriaMetrics contradicts itself
	got, want answer
}

func judge(t *testing.T, vm *victoria, varve harness.Client, q question) verdict {
	v := verdict{got: askVarve(t, varve, q), want: vm.ask(q)}
	if v.want.Status == crashed {
		require.Less(t, v.got.Status, 500, q.String())
		v.chance = true
		return v
	}
	v.why = differs(q.Loose, v.got, v.want)
	for range repeats {
		if v.why == "" {
			return v
		}
		again := vm.ask(q)
		if differs(0, again, v.want) == "" {
			continue
		}
		v.chance = true
		if differs(q.Loose|anyOrder|inexactSums, v.got, again) == "" || differs(q.Loose|anyOrder|inexactSums, v.got, v.want) == "" {
			v.why = ""
		}
	}
	return v
}

func cut(s string) string { return s[:min(len(s), 1500)] }

func (v *verdict) report(q question) string {
	text := q.Params.Get("query")
	return fmt.Sprintf("%s\n  ask  %s\n  why  %s\n  got  %s %s\n  want %s %s\n", text, q.String(), v.why, v.got.Fetched, cut(v.got.Body), v.want.Fetched, cut(v.want.Body))
}

// TestLive asks both servers the same.
func TestLive(t *testing.T) {
	bin := os.Getenv("MQLDIFF_VM")
	if bin == "" {
		t.Skip("MQLDIFF_VM names no VictoriaMetrics")
	}
	data := makeData(uint64(envInt("MQLDIFF_DATA", dataSeed)))
	vm, varve := startVM(t, bin, data), startVarve(t, data)
	if one := os.Getenv("MQLDIFF_QUERY"); one != "" {
		endpoint, args, _ := strings.Cut(one, "?")
		params, err := url.ParseQuery(args)
		require.NoError(t, err)
		q := question{Endpoint: endpoint, Params: params}
		v := judge(t, vm, varve, q)
		t.Log(v.report(q))
		require.Empty(t, v.why)
		return
	}
	seed := uint64(envInt("MQLDIFF_SEED", 0))
	if seed == 0 {
		seed = rand.Uint64N(1 << 30)
	}
	run := &liveRun{met: newCoverage()}
	src, start := newSource(seed, data), time.Now()
	for range envInt("MQLDIFF_QUERIES", 2000) {
		q := src.next()
		run.add(q, judge(t, vm, varve, q))
	}
	t.Logf("MQLDIFF_SEED=%d: %s; in %s", seed, run, time.Since(start).Round(time.Second))
	t.Logf("met least: %s", run.met.rarest(20))
	if out := os.Getenv("MQLDIFF_OUT"); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(strings.Join(run.failed, "\n")), 0o644))
	}
	require.Empty(t, run.failed[:min(len(run.failed), 5)], "MQLDIFF_SEED=%d", seed)
	if file := os.Getenv("MQLDIFF_RECORD"); file != "" {
		text, err := encodeRecords(run.records)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(file, text, 0o644))
		t.Logf("%d answers recorded, %d bytes", len(run.records), len(text))
	}
}

// liveRun counts what came of questions.
type liveRun struct {
	total, empty, chance, errors, loose, needed int

	failed  []string
	records []record
	met     coverage
}

func (r *liveRun) add(q question, v verdict) {
	count := func(n *int, yes bool) {
		if yes {
			*n++
		}
	}
	r.total++
	count(&r.empty, strings.Contains(v.want.Body, `"result":[]`))
	count(&r.errors, v.want.Status != 200)
	count(&r.chance, v.chance)
	count(&r.loose, q.Loose != 0)
	count(&r.needed, q.Loose != 0 && v.got.Body != v.want.Body)
	r.met.add(q.Params.Get("query"), v.want)
	if v.why != "" {
		r.failed = append(r.failed, v.report(q))
	}
	if v.chance || strings.Contains(v.want.Body, `"result":[]`) && r.total%4 != 0 {
		return // emptiness says less
	}
	if one, ok := newRecord(q, v.want); ok {
		r.records = append(r.records, one)
	}
}

func (r *liveRun) String() string {
	return fmt.Sprintf("%d queries: %d differ, %d left to chance, %d may be compared loosely, %d had to be, %d empty, %d errors",
		r.total, len(r.failed), r.chance, r.loose, r.needed, r.empty, r.errors)
}
