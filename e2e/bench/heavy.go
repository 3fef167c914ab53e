package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/varvedb/varve/e2e/harness"
)

const (
	heavyClients = 50
	heavyBudget  = "512MiB"
	// budgetFlag is how a varve is told its budget; older ones know none.
	budgetFlag = "query.max-memory"
)

// heavyShapes are queries that read or answer a million samples, hold millions or
// visit tens of millions, over all the data.
func heavyShapes() []shape {
	const all = `{__name__=~"cpu_usage_.+"}`
	return []shape{
		{name: "avg by of all", query: `avg by (hostname) (` + all + `)`, step: time.Minute},
		{name: "quantile of all", query: `quantile(0.9, ` + all + `)`, step: 10 * time.Second},
		{name: "new labels of all", query: `count(label_replace(` + all + `, "short", "$1", "hostname", "host_(.*)"))`, step: 10 * time.Second},
		{name: "union", query: `count(cpu_usage_user or ` + all + `)`, step: 20 * time.Second},
		{name: "plain selector of all", query: all, step: 2 * time.Minute},
		{name: "quantile_over_time", query: `quantile_over_time(0.99, cpu_usage_user[1h])`, step: 2 * time.Minute},
		{name: "subquery", query: `max_over_time(sum by (datacenter) (rate(cpu_usage_user[5m]))[6h:1m])`, step: 5 * time.Minute},
		{name: "topk of stddev", query: `topk by (region) (3, stddev_over_time(cpu_usage_system[1h]))`, step: time.Minute},
		{name: "a matrix", query: `cpu_usage_user[1d]`},
		{name: "long windows", query: `max by (region) (avg_over_time(cpu_usage_nice[1d]) + stddev_over_time(cpu_usage_irq[1d]) + min_over_time(cpu_usage_steal[1d]))`, step: time.Hour},
		{name: "a join", query: `cpu_usage_user * on (hostname) group_left max by (hostname) (cpu_usage_system)`, step: 2 * time.Minute},
		{name: "nested rollups", query: `quantile(0.9, max_over_time(cpu_usage_iowait[30m]) - min_over_time(cpu_usage_iowait[30m]))`, step: time.Minute},
	}
}

// whole returns the path of a query over all the data, or at its end.
func (q shape) whole(first, last int64) string {
	args := url.Values{"query": {q.query}, "nocache": {"1"}}
	seconds := func(ms int64) string { return strconv.FormatInt(ms/1000, 10) }
	if q.step == 0 {
		args.Set("time", seconds(last))
		return "/api/v1/query?" + args.Encode()
	}
	args.Set("start", seconds(first))
	args.Set("end", seconds(last))
	args.Set("step", strconv.FormatInt(int64(q.step.Seconds()), 10))
	return "/api/v1/query_range?" + args.Encode()
}

// verdicts count how heavy queries ended.
type verdicts struct {
	right, overBudget, wrong, failed int
	last                             string // failure
}

// heavyAnswer is an answer, not yet decoded: that would keep the machine busy.
type heavyAnswer struct {
	status int
	body   []byte
}

// refusedForMemory tells whether the budget's own error stands in place of an
// answer.
func (a heavyAnswer) refusedForMemory() bool {
	decoded, err := harness.ParseAnswer(a.status, a.body)
	return err == nil && a.status == http.StatusUnprocessableEntity && strings.Contains(decoded.Error, "memory")
}

func (a heavyAnswer) equals(b heavyAnswer) bool {
	if a.status == b.status && bytes.Equal(a.body, b.body) {
		return true
	}
	x, errA := harness.ParseAnswer(a.status, a.body)
	y, errB := harness.ParseAnswer(b.status, b.body)
	return errA == nil && errB == nil && x.Diff(y) == ""
}

// expectAlone asks every heavy query with nothing beside it, and prints what it
// costs.
func (s *server) expectAlone(shapes []shape, first, last int64, out *strings.Builder) ([]heavyAnswer, error) {
	cells := [][]string{{"alone", "ms", "CPU ms", "answer kB", "peak MiB", "", "status"}}
	var wanted []heavyAnswer
	for _, q := range shapes {
		s.forgetPeak()
		before, err := s.preciseCPU()
		if err != nil {
			return nil, err
		}
		start := time.Now()
		want, err := s.askHeavy(q.whole(first, last))
		if err != nil {
			return nil, err
		}
		if want.status != http.StatusOK && !want.refusedForMemory() {
			return nil, fmt.Errorf("%s, alone: status %d: %.300s", q.name, want.status, want.body)
		}
		took := time.Since(start)
		after, err := s.preciseCPU()
		if err != nil {
			return nil, err
		}
		_, peak, err := s.memory()
		if err != nil {
			return nil, err
		}
		wanted = append(wanted, want)
		cells = append(cells, []string{
			q.name, strconv.FormatInt(took.Milliseconds(), 10), strconv.FormatInt((after - before).Milliseconds(), 10),
			strconv.Itoa(len(want.body) / 1000), strconv.FormatInt(peak>>20, 10), "", strconv.Itoa(want.status),
		})
	}
	writeAligned(out, cells)
	return wanted, nil
}

