package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve/e2e/corpus"
	"github.com/varvedb/varve/e2e/oracle"
	"github.com/varvedb/varve/promqlx"
	"github.com/varvedb/varve/tsdb"
)

// childArgument has the program be the process whose memory is measured.
const childArgument = "memory-child"

const manySeries = 100_000

// manyQueries are asked over an hour of a sample each 15 s.
var manyQueries = []benchCase{
	onGrid("sum by (job) (many)", tsbsStart+3600_000, 15_000, 240),
	onGrid("sum by (job) (rate(many[5m]))", tsbsStart+3600_000, 60_000, 60),
}

// measureMemory writes 100,000 series and has a process of its own for each query
// and engine, since the peak of a process' memory cannot be taken back.
func measureMemory(ctx context.Context, c config) error {
	if !c.only.MatchString("memory") {
		return nil
	}
	dir := filepath.Join(c.dir, "many")
	if err := fillMany(ctx, dir, manySeries); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("\nmemory: %d series of 1 h, a sample each 15 s; growth above the open store\n", manySeries)
	for _, engine := range []string{"promqlx", "upstream"} {
		for i := range manyQueries {
			cmd := exec.CommandContext(ctx, self, childArgument, dir, engine, strconv.Itoa(i))
			cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				return fmt.Errorf("%s of %q: %w", engine, manyQueries[i].Text, err)
			}
		}
	}
	return nil
}

func fillMany(ctx context.Context, dir string, series int) (err error) {
	db, err := tsdb.Open(dir, tsdb.Options{Sync: tsdb.SyncOff()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	store, refs, sets := tsdb.NewStorage(db), make([]storage.SeriesRef, series), make([]labels.Labels, series)
	for i := range sets {
		sets[i] = labels.FromStrings("__name__", "many", "job", "job-"+strconv.Itoa(i%20), "instance", "10.0."+strconv.Itoa(i/250)+"."+strconv.Itoa(i%250)+":9100", "pod", "pod-"+strconv.Itoa(i))
	}
	for t := tsbsStart; t <= tsbsStart+3600_000; t += 15_000 {
		app := store.AppenderV2(ctx)
		for i, ls := range sets {
			v := float64((t-tsbsStart)/15_000*int64(i%97) + int64(i)*7%1000)
			if refs[i], err = app.Append(refs[i], ls, 0, t, v, nil, nil, storage.AOptions{}); err != nil {
				return err
			}
		}
		if err := app.Commit(); err != nil {
			return err
		}
	}
	return errors.Join(db.ForceFlush(ctx), db.ForceMerge(ctx))
}

// runChild asks one query and prints what memory it took.
func runChild(ctx context.Context, args []string) (err error) {
	if len(args) != 3 {
		return fmt.Errorf("got %d arguments, want folder, engine and number of the query", len(args))
	}
	i, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	db, err := tsdb.Open(args[0], tsdb.Options{Sync: tsdb.SyncOff()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var engine promql.QueryEngine = upstreamEngine()
	if args[1] == "promqlx" {
		e, err := promqlx.New(promqlx.Options{MaxSamples: benchSamples, Timeout: benchTimeout})
		if err != nil {
			return err
		}
		engine = corpus.NewEngine(e)
	}
	runtime.GC()
	debug.FreeOSMemory()
	before, start := usage(), processorTime()
	stop, peaks := make(chan struct{}), make(chan memory)
	go watch(stop, peaks)
	a := oracle.Run(ctx, engine, tsdb.NewStorage(db), manyQueries[i].Question)
	close(stop)
	peak := <-peaks
	if a.Err != nil {
		return a.Err
	}
	m, _ := a.Value.(promql.Matrix)
	fmt.Printf("%-9s %-34s %d series, %s: heap +%s, anonymous +%s, resident +%s, peak of the process (VmHWM) %s, of which before %s\n",
		args[1], manyQueries[i].Text, len(m), duration(float64(processorTime()-start)), bytesText(peak.heap-before.heap),
		bytesText(peak.anonymous-before.anonymous), bytesText(peak.resident-before.resident), bytesText(usage().peak), bytesText(before.peak))
	return nil
}

// memory is in bytes: live and dead objects of the heap, and what the system says.
type memory struct{ heap, anonymous, resident, peak float64 }

// watch samples until stop, and sends the largest of each.
func watch(stop chan struct{}, peaks chan memory) {
	var top memory
	for {
		m := usage()
		top.heap, top.anonymous, top.resident = max(top.heap, m.heap), max(top.anonymous, m.anonymous), max(top.resident, m.resident)
		select {
		case <-stop:
			peaks <- top
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func usage() memory {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/unused:bytes"}}
	metrics.Read(s)
	m := memory{heap: float64(s[0].Value.Uint64() + s[1].Value.Uint64())}
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return m // not this system: the heap alone
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
		switch name {
		case "RssAnon":
			m.anonymous = kib * 1024
		case "VmRSS":
			m.resident = kib * 1024
		case "VmHWM":
			m.peak = kib * 1024
		}
	}
	return m
}
