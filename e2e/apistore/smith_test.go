package apistore

import (
	"context"
	"fmt"
	"math/rand"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cortexproject/promqlsmith"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	upstreamtsdb "github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
	"github.com/prometheus/prometheus/util/teststorage"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/remote/api/apitest"
	"github.com/varvedb/varve/tsdb"
)

// Random queries are answered by varve over its store as by Prometheus over a
// store of its own with the same data. E2E_QUERIES says how many, E2E_SEED
// repeats a run.
func TestRandomQueries(t *testing.T) {
	queries, seed := envInt("E2E_QUERIES", 1000), int64(envInt("E2E_SEED", 0))
	if seed == 0 {
		seed = rand.Int63()
	}
	t.Logf("E2E_SEED=%d", seed)
	db, err := tsdb.Open(t.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	reference := teststorage.New(t, func(o *upstreamtsdb.Options) { o.MinBlockDuration, o.MaxBlockDuration = 1<<40, 1<<40 })
	series := randomData(t, tsdb.NewStorage(db), reference)
	ours, theirs := door(t, db), Upstream(reference)
	smith := promqlsmith.New(rand.New(rand.NewSource(seed)), series,
		promqlsmith.WithEnableOffset(true), promqlsmith.WithEnableAtModifier(true), promqlsmith.WithAtModifierMaxTimestamp((dataStart+7200)*1000), promqlsmith.WithEnableVectorMatching(true))
	ok, unstable := 0, 0
	for i := range queries {
		switch i {
		case queries / 3: // the rest runs over head and parts
			require.NoError(t, db.ForceFlush(context.Background()))
		case 2 * queries / 3:
			require.NoError(t, db.ForceMerge(context.Background()))
		}
		c := apitest.Case{Method: http.MethodPost, Path: "/api/v1/query_range", Params: form(
			"query", smith.WalkRangeQuery().Pretty(0), "start", strconv.Itoa(dataStart+600), "end", strconv.Itoa(dataStart+6600), "step", "97")}
		if i%2 == 0 {
			c.Path, c.Params = "/api/v1/query", form("query", smith.WalkInstantQuery().Pretty(0), "time", strconv.Itoa(dataStart+300+i*6%6000))
		}
		want, got := ask(t, theirs, c), ask(t, ours, c)
		if strings.Contains(c.Params[0][1], "count_values") { // which leaves the order to chance
			want, got = asSet(want), asSet(got)
		}
		if want != got && !stable(t, theirs, c, want) {
			unstable++
			continue
		}
		require.Equal(t, want, got, "%s %v", c.Path, c.Params)
		if want[:3] == "200" {
			ok++
		}
	}
	t.Logf("%d random queries are answered alike, %d of them with 200; %d more have no stable answer", queries-unstable, ok, unstable)
	require.Less(t, unstable, queries/20)
	require.Greater(t, ok, queries/3)
}

// stable tells whether Prometheus gives the same answer again. Where its engine
// collects series in a map it leaves order to chance, and with it the choice
// among equals and the last digits of sums.
func stable(t *testing.T, h http.Handler, c apitest.Case, answer string) bool {
	for range 50 {
		again := ask(t, h, c)
		if strings.Contains(c.Params[0][1], "count_values") {
			again = asSet(again)
		}
		if again != answer {
			return false
		}
	}
	return true
}

// asSet sorts the series of an answer.
func asSet(answer string) string {
	head, rest, _ := strings.Cut(answer, `"result":[`)
	series := strings.Split(rest, `{"metric":`)
	for i := range series {
		series[i] = strings.TrimRight(series[i], ",]}")
	}
	slices.Sort(series)
	return head + strings.Join(series, "\n")
}

const dataStart = 1_700_000_000

func envInt(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

// sample is one of a float or a histogram.
type sample struct {
	ms int64
	v  float64
	h  *histogram.Histogram
}

// randomData writes counters, gauges with gaps, and native histograms into all
// storages: series after series in label order, since the order in which
// Prometheus' store creates series is that of instant vectors.
func randomData(t *testing.T, into ...storage.AppendableV2) []labels.Labels {
	rng := rand.New(rand.NewSource(1))
	samples := map[string][]sample{}
	var all []labels.Labels
	for job := range 3 {
		for instance := range 4 {
			for _, name := range []string{"requests_total", "temperature", "latency"} {
				ls := labels.FromStrings("job", fmt.Sprint("j", job), "instance", fmt.Sprint("i", instance), "__name__", name)
				all = append(all, ls)
				samples[ls.String()] = randomSamples(rng, name)
			}
		}
	}
	slices.SortFunc(all, labels.Compare)
	for _, s := range into {
		app := s.AppenderV2(context.Background())
		for _, ls := range all {
			for _, x := range samples[ls.String()] {
				_, err := app.Append(0, ls, 0, x.ms, x.v, x.h, nil, storage.AppendV2Options{})
				require.NoError(t, err)
			}
		}
		require.NoError(t, app.Commit())
	}
	return all
}

func randomSamples(rng *rand.Rand, name string) []sample {
	var out []sample
	count, level, seed := 0.0, 20.0, rng.Int63n(10)
	for i := range int64(480) {
		x := sample{ms: (dataStart+i*15)*1000 + int64(rng.Intn(200))}
		switch name {
		case "requests_total":
			if count += float64(rng.Intn(50)); rng.Intn(200) == 0 {
				count = 0
			}
			x.v = count
		case "temperature":
			if level += rng.NormFloat64(); rng.Intn(20) == 0 {
				continue
			}
			x.v = level
		default:
			if i%4 != 0 {
				continue
			}
			x.h = tsdbutil.GenerateTestHistogram(i + seed)
		}
		out = append(out, x)
	}
	return out
}
