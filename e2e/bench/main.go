// Command bench measures servers from outside, over HTTP, and prints each bar
// that varve is held to beside what a rival does in the same run.
//
// Its arguments name the benches to run, all by default. Some run Go benchmarks
// of the storage; the others start servers:
//
//	sizes     bytes of values of several shapes, beside VictoriaMetrics' codec
//	codec     decoding, beside Prometheus' chunks
//	index     selecting among 5 million series; takes a quarter of an hour and 2 GiB
//	register  the first sample of a series, in process
//	tsbs      loading the lines of TSBS cpu-only
//	tsbs-queries  the questions of TSBS to VictoriaMetrics, and those that it has but
//	          does not ask there
//	rw        remote write of 50,000 series
//	scale     memory and processor time of a million series
//	churn     30 days on each of which 30 % of the series are new
//	replay    the return from a kill
//	promql    queries over TSBS cpu-only beside a Prometheus that holds the same;
//	          answers must be equal. Builds Prometheus if none is named
//	heavy     50 clients with heavy queries and little memory, and what that does to
//	          writing
//
// What runs is said by variables of the environment:
//
//	VARVE_BIN         varve to measure; without it one is built
//	BENCH_VM          VictoriaMetrics, single node, to compare with
//	BENCH_PROMETHEUS  Prometheus to compare with, where it has the protocol; the
//	                  bench promql takes the one of go.mod without it
//	BENCH_BASE        another varve to compare with
//	BENCH_TSBS        lines of TSBS cpu-only, plain, .gz or .zst; without it
//	                  the same are made
//	BENCH_TSBS_QUERIES  requests to ask in the bench tsbs-queries, plain, .gz or .zst:
//	                  a type, a tab and a path in a line; or type, number, SHA-256 of
//	                  the answer without its stats, length, path. Without it the
//	                  requests are made as TSBS makes them, and the answers known
//	BENCH_QUERIES     requests of each type of the bench tsbs-queries, 1000
//	BENCH_SERIES      series of the bench scale, 1000000
//	BENCH_ACTIVE      active series of the bench churn, 100000
//	BENCH_RATE        samples a second that are written in the bench heavy, 50000
//	BENCH_DIR         where data goes, the system's temporary folder
//	BENCH_ASKS        queries of each shape that a server is asked in a turn of the
//	                  bench promql, 10; cheap ones are asked more often
//	RUNS              times that each server is measured; medians are printed
//	COUNT             times that each Go benchmark is run, 6
//
// Servers take turns and never run at the same time, but in the bench promql, where
// only one is asked at a time. Figures are the servers'
// own, from /proc, so they hold on a machine that does other things too: their
// processor time from the first byte until a forced flush and merge are done,
// their memory, and the sizes of all files in their data folder.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

// bench is one thing to measure.
type bench struct {
	name string
	run  func(config) error
}

// Their order is that of a run without arguments.
var benches = []bench{
	{"sizes", printSizes},
	{"codec", codecBench.run},
	{"index", indexBench.run},
	{"register", registerBench.run},
	{"tsbs", compare(prepareTSBS)},
	{"tsbs-queries", benchTSBSQueries},
	{"rw", compare(prepareRemoteWrite)},
	{"scale", compare(prepareScale)},
	{"churn", compare(prepareChurn)},
	{"replay", compare(prepareReplay)},
	{"promql", benchPromQL},
	{"heavy", benchHeavy},
}

// plan is a bench with its data at hand.
type plan struct {
	title   string
	rows    []row
	measure func(*server) (figures, error)
	rivals  func(kind) bool // which can be measured at all; nil: all
}

// figures are what one server did, by the keys of rows.
type figures map[string]float64

