package tsbs

import (
	"bytes"
	"math/rand"
	"net/http"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// The questions of TSBS have the bytes of VictoriaMetrics' answers, the first time and
// again in another order, when caches may help. Short runs ask a few of each type.
func TestAnswersAreVictoriaMetrics(t *testing.T) {
	answers, err := Answers()
	require.NoError(t, err)
	ofEach := 1000
	if testing.Short() {
		ofEach = 20
	}
	answers = slices.DeleteFunc(answers, func() func(Answer) bool {
		seen := map[string]int{}
		return func(a Answer) bool { seen[a.Type]++; return seen[a.Type] > ofEach }
	}())
	require.Len(t, answers, 11*ofEach)
	v := harness.StartVarve(t)
	load(t, v, Options{})
	for _, when := range []string{"cold", "warm"} {
		t.Run(when, func(t *testing.T) { askAll(t, v, answers) })
		rand.New(rand.NewSource(1)).Shuffle(len(answers), func(i, j int) { answers[i], answers[j] = answers[j], answers[i] })
	}
}

// load sends the lines by two writers and writes all out.
func load(t *testing.T, v *harness.Varve, o Options) {
	batches := make(chan []byte)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for lines := range batches {
				resp, err := v.Send(http.MethodPost, "/write", bytes.NewReader(lines))
				if err != nil || resp.Status != http.StatusNoContent {
					t.Errorf("write: %v, status %d: %s", err, resp.Status, resp)
				}
			}
		})
	}
	var lines []byte
	const batch = 3 << 20 // about 10,000 lines
	for f := NewFleet(o); f.Next(); {
		if lines = f.AppendLines(lines); len(lines) > batch {
			batches <- lines
			lines = nil
		}
	}
	if len(lines) > 0 {
		batches <- lines
	}
	close(batches)
	wg.Wait()
	require.False(t, t.Failed())
	v.Flush(t)
}

// askAll asks by two clients and compares the sums of the bodies.
func askAll(t *testing.T, v *harness.Varve, answers []Answer) {
	var at, wrong atomic.Int64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for i := at.Add(1) - 1; i < int64(len(answers)); i = at.Add(1) - 1 {
				a := answers[i]
				resp, err := v.Send(http.MethodGet, "/metricsql"+a.Path, nil)
				if err == nil && resp.Status == http.StatusOK && Sum(resp.Body) == a.Sum {
					continue
				}
				if wrong.Add(1) <= 5 {
					t.Errorf("%s: %s: %v, status %d: %.300s", a.Type, a.Path, err, resp.Status, resp)
				}
			}
		})
	}
	wg.Wait()
	require.Zero(t, wrong.Load(), "wrong answers of %d", len(answers))
}
