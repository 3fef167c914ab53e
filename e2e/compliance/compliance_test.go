package compliance

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// leastQueries is what the suite had when its templates were taken over.
const leastQueries = 530

func queries(t testing.TB) []query {
	out, err := readQueries("testdata/templates.txt")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(out), leastQueries)
	return out
}

// at is when a query is asked: the form without what is asked.
type at struct {
	name string
	args []string
}

// times are the suite's own ten minutes, two hours from off the grid of samples
// and steps, and instants: within an outage, and of two exact scrapes.
func times() []at {
	second := func(ms int64) string { return fmt.Sprintf("%d.%03d", ms/1000, ms%1000) }
	const end = demoEnd - 12*60*1000
	over := func(name string, from, to int64, step string) at {
		return at{name, []string{"start", second(from), "end", second(to), "step", step}}
	}
	instant := func(name string, ms int64) at { return at{name, []string{"time", second(ms)}} }
	return []at{
		over("ten minutes", end-10*60*1000, end, "10"),
		over("two hours", demoStart-60_001, demoEnd+600_000, "31.7"),
		instant("an outage", demoStart+(awayFrom+3)*scrapeInterval+1),
		instant("midnight", demoStart+60*60*1000),
		instant("a scrape", end),
	}
}

// ask asks everything, a few queries at a time.
func ask(t *testing.T, c harness.Client, all []query, when at) []harness.Answer {
	t.Helper()
	path := "/api/v1/query_range"
	if when.args[0] == "time" {
		path = "/api/v1/query"
	}
	out, errs := make([]harness.Answer, len(all)), make([]error, len(all))
	const parallel = 4
	var wg sync.WaitGroup
	for worker := range parallel {
		wg.Go(func() {
			for i := worker; i < len(all); i += parallel {
				form := harness.Form(append([]string{"query", all[i].text}, when.args...)...)
				resp, err := c.Send(http.MethodPost, path, strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
				if err == nil {
					out[i], err = harness.ParseAnswer(resp.Status, resp.Body)
				}
				errs[i] = err
			}
		})
	}
	wg.Wait()
	for i, err := range errs {
		require.NoError(t, err, all[i].text)
	}
	return out
}

// load writes requests to a server.
func load(t *testing.T, c harness.Client, d *demo) {
	t.Helper()
	for _, series := range d.requests() {
		require.Equal(t, http.StatusNoContent, c.WriteV1(t, series...).Status)
	}
}

// differences returns what got answers otherwise, a line for each query.
func differences(all []query, want, got []harness.Answer) []string {
	out := []string{}
	for i, q := range all {
		if diff := want[i].Diff(got[i]); diff != "" {
			out = append(out, q.text+": "+diff)
		}
	}
	return out
}

// varve answers every query of the suite as Prometheus does, from memory and
// from parts: with the same values to the last digit, the same warnings and the
// same errors.
func TestCompliance(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a Prometheus")
	}
	p := harness.StartPrometheus(t, "", "--web.enable-remote-write-receiver")
	v := harness.StartVarve(t)
	d, all := newDemo(), queries(t)
	load(t, p.Client, d)
	load(t, v.Client, d)
	want := map[string][]harness.Answer{}
	for _, when := range times() {
		want[when.name] = ask(t, p.Client, all, when)
		checkReference(t, all, want[when.name], when)
	}
	total, passed := 0, 0
	for _, state := range []string{"memory", "parts"} {
		if state == "parts" {
			v.Flush(t)
			v.Merge(t)
		}
		for _, when := range times() {
			t.Run(state+"/"+when.name, func(t *testing.T) {
				failed := differences(all, want[when.name], ask(t, v.Client, all, when))
				total, passed = total+len(all), passed+len(all)-len(failed)
				t.Logf("%d / %d passed", len(all)-len(failed), len(all))
				require.Empty(t, failed)
			})
		}
	}
	fmt.Printf("PromQL compliance: %d / %d passed, %d queries in %d ways\n", passed, total, len(all), total/len(all))
	require.Equal(t, total, passed)
}

// checkReference holds that Prometheus fails where the suite says so and nowhere
// else, and that the answers to most other queries hold something to compare.
func checkReference(t *testing.T, all []query, answers []harness.Answer, when at) {
	t.Helper()
	filled, series := 0, 0
	for i, q := range all {
		if q.mustFail {
			require.NotEqual(t, http.StatusOK, answers[i].Status, q.text)
			continue
		}
		require.Equal(t, http.StatusOK, answers[i].Status, "%s: %s", q.text, answers[i].Error)
		if series += len(answers[i].Series); len(answers[i].Series) > 0 {
			filled++
		}
	}
	t.Logf("%s: %d of %d answers of Prometheus hold series, %d in all", when.name, filled, len(all), series)
	require.Greater(t, filled, len(all)*8/10)
}

// One sample that is not as it was sent, by the smallest difference there is, is
// found.
func TestChangedSampleIsFound(t *testing.T) {
	if testing.Short() {
		t.Skip("loads two servers")
	}
	right, wrong := harness.StartVarve(t), harness.StartVarve(t)
	all, when := queries(t), times()[0]
	load(t, right.Client, newDemo())
	changed := newDemo()
	for _, s := range changed.series {
		if s.instance == 0 && s.out.Labels[0].Value == "demo_memory_usage_bytes" && s.out.Labels[3].Value == "free" {
			const sample = scrapes - 1 - 17*60*1000/scrapeInterval // at a step of the suite's ten minutes
			v := &s.out.Samples[sample].Value
			*v = math.Nextafter(*v, math.Inf(1))
		}
	}
	load(t, wrong.Client, changed)
	want := ask(t, right.Client, all, when)
	require.Empty(t, differences(all, want, ask(t, right.Client, all, when)))
	found := differences(all, want, ask(t, wrong.Client, all, when))
	t.Logf("%d queries find the changed sample", len(found))
	require.Greater(t, len(found), 10)
	require.Contains(t, strings.Join(found, "\n"), `demo_memory_usage_bytes{type="free"}: series: `)
}

// The templates say what the suite says, and each query is asked once.
func TestTemplates(t *testing.T) {
	all, seen, fail := queries(t), map[string]bool{}, 0
	for _, q := range all {
		require.False(t, seen[q.text], "%s twice", q.text)
		require.NotContains(t, q.text, "{{")
		if seen[q.text] = true; q.mustFail {
			fail++
		}
	}
	require.Equal(t, 5, fail)
	t.Logf("%d queries, %d must fail", len(all), fail)
	require.True(t, seen[`topk without(instance) (2, demo_memory_usage_bytes)`])
	require.True(t, seen[`quantile_over_time(0.95, demo_memory_usage_bytes[1h])`])
	encode := func() (out [][]byte) {
		for _, series := range newDemo().requests() {
			out = append(out, harness.EncodeV1(t, &prompb.WriteRequest{Timeseries: series}))
		}
		return out
	}
	require.True(t, slices.EqualFunc(encode(), encode(), bytes.Equal), "the data is the same every time")
}
