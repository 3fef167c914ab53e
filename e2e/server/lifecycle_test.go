package server

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// A folder that another process holds is refused, and left alone.
func TestSecondProcessIsRefused(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	v.WriteV1(t, one(base*1000, 1, "__name__", "mine")).Require(t, http.StatusNoContent)
	cmd := exec.Command(harness.VarveBinary(t), "--storage.path="+v.Dir, "--web.listen-address="+harness.FreeAddress(t))
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	require.Positive(t, exit.ExitCode())
	require.Contains(t, string(out), v.Dir)
	require.Regexp(t, `(?i)lock|in use|another process|held`, string(out))
	require.Equal(t, []string{`{__name__="mine"} 1`}, v.Query(t, "mine", seconds(base)).Values())
}

// Nothing is served before the log was read; what is served then is whole.
func TestReadinessAfterReplay(t *testing.T) {
	v := harness.StartVarve(t, "--storage.flush-size=1GiB")
	base := scriptTime()
	const seriesCount, samplesEach = 20_000, 20
	for chunk := range 20 {
		var series []prompb.TimeSeries
		for i := range seriesCount / 20 {
			s := prompb.TimeSeries{Labels: harness.PB("__name__", "replayed", "chunk", seconds(int64(chunk)), "i", seconds(int64(i)))}
			for k := range int64(samplesEach) {
				s.Samples = append(s.Samples, prompb.Sample{Timestamp: (base + k*15) * 1000, Value: float64(i) + float64(k)/7})
			}
			series = append(series, s)
		}
		v.WriteV1(t, series...).Require(t, http.StatusNoContent)
	}
	v.Kill()
	v.Launch(t)
	at := seconds(base + 300)
	unready := 0
	for deadline := time.Now().Add(time.Minute); ; {
		require.True(t, time.Now().Before(deadline), "not ready in time:\n%s", v.Logs())
		require.True(t, v.Alive(), v.Logs())
		resp, err := v.Send(http.MethodGet, "/api/v1/query?"+harness.Form("query", "sum(count_over_time(replayed[10m]))", "time", at).Encode(), nil)
		if err != nil {
			continue // does not listen yet
		}
		if resp.Status == http.StatusServiceUnavailable {
			unready++
			continue
		}
		resp.Require(t, http.StatusOK)
		require.Equal(t, []string{"{} 400000"}, harness.ParseResult(t, resp).Values())
		v.Get(t, "/-/ready").Require(t, http.StatusOK)
		break
	}
	t.Logf("%d queries were answered 503 while the log was read", unready)
}

// A stop finishes the requests being served and writes everything out.
func TestGracefulStop(t *testing.T) {
	v := harness.StartVarve(t)
	base := scriptTime()
	var wg sync.WaitGroup
	stopped := make(chan struct{})
	var mu sync.Mutex
	acknowledged := map[int]bool{}
	for w := range 4 {
		wg.Go(func() {
			for i := w; ; i += 4 {
				select {
				case <-stopped:
					return
				default:
				}
				body := harness.EncodeV1(t, &prompb.WriteRequest{Timeseries: []prompb.TimeSeries{one(base*1000, float64(i), "__name__", "stop", "i", seconds(int64(i)))}})
				resp, err := v.Send(http.MethodPost, "/api/v1/write", strings.NewReader(string(body)), "Content-Type", harness.ContentTypeV1, "Content-Encoding", "snappy")
				if err == nil && resp.Status == http.StatusNoContent {
					mu.Lock()
					acknowledged[i] = true
					mu.Unlock()
				}
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	v.Stop(t)
	close(stopped)
	wg.Wait()
	require.NotEmpty(t, acknowledged)
	logs, err := filepath.Glob(filepath.Join(v.Dir, "wal", "*"))
	require.NoError(t, err)
	var left int64
	for _, path := range logs {
		info, err := os.Stat(path)
		require.NoError(t, err)
		left += info.Size()
	}
	require.Less(t, left, int64(4096), "the log holds nothing after a clean stop")
	v.Restart(t)
	got := v.RemoteRead(t, harness.Sampled, base*1000, base*1000, harness.Eq("__name__", "stop"))
	have := map[string]float64{}
	for _, s := range got {
		have[s.Labels.Get("i")] = s.Points[0].V
	}
	for i := range acknowledged {
		require.Equal(t, float64(i), have[seconds(int64(i))], "acknowledged sample %d", i)
	}
}

// A second SIGTERM, or one at once after the start, does no harm.
func TestStopAtOnce(t *testing.T) {
	v := harness.StartVarve(t)
	require.NoError(t, v.Signal(syscall.SIGTERM))
	require.Zero(t, v.WaitExit(t))
	v.Restart(t)
	v.Stop(t)
}

func TestProbes(t *testing.T) {
	v := harness.StartVarve(t)
	for _, path := range []string{"/-/healthy", "/-/ready", "/health", "/metrics", "/api/v1/status/walreplay", "/debug/pprof/cmdline"} {
		v.Get(t, path).Require(t, http.StatusOK)
		v.Do(t, http.MethodHead, path, nil).Require(t, http.StatusOK)
	}
	require.Regexp(t, `(?m)^varve_`, v.Get(t, "/metrics").String())
	v.Do(t, http.MethodPost, "/-/reload", nil).Require(t, http.StatusOK)
}
