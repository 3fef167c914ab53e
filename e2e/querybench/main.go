// Command querybench measures promqlx beside Prometheus' engine, in this
// process, over the same data: promqlx over varve's store, Prometheus' engine
// over varve's store, and Prometheus' engine over Prometheus' own blocks.
//
// Its suites, all by default, or those that are arguments:
//
//	range   the data and queries of Prometheus' BenchmarkRangeQuery, in full:
//	        27 million samples, at 1000 and 100 steps and for one time
//	native  the queries of BenchmarkNativeHistograms and its sibling with custom
//	        buckets, and those of BenchmarkInfoFunction
//	tsbs    TSBS' devops shapes as PromQL: 1000 series of 12 h, a sample each 10 s
//	memory  what a sum over 100,000 series of 1 h takes, in a process of its own
//
// Everything runs at GOMAXPROCS=1 unless QUERYBENCH_PROCS says otherwise. Time
// is processor time of the process, garbage collection included, the best of
// several rounds in which the contenders take turns, so that it holds on a
// machine that does other things too.
//
// Bytes are those allocated from New*Query to the end of Exec, less what the
// result itself takes, by the same formula for all: 16 bytes for a float, the
// size of the struct, spans, buckets and bounds of a histogram, and for each series
// the slice's element and the bytes of its labels. Queries whose bytes are measured
// are not closed, since Prometheus' engine would otherwise draw their points from
// a pool and have allocated less than its result. What is left is taken to be
// 1 KiB at least, so that ratios mean something.
//
// Each answer of promqlx is compared with the oracle's, bit by bit.
//
//	QUERYBENCH_RUN     a regular expression that cases have to match
//	QUERYBENCH_PROCS   GOMAXPROCS, 1
//	QUERYBENCH_TIME    the least time to spend on a case and contender, 100ms
//	QUERYBENCH_SERIES  series of the suite native, 300 (upstream has 3000)
//	QUERYBENCH_DIR     where data goes, the system's temporary folder
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintf(os.Stderr, "querybench: %v\n", err)
		os.Exit(1)
	}
}

// config is what the environment says.
type config struct {
	only   *regexp.Regexp
	least  time.Duration
	rounds int // how often the contenders take turns
	series int
	dir    string
}

func readConfig() (config, error) {
	c := config{least: 100 * time.Millisecond, rounds: 3, series: 300}
	var errs []error
	var err error
	c.only, err = regexp.Compile(os.Getenv("QUERYBENCH_RUN"))
	errs = append(errs, err)
	if s := os.Getenv("QUERYBENCH_TIME"); s != "" {
		c.least, err = time.ParseDuration(s)
		errs = append(errs, err)
	}
	procs := 1
	for name, into := range map[string]*int{"QUERYBENCH_SERIES": &c.series, "QUERYBENCH_PROCS": &procs} {
		if s := os.Getenv(name); s != "" {
			*into, err = strconv.Atoi(s)
			errs = append(errs, err)
		}
	}
	runtime.GOMAXPROCS(procs)
	return c, errors.Join(errs...)
}

// suite is data, and cases about them.
type suite struct {
	name  string
	fill  func(c config, into *stores) error
	cases func() []benchCase
}

var suites = []suite{
	{"range", func(_ config, s *stores) error { return fillRange(s, 8640+10000) }, func() []benchCase { return rangeCases(8640 + 10000) }},
	{"native", func(c config, s *stores) error { return fillNative(s, c.series, 2000) }, nativeCases},
	{"tsbs", func(_ config, s *stores) error { return fillTSBS(s, 100, 12*360) }, func() []benchCase { return tsbsCases(12 * 360) }},
}

func run(ctx context.Context, names []string) error {
	c, err := readConfig()
	if err != nil {
		return err
	}
	if c.dir, err = os.MkdirTemp(os.Getenv("QUERYBENCH_DIR"), "querybench"); err != nil {
		return err
	}
	defer os.RemoveAll(c.dir)
	if len(names) > 0 && names[0] == childArgument {
		return runChild(ctx, names[1:])
	}
	for _, s := range suites {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		if err := s.run(ctx, c); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	if len(names) == 0 || slices.Contains(names, "memory") {
		return measureMemory(ctx, c)
	}
	return nil
}

func (s suite) run(ctx context.Context, c config) (err error) {
	var cases []benchCase
	for _, b := range s.cases() {
		if c.only.MatchString(b.name()) {
			cases = append(cases, b)
		}
	}
	if len(cases) == 0 {
		return nil
	}
	start := time.Now()
	into, err := openStores(filepath.Join(c.dir, s.name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, into.close()) }()
	if err := s.fill(c, into); err != nil {
		return err
	}
	if err := into.settle(ctx); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: loaded in %s\n", s.name, time.Since(start).Round(time.Second))
	contenders, err := contendersOver(into)
	if err != nil {
		return err
	}
	start = time.Now()
	var rows []row
	for _, b := range cases {
		r, err := measure(ctx, contenders, b, c.least, c.rounds)
		if ctx.Err() != nil {
			break // what is measured is told
		}
		if err != nil {
			return fmt.Errorf("%s: %w", b.name(), err)
		}
		fmt.Fprintln(os.Stderr, r)
		rows = append(rows, r)
	}
	if len(rows) > 0 {
		printTable(s.name, rows, time.Since(start))
	}
	return ctx.Err()
}
