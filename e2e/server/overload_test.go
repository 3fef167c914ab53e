package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// Past the limit of series new ones get a 429 with Retry-After, in every
// protocol; those that are there go on.
func TestSeriesLimit(t *testing.T) {
	v := harness.StartVarve(t, "--storage.max-series=100")
	base := scriptTime() * 1000
	var series []prompb.TimeSeries
	for i := range 100 {
		series = append(series, one(base, 1, "__name__", "limited", "i", seconds(int64(i))))
	}
	v.WriteV1(t, series...).Require(t, http.StatusNoContent)
	fresh := one(base, 1, "__name__", "fresh")
	resp := v.WriteV1(t, one(base+1000, 2, "__name__", "limited", "i", "0"), fresh).Require(t, http.StatusTooManyRequests)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	require.Contains(t, resp.String(), "100")
	resp = v.PostV2(t, harness.EncodeV2(t, harness.V2(fresh))).Require(t, http.StatusTooManyRequests)
	require.NotEmpty(t, resp.Header.Get("Retry-After"))
	resp = v.Do(t, http.MethodPost, "/write?precision=ms", fmt.Appendf(nil, "fresh v=1 %d\nlimited,i=1 =3 %d", base, base))
	require.Contains(t, []int{http.StatusTooManyRequests, http.StatusBadRequest}, resp.Status, resp.String())
	resp = v.Do(t, http.MethodPost, "/api/v1/import/prometheus", fmt.Appendf(nil, "fresh 1 %d\n", base))
	require.Equal(t, http.StatusTooManyRequests, resp.Status, resp.String())
	require.Equal(t, []string{"{} 100"}, v.Query(t, "count(limited)", seconds(base/1000)).Values())
	require.Equal(t, []string{`{__name__="limited", i="0"} 2`}, v.Query(t, `limited{i="0"}`, seconds(base/1000+1)).Values())
	require.Empty(t, v.LabelSets(t, "match[]", `{__name__=~"fresh.*"}`))
}

// With little memory a fast sender is held back by 503 or 429, memory stays
// bounded, and what was acknowledged is there.
func TestMemoryBudget(t *testing.T) {
	v := harness.StartVarve(t, "--storage.flush-size=1MiB", "--storage.memory-budget=4MiB", "--storage.wal-sync=off")
	base := scriptTime() * 1000
	var mu sync.Mutex
	acknowledged, refused := 0, 0
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			for i := range int64(150) {
				ts := make([]prompb.TimeSeries, 500)
				for k := range ts {
					ts[k] = one(base+i*1000, rng.NormFloat64(), "__name__", "budget", "w", seconds(int64(w)), "k", seconds(int64(k)))
				}
				resp, err := v.Send(http.MethodPost, "/api/v1/write", strings.NewReader(string(harness.EncodeV1(t, &prompb.WriteRequest{Timeseries: ts}))),
					"Content-Type", harness.ContentTypeV1, "Content-Encoding", "snappy")
				switch {
				case err != nil:
					t.Errorf("write: %s", err)
				case resp.Status == http.StatusNoContent:
					mu.Lock()
					acknowledged += len(ts)
					mu.Unlock()
				case (resp.Status == http.StatusServiceUnavailable || resp.Status == http.StatusTooManyRequests) && resp.Header.Get("Retry-After") != "":
					mu.Lock()
					refused++
					mu.Unlock()
					time.Sleep(20 * time.Millisecond)
				default:
					t.Errorf("write: status %d: %s", resp.Status, resp)
				}
			}
		})
	}
	wg.Wait()
	_, peak := v.RSS(t)
	t.Logf("%d samples acknowledged, %d requests refused, peak memory %d MiB", acknowledged, refused, peak>>20)
	require.Less(t, peak, int64(300<<20))
	require.Positive(t, acknowledged)
	inEveryState(t, v, func(t *testing.T) {
		require.Equal(t, []string{fmt.Sprintf("{} %d", acknowledged)}, v.Query(t, "sum(count_over_time(budget[1h]))", seconds(base/1000+1000)).Values())
	})
}

// What was acknowledged is seen by the next query, while others write and the
// store flushes and merges.
func TestReadYourWrites(t *testing.T) {
	v := harness.StartVarve(t, "--storage.flush-size=256KiB", "--storage.wal-sync=off")
	base := scriptTime() * 1000
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := int64(0); ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				ts := make([]prompb.TimeSeries, 200)
				for k := range ts {
					ts[k] = one(base+i*10, float64(i), "__name__", "noise", "w", seconds(int64(w)), "k", seconds(int64(k)))
				}
				v.WriteV1(t, ts...)
			}
		})
	}
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				v.Flush(t)
				v.Merge(t)
			}
		}
	})
	for i := range int64(300) {
		at := base + i*1000
		v.WriteV1(t, one(at, float64(i), "__name__", "mine")).Require(t, http.StatusNoContent)
		require.Equal(t, []string{fmt.Sprintf(`{__name__="mine"} %d`, i)}, v.Query(t, "mine", fmt.Sprintf("%.3f", float64(at)/1000)).Values())
		require.Equal(t, []string{fmt.Sprintf("{} %d", i+1)}, v.Query(t, "count_over_time(mine[1h])", fmt.Sprintf("%.3f", float64(at)/1000)).Values())
	}
	close(stop)
	wg.Wait()
}
