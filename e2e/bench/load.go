package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// workers is how many clients write at once.
const workers = 2

// body is one request to write.
type body struct {
	bytes   []byte
	samples int64
}

// workload is requests to write.
type workload struct {
	path    string
	headers []string
	// next returns the next request of a worker, an empty one at the end. The
	// bytes are valid until that worker's next call.
	next func(worker int) body
}

// sent is how sending went.
type sent struct {
	samples int64
	took    time.Duration
	delays  int64 // times that the server asked to wait
}

// load sends all requests.
func (s *server) load(w workload) (sent, error) {
	var samples, delays atomic.Int64
	errs := make([]error, workers)
	start := time.Now()
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for b := w.next(i); len(b.bytes) > 0; b = w.next(i) {
				n, err := s.write(w, b)
				delays.Add(n)
				if err != nil {
					errs[i] = err
					return
				}
				samples.Add(b.samples)
			}
		})
	}
	wg.Wait()
	return sent{samples.Load(), time.Since(start), delays.Load()}, errors.Join(errs...)
}

// write sends one request, again if the server asks to wait, as Prometheus does.
func (s *server) write(w workload, b body) (delays int64, err error) {
	for deadline := time.Now().Add(5 * time.Minute); ; delays++ {
		_, err := s.send(http.MethodPost, w.path, bytes.NewReader(b.bytes), w.headers...)
		var status *statusError
		wait := errors.As(err, &status) && (status.status == http.StatusServiceUnavailable || status.status == http.StatusTooManyRequests)
		if !wait || time.Now().After(deadline) {
			return delays, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ingestRows are what measureIngest measures, without bars.
func ingestRows() []row {
	return []row{
		{key: "cpu", title: "server CPU, ns/sample"},
		{key: "user", title: "  user"},
		{key: "system", title: "  system"},
		{key: "loadcpu", title: "  until the last answer"},
		{key: "peak", title: "peak memory (VmHWM), MiB"},
		{key: "disk", title: "disk, B/sample", digits: 4},
		{key: "again", title: "  after a restart", digits: 4},
		{key: "rate", title: "samples/s, wall clock"},
		{key: "delays", title: "requests told to wait"},
		{key: "samples", title: "samples"},
	}
}

// held sets the bar of a row.
func held(rows []row, key string, b *bar) []row {
	for i := range rows {
		if rows[i].key == key {
			rows[i].bar = b
		}
	}
	return rows
}

// ingest loads all, settles, restarts, and says what it cost. observe, if any,
// is told after each load what processor time was used up to then, and may add
// figures.
func (s *server) ingest(loads iter.Seq[workload], observe func(i int, used usage, f figures) error) (figures, error) {
	before, err := s.cpu()
	if err != nil {
		return nil, err
	}
	f := figures{}
	var total sent
	var loaded usage
	i := 0
	for w := range loads {
		done, err := s.load(w)
		if err != nil {
			return nil, err
		}
		now, err := s.cpu()
		if err != nil {
			return nil, err
		}
		total.samples, total.took, total.delays = total.samples+done.samples, total.took+done.took, total.delays+done.delays
		loaded = now.minus(before)
		if observe != nil {
			if err := observe(i, loaded, f); err != nil {
				return nil, err
			}
		}
		i++
	}
	f["samples"], f["rate"], f["delays"] = float64(total.samples), float64(total.samples)/total.took.Seconds(), float64(total.delays)
	settled, err := s.settle(s)
	if err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	settled = settled.minus(before)
	perSample := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / float64(total.samples) }
	f["cpu"], f["user"], f["system"] = perSample(settled.all()), perSample(settled.user), perSample(settled.system)
	f["loadcpu"] = perSample(loaded.all())
	rss, peak, err := s.memory()
	if err != nil {
		return nil, err
	}
	f["settledrss"] = float64(rss) / (1 << 20)
	f["peak"] = float64(peak) / (1 << 20)
	return f, s.weigh(f, total.samples)
}

// weigh reads the sizes of the files, restarts the server, and reads them again.
func (s *server) weigh(f figures, samples int64) error {
	for _, key := range []string{"disk", "again"} {
		time.Sleep(s.linger)
		all, index, err := s.diskBytes()
		if err != nil {
			return err
		}
		f[key], f["index"] = float64(all)/float64(samples), float64(index)
		if key == "again" {
			break
		}
		if err := s.stop(); err != nil {
			return err
		}
		if err := s.start(); err != nil {
			return err
		}
	}
	return nil
}

// verify requires that the server counts as many samples in some metrics as it
// was sent, from first to last inclusive, in milliseconds.
func (s *server) verify(metrics []string, first, last, want int64) error {
	total := int64(0)
	for _, m := range metrics {
		args := url.Values{}
		args.Set("query", fmt.Sprintf(`sum(count_over_time({__name__=%q}[%dms]))`, m, last-first+1))
		args.Set("time", strconv.FormatFloat(float64(last)/1000, 'f', 3, 64))
		args.Set("timeout", "5m")
		v, err := s.instant(args)
		if err != nil {
			return err
		}
		total += int64(v)
	}
	if total != want {
		return fmt.Errorf("the server counts %d samples, want %d", total, want)
	}
	return nil
}

// instant returns the one value that answers an instant query, 0 if none does.
func (s *server) instant(args url.Values) (float64, error) {
	text, err := s.send(http.MethodPost, "/api/v1/query?"+args.Encode(), nil)
	if err != nil {
		return 0, err
	}
	var answer struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return 0, fmt.Errorf("answer %.300s: %w", text, err)
	}
	if len(answer.Data.Result) == 0 {
		return 0, nil
	}
	v, _ := answer.Data.Result[0].Value[1].(string)
	return strconv.ParseFloat(v, 64)
}
