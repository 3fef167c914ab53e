package load

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/e2e/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	writers    = 2
	batchLines = 10_000
)

// batch is lines of line protocol and what is in them.
type batch struct {
	body        []byte
	samples     int64
	first, last int64 // seconds
}

// TestLoad loads everything, flushes, merges, and asks for the number of samples.
func TestLoad(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	v := harness.StartVarve(t)
	batches := make(chan batch, writers)
	var readErr error
	go func() {
		defer close(batches)
		in, err := open()
		if err == nil {
			err = cut(in, batches)
		}
		readErr = err
	}()
	var samples, first, last atomic.Int64
	first.Store(1 << 60)
	start, cpu := time.Now(), v.CPU(t)
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for b := range batches {
				resp, err := v.Send(http.MethodPost, "/write", bytes.NewReader(b.body))
				if err != nil || resp.Status != http.StatusNoContent {
					t.Errorf("write: %v, status %d: %.300s", err, resp.Status, resp)
					continue
				}
				samples.Add(b.samples)
				lower(&first, b.first)
				raise(&last, b.last)
			}
		})
	}
	wg.Wait()
	took, loadCPU := time.Since(start), v.CPU(t)-cpu
	require.NoError(t, readErr)
	require.False(t, t.Failed())
	_, loadPeak := v.RSS(t)
	v.Flush(t)
	v.Merge(t)
	settledCPU := v.CPU(t) - cpu
	disk := v.DiskBytes(t)
	n := float64(samples.Load())
	_, peak := v.RSS(t)
	for _, line := range []string{
		fmt.Sprintf("samples               %d", samples.Load()),
		fmt.Sprintf("samples_per_s         %.0f", n/took.Seconds()),
		fmt.Sprintf("load_cpu_ns           %.0f per sample", float64(loadCPU.Nanoseconds())/n),
		fmt.Sprintf("settled_cpu_ns        %.0f per sample, flush and merge included", float64(settledCPU.Nanoseconds())/n),
		fmt.Sprintf("load_peak_mib         %.0f", float64(loadPeak)/(1<<20)),
		fmt.Sprintf("peak_mib              %.0f", float64(peak)/(1<<20)),
		fmt.Sprintf("disk_bytes            %d = %.3f per sample", disk, float64(disk)/n),
	} {
		t.Log(line)
	}
	check(t, v, samples.Load(), first.Load(), last.Load())
}

// check asks range queries over everything, also after a restart.
func check(t *testing.T, v *harness.Varve, samples, first, last int64) {
	window := strconv.FormatInt(last-first+1, 10) + "s"
	for range 2 {
		start := time.Now()
		total := int64(0)
		for _, name := range v.Strings(t, "/api/v1/label/__name__/values", "match[]", `{__name__=~"cpu_.+"}`) {
			r := v.Query(t, `sum(count_over_time({__name__="`+name+`"}[`+window+`]))`, strconv.FormatInt(last, 10))
			count, err := strconv.ParseInt(r.Series[0].Points[0].Value, 10, 64)
			require.NoError(t, err)
			total += count
		}
		require.Equal(t, samples, total)
		counted := time.Since(start)
		start = time.Now()
		r := v.QueryRange(t, `max by (hostname) (max_over_time(cpu_usage_user[1h]))`, strconv.FormatInt(first+3600, 10), strconv.FormatInt(last, 10), "1h")
		require.NotEmpty(t, r.Series)
		t.Logf("counting all took %s, max by host %s for %d series", counted.Round(time.Millisecond), time.Since(start).Round(time.Millisecond), len(r.Series))
		v.Stop(t)
		v.Restart(t)
	}
}

func lower(a *atomic.Int64, v int64) {
	for old := a.Load(); v < old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

func raise(a *atomic.Int64, v int64) {
	for old := a.Load(); v > old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

// open opens the file, or makes up data.
func open() (io.Reader, error) {
	path := os.Getenv("E2E_LOAD_FILE")
	if path == "" {
		return madeUp(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	switch {
	case strings.HasSuffix(path, ".zst"):
		return zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
	case strings.HasSuffix(path, ".gz"):
		return gzip.NewReader(f)
	}
	return f, nil
}

// cut sends the lines of in, batch by batch.
func cut(in io.Reader, out chan<- batch) error {
	lines := bufio.NewReaderSize(in, 1<<20)
	b, n := newBatch(), 0
	for {
		line, err := lines.ReadSlice('\n')
		if len(line) > 1 {
			if err := b.add(line); err != nil {
				return err
			}
			n++
		}
		if n == batchLines || err == io.EOF && n > 0 {
			out <- b
			b, n = newBatch(), 0
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func newBatch() batch { return batch{first: 1 << 60, body: make([]byte, 0, 4<<20)} }

// add appends a line without escapes and counts its fields.
func (b *batch) add(line []byte) error {
	parts := bytes.Fields(line)
	if len(parts) != 3 {
		return fmt.Errorf("line %q has %d parts, want 3", line, len(parts))
	}
	ns, err := strconv.ParseInt(string(parts[2]), 10, 64)
	if err != nil {
		return fmt.Errorf("time of line %q: %w", line, err)
	}
	b.body = append(b.body, line...)
	b.samples += int64(bytes.Count(parts[1], []byte("=")))
	b.first, b.last = min(b.first, ns/1e9), max(b.last, ns/1e9)
	return nil
}

// madeUp is a day's first hours of ten hosts with ten gauges each, random walks.
func madeUp() io.Reader {
	r, w := io.Pipe()
	go func() {
		out := bufio.NewWriter(w)
		rng := rand.New(rand.NewPCG(1, 1))
		fields := []string{"user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}
		values := make([]float64, 10*len(fields))
		for i := range 3000 {
			for host := range 10 {
				fmt.Fprintf(out, "cpu,hostname=host_%d,region=eu-central-1,team=SF", host)
				for k, name := range fields {
					v := &values[host*len(fields)+k]
					*v = min(100, max(0, *v+rng.NormFloat64()))
					fmt.Fprintf(out, "%cusage_%s=%di", " ,"[min(k, 1)], name, int64(*v))
				}
				fmt.Fprintf(out, " %d\n", (1451606400+int64(i)*10)*1e9)
			}
		}
		w.CloseWithError(out.Flush())
	}()
	return r
}