// askHeavy returns the answer to a query, also one that refuses it.
func (s *server) askHeavy(path string) (heavyAnswer, error) {
	body, err := s.send(http.MethodGet, path, nil)
	var status *statusError
	if errors.As(err, &status) {
		return heavyAnswer{status.status, body}, nil
	}
	return heavyAnswer{http.StatusOK, body}, err
}

// judge compares an answer with what the query answers alone. Only the budget's
// own error may stand in its place; if it did when the query was alone, nobody
// knows better.
func (v *verdicts) judge(want, got heavyAnswer) {
	switch {
	case got.status == http.StatusOK && (want.status != http.StatusOK || want.equals(got)):
		v.right++
	case got.status == http.StatusOK:
		v.wrong++
	case got.refusedForMemory():
		v.overBudget++
	default:
		v.failed++
		v.last = fmt.Sprintf("status %d: %.300s", got.status, got.body)
	}
}

// storm lets many clients ask heavy queries for a while, each the next one of
// the list when it has its answer.
func (s *server) storm(shapes []shape, wanted []heavyAnswer, first, last int64, lasting time.Duration) (verdicts, error) {
	var mu sync.Mutex
	var total verdicts
	errs := make([]error, heavyClients)
	deadline := time.Now().Add(lasting)
	var wg sync.WaitGroup
	for client := range heavyClients {
		wg.Go(func() {
			for i := client; ; i++ {
				got, err := s.askHeavy(shapes[i%len(shapes)].whole(first, last))
				if err != nil {
					errs[client] = err
					return
				}
				mu.Lock()
				total.judge(wanted[i%len(shapes)], got)
				mu.Unlock()
				if time.Now().After(deadline) {
					return
				}
			}
		})
	}
	wg.Wait()
	return total, errors.Join(errs...)
}

// steady is how writing at a steady rate went.
type steady struct {
	samples   int64
	took      time.Duration
	latencies []time.Duration
}

func (w steady) rate() float64 { return float64(w.samples) / w.took.Seconds() }

// writeSteadily sends requests at a rate of samples a second until stop is
// closed. A sender that is late does not catch up.
func (s *server) writeSteadily(w workload, rate int, stop <-chan struct{}) (steady, error) {
	var mu sync.Mutex
	var total steady
	errs := make([]error, workers)
	begin := time.Now()
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() {
			for next := time.Now(); ; {
				b := w.next(worker)
				select {
				case <-stop:
					return
				case <-time.After(time.Until(next)):
				}
				start := time.Now()
				if _, err := s.write(w, b); err != nil {
					errs[worker] = err
					return
				}
				mu.Lock()
				total.latencies = append(total.latencies, time.Since(start))
				total.samples += b.samples
				mu.Unlock()
				next = next.Add(time.Duration(float64(b.samples*workers) / float64(rate) * float64(time.Second)))
				if now := time.Now(); next.Before(now) {
					next = now
				}
			}
		})
	}
	wg.Wait()
	total.took = time.Since(begin)
	return total, errors.Join(errs...)
}

// during writes while f runs.
func (s *server) during(w workload, rate int, f func() error) (steady, error) {
	stop, failed := make(chan struct{}), make(chan error, 1)
	go func() {
		failed <- f()
		close(stop)
	}()
	done, err := s.writeSteadily(w, rate, stop)
	return done, errors.Join(err, <-failed)
}

// knowsFlag tells whether a program's help names a flag.
func knowsFlag(bin, name string) bool {
	text, _ := exec.Command(bin, "--help").CombinedOutput() // kingpin's --help may exit with any code
	return bytes.Contains(text, []byte("--"+name))
}

// heavyKind is varve with a budget for queries, and time to wait for each other.
func heavyKind(k kind) (kind, bool) {
	flags := []string{"--query.timeout=10m"}
	limited := knowsFlag(k.bin, budgetFlag)
	if limited {
		flags = append(flags, "--"+budgetFlag+"="+heavyBudget)
	}
	args := k.args
	k.args = func(dir, addr string) []string { return append(args(dir, addr), flags...) }
	return k, limited
}

func benchHeavy(c config) error {
	lines, err := tsbsLines(c)
	if err != nil {
		return err
	}
	text, err := c.heavy(lines, heavyShapes(), 20*time.Second)
	if err != nil {
		return err
	}
	_, err = fmt.Println(text)
	return err
}

