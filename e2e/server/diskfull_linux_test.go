package server

import (
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

// On a full disk writes are answered 503, nothing acknowledged is lost, and the
// service resumes when there is space again: with disk kept free for the flush,
// and with the disk full to the last byte.
func TestDiskFull(t *testing.T) {
	for name, minFree := range map[string]string{"reserve": "8MiB", "last byte": "0"} {
		t.Run(name, func(t *testing.T) { fillDisk(t, minFree) })
	}
}

func fillDisk(t *testing.T, minFree string) {
	disk := smallDisk(t)
	v := harness.StartVarveIn(t, filepath.Join(disk, "data"), "--storage.min-free="+minFree, "--storage.flush-size=4MiB")
	d := &diskWriter{base: scriptTime() * 1000, rng: rand.New(rand.NewPCG(1, 1))}
	for range 20 {
		d.write(t, v).Require(t, http.StatusNoContent)
	}
	ballast := filepath.Join(disk, "ballast")
	fill(t, ballast)
	refused := 0
	for range 400 {
		resp := d.write(t, v)
		if resp.Status != http.StatusNoContent {
			require.Equal(t, http.StatusServiceUnavailable, resp.Status, resp.String())
			require.NotEmpty(t, resp.Header.Get("Retry-After"))
			if refused++; refused == 30 {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	require.Equal(t, 30, refused, "writes to a full disk are refused")
	d.check(t, v)
	flush := v.Do(t, http.MethodPost, "/internal/force_flush", nil)
	t.Logf("flush on the full disk: %d %.200s", flush.Status, flush)
	d.check(t, v)
	v.Kill() // with the disk full
	v.Restart(t)
	d.check(t, v)
	require.NoError(t, os.Remove(ballast))
	for deadline := time.Now().Add(20 * time.Second); d.write(t, v).Status != http.StatusNoContent; time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "service does not resume")
	}
	for range 20 {
		d.write(t, v).Require(t, http.StatusNoContent)
	}
	inEveryState(t, v, func(t *testing.T) { d.check(t, v) })

	// Again without a restart in between.
	fill(t, ballast)
	for deadline := time.Now().Add(20 * time.Second); d.write(t, v).Status == http.StatusNoContent; {
		require.True(t, time.Now().Before(deadline), "writes are not refused")
	}
	require.NoError(t, os.Remove(ballast))
	for deadline := time.Now().Add(20 * time.Second); d.write(t, v).Status != http.StatusNoContent; time.Sleep(100 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), "service does not resume")
	}
	inEveryState(t, v, func(t *testing.T) { d.check(t, v) })
}

// The disk kept free is what a flush needs: when writes are refused for want of
// space, what is in memory can still be written out.
func TestReserveLetsFlush(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a disk by writing")
	}
	disk := smallDisk(t)
	v := harness.StartVarveIn(t, filepath.Join(disk, "data"), "--storage.min-free=16MiB", "--storage.flush-size=4MiB")
	d := &diskWriter{base: scriptTime() * 1000, rng: rand.New(rand.NewPCG(2, 2))}
	for deadline := time.Now().Add(2 * time.Minute); d.write(t, v).Status == http.StatusNoContent; {
		require.True(t, time.Now().Before(deadline), "writes are not refused")
	}
	v.Flush(t)
	d.check(t, v)
	v.Kill()
	v.Restart(t)
	d.check(t, v)
	v.Stop(t)
	v.Restart(t)
	d.check(t, v)
}

// smallDisk mounts 64 MiB of memory.
func smallDisk(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m"); err != nil {
		t.Skipf("a small disk cannot be mounted here: %s", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %s", err)
		}
	})
	return dir
}

// fill writes a file until nothing is free.
func fill(t *testing.T, path string) {
	f, err := os.Create(path)
	require.NoError(t, err)
	defer f.Close()
	chunk := make([]byte, 64<<10)
	for size := len(chunk); size > 0; {
		if _, err := f.Write(chunk[:size]); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
			size /= 2
		}
	}
}

// diskWriter sends numbered requests and knows which were acknowledged.
type diskWriter struct {
	base         int64
	rng          *rand.Rand
	values       [][]float64 // by request
	acknowledged []bool      // others are there or not
}

const diskSeries = 2000

func (d *diskWriter) write(t *testing.T, v *harness.Varve) harness.Response {
	at := d.base + int64(len(d.values))*10
	var series []prompb.TimeSeries
	var values []float64
	for i := range diskSeries {
		values = append(values, d.rng.NormFloat64())
		series = append(series, one(at, values[i], "__name__", "disk", "i", seconds(int64(i))))
	}
	resp := v.WriteV1(t, series...)
	d.values = append(d.values, values)
	d.acknowledged = append(d.acknowledged, resp.Status == http.StatusNoContent)
	return resp
}

func (d *diskWriter) check(t *testing.T, v *harness.Varve) {
	t.Helper()
	got := v.RemoteRead(t, harness.Streamed, 0, d.base+1_000_000_000, harness.Eq("__name__", "disk"))
	require.Len(t, got, diskSeries)
	for _, s := range got {
		i, err := strconv.Atoi(s.Labels.Get("i"))
		require.NoError(t, err)
		points := s.Points
		for number, values := range d.values {
			at := d.base + int64(number)*10
			if len(points) == 0 || points[0].T != at {
				require.False(t, d.acknowledged[number], "acknowledged sample of series %d at %d is missing", i, at)
				continue
			}
			if points[0].V != values[i] {
				require.Equal(t, values[i], points[0].V)
			}
			points = points[1:]
		}
		require.Empty(t, points, "samples that nobody sent")
	}
}
