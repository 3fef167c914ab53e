package server

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// No acknowledged sample is missing after SIGKILL, whatever the server was doing.
// E2E_KILLS says how often it is killed under each policy.
func TestKill(t *testing.T) {
	for _, policy := range []string{"always", "100ms", "off"} {
		t.Run(policy, func(t *testing.T) { killLoop(t, policy) })
	}
}

// writer sends numbered samples of one series set and knows which were acknowledged.
type writer struct {
	name         string
	form         int          // which protocol it speaks
	next         int64        // the next number to send
	acknowledged atomic.Int64 // all numbers below are acknowledged
}

const seriesPerWriter = 50

func killLoop(t *testing.T, policy string) {
	// Small flushes, so that kills hit flushes and merges too.
	v := harness.StartVarve(t, "--storage.wal-sync="+policy, "--storage.flush-size=64KiB")
	base := scriptTime() * 1000
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(uint64(seed), 0))
	writers := make([]*writer, 4)
	for i := range writers {
		writers[i] = &writer{name: fmt.Sprintf("kill%d", i), form: i % 3}
	}
	for kill := range envInt("E2E_KILLS", 1, 3) {
		var wg sync.WaitGroup
		stop := make(chan struct{})
		for _, w := range writers {
			wg.Go(func() { w.run(t, v.Client, base, stop) })
		}
		wg.Go(func() { disturb(v.Client, rng.Uint64(), stop) })
		time.Sleep(time.Duration(100+rng.IntN(700)) * time.Millisecond)
		v.Kill()
		close(stop)
		wg.Wait()
		v.Restart(t)
		total := int64(0)
		for _, w := range writers {
			w.check(t, v, base)
			total += w.acknowledged.Load() * seriesPerWriter
		}
		require.Positive(t, total)
		t.Logf("kill %d: %d acknowledged samples are there", kill, total)
	}
	v.Stop(t)
	v.Restart(t)
	for _, w := range writers {
		w.check(t, v, base)
	}
}

// disturb flushes, merges, deletes and takes snapshots, so that kills hit these.
func disturb(c harness.Client, seed uint64, stop chan struct{}) {
	rng := rand.New(rand.NewPCG(seed, 0))
	for {
		select {
		case <-stop:
			return
		default:
		}
		path := []string{
			"/internal/force_flush", "/internal/force_merge", "/api/v1/admin/tsdb/snapshot",
			"/api/v1/admin/tsdb/delete_series?match[]=nothing", "/api/v1/admin/tsdb/clean_tombstones",
		}[rng.IntN(5)]
		if _, err := c.Send(http.MethodPost, path, nil); err != nil {
			return
		}
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
	}
}

// run writes until a request fails.
func (w *writer) run(t *testing.T, c harness.Client, base int64, stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		path, body, headers := w.request(t, base)
		resp, err := c.Send(http.MethodPost, path, bytes.NewReader(body), headers...)
		if err != nil {
			return // killed: the request may or may not be there
		}
		if resp.Status != http.StatusNoContent {
			t.Errorf("write %d of %s: status %d: %s", w.next, w.name, resp.Status, resp)
			return
		}
		w.next++
		w.acknowledged.Store(w.next)
	}
}

// request builds the request with the next number.
func (w *writer) request(t *testing.T, base int64) (path string, body []byte, headers []string) {
	at := base + w.next*10
	if w.form == 2 {
		var b bytes.Buffer
		for i := range seriesPerWriter {
			fmt.Fprintf(&b, "%s,i=%d v=%d %d\n", w.name, i, w.next+int64(i), at)
		}
		return "/write?precision=ms", b.Bytes(), nil
	}
	var series []prompb.TimeSeries
	for i := range seriesPerWriter {
		series = append(series, one(at, float64(w.next+int64(i)), "__name__", w.name+"_v", "i", strconv.Itoa(i)))
	}
	if w.form == 0 {
		return "/api/v1/write", harness.EncodeV1(t, &prompb.WriteRequest{Timeseries: series}),
			[]string{"Content-Type", harness.ContentTypeV1, "Content-Encoding", "snappy"}
	}
	return "/api/v1/write", harness.EncodeV2(t, harness.V2(series...)),
		[]string{"Content-Type", harness.ContentTypeV2, "Content-Encoding", "snappy"}
}

// check requires every acknowledged sample, with its value, and that a request
// is there whole or not at all.
func (w *writer) check(t *testing.T, v *harness.Varve, base int64) {
	t.Helper()
	n := w.acknowledged.Load()
	got := v.RemoteRead(t, harness.Streamed, 0, base+1_000_000_000, harness.Eq("__name__", w.name+"_v"))
	if n == 0 && len(got) == 0 {
		return
	}
	require.Len(t, got, seriesPerWriter)
	length := len(got[0].Points)
	require.GreaterOrEqual(t, int64(length), n, "samples of %s", w.name)
	require.LessOrEqual(t, int64(length), n+1, "samples of %s", w.name)
	for _, s := range got {
		require.Len(t, s.Points, length, "a request is whole or absent: %s", s.Labels)
		i, err := strconv.ParseInt(s.Labels.Get("i"), 10, 64)
		require.NoError(t, err)
		for k, p := range s.Points {
			want := harness.RemotePoint{T: base + int64(k)*10, V: float64(int64(k) + i)}
			if p.T != want.T || p.V != want.V {
				require.Equal(t, want, p, "sample %d of %s", k, s.Labels)
			}
		}
	}
}