// heavy measures writing alone, then under a storm of queries.
func (c config) heavy(lines *influxLines, shapes []shape, lasting time.Duration) (string, error) {
	k, limited := heavyKind(c.kinds[0])
	s, err := newServer(k, c.dir)
	if err != nil {
		return "", err
	}
	defer s.remove()
	if _, err := s.loadLines(lines); err != nil {
		return "", fmt.Errorf("%w\nlast output:\n%s", err, s.logTail())
	}
	var out strings.Builder
	fmt.Fprintf(&out, "heavy: %d clients ask heavy queries of %d samples, %d samples/s are written meanwhile\n", heavyClients, lines.samples, c.rate)
	if limited {
		fmt.Fprintf(&out, "--%s=%s\n", budgetFlag, heavyBudget)
	} else {
		fmt.Fprintf(&out, "this varve knows no --%s: without a budget\n", budgetFlag)
	}
	fmt.Fprintln(os.Stderr, "  each query alone")
	wanted, err := s.expectAlone(shapes, lines.first, lines.last, &out)
	if err != nil {
		return "", err
	}
	f, err := s.writeUnderStorm(c.rate, lasting, func() (verdicts, error) {
		return s.storm(shapes, wanted, lines.first, lines.last, lasting)
	})
	if err != nil {
		return "", fmt.Errorf("%w\nlast output:\n%s", err, s.logTail())
	}
	out.WriteString("\n")
	table{title: "under the storm", runs: 1, servers: []column{{s.name, f}}}.print(&out, heavyRows(f))
	return out.String(), nil
}

// writeUnderStorm writes for a while alone, and then as long as storm goes on.
func (s *server) writeUnderStorm(rate int, lasting time.Duration, storm func() (verdicts, error)) (figures, error) {
	const targets, day = 200, 24 * time.Hour
	f := newFleet(targets, fewLabels, false, time.Now().Add(-day).UnixMilli(), 15_000)
	const later = 2000 // the first scrape of the second half
	fmt.Fprintln(os.Stderr, "  writing alone")
	alone, err := s.during(f.scrapes(s.writePath, 0, later), rate, func() error { time.Sleep(lasting); return nil })
	if err != nil {
		return nil, err
	}
	s.forgetPeak()
	fmt.Fprintln(os.Stderr, "  writing and querying")
	var v verdicts
	under, err := s.during(f.scrapes(s.writePath, later, math.MaxInt32), rate, func() (err error) {
		v, err = storm()
		return err
	})
	if err != nil {
		return nil, err
	}
	if v.failed > 0 {
		fmt.Fprintf(os.Stderr, "  %d queries failed, one with %s\n", v.failed, v.last)
	}
	_, peak, err := s.memory()
	if err != nil {
		return nil, err
	}
	return figures{
		"right": float64(v.right), "over": float64(v.overBudget), "wrong": float64(v.wrong), "failed": float64(v.failed),
		"queries": float64(v.right+v.overBudget+v.wrong+v.failed) / under.took.Seconds(),
		"p99":     milliseconds(percentile(under.latencies, 0.99)), "p99alone": milliseconds(percentile(alone.latencies, 0.99)),
		"p50": milliseconds(median(under.latencies)), "p50alone": milliseconds(median(alone.latencies)),
		"rate": under.rate(), "ratealone": alone.rate(), "took": under.took.Seconds(), "peak": float64(peak) / (1 << 20),
	}, s.verify(f.names, f.start, time.Now().Add(day).UnixMilli(), alone.samples+under.samples)
}

func heavyRows(f figures) []row {
	return []row{
		{key: "took", title: "until the last answer, s", digits: 1},
		{key: "queries", title: "heavy queries/s", digits: 2},
		{key: "right", title: "answered as alone"},
		{key: "over", title: "refused: over budget, 422"},
		{key: "wrong", title: "answered otherwise", bar: atMost(0)},
		{key: "failed", title: "failed otherwise", bar: atMost(0)},
		{key: "peak", title: "peak memory (VmHWM), MiB"},
		{key: "p50alone", title: "write, median, alone, ms", digits: 2},
		{key: "p50", title: "  under the storm", digits: 2},
		{key: "p99alone", title: "write, p99, alone, ms", digits: 2},
		{key: "p99", title: "  under the storm", digits: 2, bar: atMost(math.Ceil(max(2*f["p99alone"], 50)))},
		{key: "ratealone", title: "samples/s, alone"},
		{key: "rate", title: "  under the storm", bar: atLeast(math.Floor(f["ratealone"] / 2))},
	}
}