func run(names []string) error {
	if runtime.GOOS != "linux" {
		return errors.New("figures are read from /proc, which only Linux has")
	}
	c, err := readConfig()
	if err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	if len(names) == 0 {
		for _, b := range benches {
			names = append(names, b.name)
		}
	}
	go func() { // servers must not outlive an interrupt
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt, syscall.SIGTERM)
		<-interrupts
		killAll()
		os.RemoveAll(c.dir)
		os.Exit(130)
	}()
	defer killAll()
	for _, name := range names {
		i := slices.IndexFunc(benches, func(b bench) bool { return b.name == name })
		if i < 0 {
			return fmt.Errorf("no bench is named %q", name)
		}
		fmt.Fprintf(os.Stderr, "bench %s\n", name)
		if err := benches[i].run(c); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// config is what the environment says.
type config struct {
	dir       string // made for this run
	tsbs      string
	questions string
	queries   int    // of a type
	kinds     []kind // varve first
	series    int
	active    int
	asks      int
	rate      int
	runs      int
	count     int           // of Go benchmarks
	askFor    time.Duration // how long a query is repeated
}

func readConfig() (config, error) {
	c := config{tsbs: os.Getenv("BENCH_TSBS"), questions: os.Getenv("BENCH_TSBS_QUERIES"), askFor: 3 * time.Second}
	var err error
	for _, v := range []struct {
		name  string
		value *int
		usual int
	}{{"BENCH_SERIES", &c.series, 1_000_000}, {"BENCH_ACTIVE", &c.active, 100_000}, {"BENCH_ASKS", &c.asks, 10}, {"BENCH_QUERIES", &c.queries, 1000}, {"BENCH_RATE", &c.rate, 50_000}, {"RUNS", &c.runs, 1}, {"COUNT", &c.count, 6}} {
		*v.value = v.usual
		if s := os.Getenv(v.name); s != "" {
			if *v.value, err = strconv.Atoi(s); err != nil || *v.value < 1 {
				return c, fmt.Errorf("%s is %q, want a positive number", v.name, s)
			}
		}
	}
	if c.dir, err = os.MkdirTemp(os.Getenv("BENCH_DIR"), "varve-bench-"); err != nil {
		return c, err
	}
	bin := os.Getenv("VARVE_BIN")
	if bin == "" {
		bin = filepath.Join(c.dir, "varve")
		if out, err := exec.Command("go", "build", "-o", bin, "github.com/varvedb/varve/cmd/varve").CombinedOutput(); err != nil {
			return c, fmt.Errorf("build varve: %w: %s", err, out)
		}
	}
	c.kinds = append(c.kinds, varve(bin))
	if bin := os.Getenv("BENCH_VM"); bin != "" {
		c.kinds = append(c.kinds, victoriaMetrics(bin))
	}
	if bin := os.Getenv("BENCH_PROMETHEUS"); bin != "" {
		c.kinds = append(c.kinds, prometheus(bin))
	}
	if bin := os.Getenv("BENCH_BASE"); bin != "" {
		base := varve(bin)
		base.name = "base"
		c.kinds = append(c.kinds, base)
	}
	return c, nil
}

// compare returns what measures every server in turn, as often as wanted, and
// prints the medians. prepare makes the data ready.
func compare(prepare func(config) (*plan, error)) func(config) error {
	return func(c config) error {
		p, err := prepare(c)
		if err != nil {
			return err
		}
		t, err := c.measure(p)
		if err != nil {
			return err
		}
		var text strings.Builder
		t.print(&text, p.rows)
		_, err = fmt.Println(text.String())
		return err
	}
}

func (c config) measure(p *plan) (table, error) {
	var kinds []kind
	for _, k := range c.kinds {
		if p.rivals == nil || p.rivals(k) {
			kinds = append(kinds, k)
		}
	}
	measured := make([][]figures, len(kinds))
	for r := range c.runs {
		for i, k := range kinds {
			fmt.Fprintf(os.Stderr, "  %s, run %d of %d\n", k.name, r+1, c.runs)
			f, err := c.once(k, p)
			if err != nil {
				return table{}, fmt.Errorf("%s: %w", k.name, err)
			}
			measured[i] = append(measured[i], f)
		}
	}
	t := table{title: p.title, runs: c.runs}
	for i, k := range kinds {
		t.servers = append(t.servers, column{k.name, medians(measured[i])})
	}
	return t, nil
}

// once measures a fresh server.
func (c config) once(k kind, p *plan) (figures, error) {
	s, err := newServer(k, c.dir)
	if err != nil {
		return nil, err
	}
	defer s.remove()
	if err := s.start(); err != nil {
		return nil, err
	}
	f, err := p.measure(s)
	if err != nil {
		return nil, fmt.Errorf("%w\nlast output:\n%s", err, s.logTail())
	}
	return f, nil
}
