package main

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/e2e/tsbs"
)

// phase is the questions of one type.
type phase struct {
	name      string
	limit     float64 // of VictoriaMetrics' processor time that varve may take
	rivals    bool    // whether they are asked too
	questions []tsbs.Answer
}

// tsbsLimits are what of VictoriaMetrics' processor time each type may take.
func tsbsLimits() map[string]float64 {
	const heavy, middle, light = 1.0 / 6, 1.0 / 3, 1.0 / 2
	return map[string]float64{
		"double-groupby-1": heavy, "double-groupby-5": heavy, "double-groupby-all": heavy, "cpu-max-all-8": heavy,
		"single-groupby-5-8-1": middle, "single-groupby-1-8-1": middle, "single-groupby-5-1-12": middle, "cpu-max-all-1": middle,
		"single-groupby-1-1-1": light, "single-groupby-1-1-12": light, "single-groupby-5-1-1": light,
	}
}

// tsbsPhases returns the questions of each type: those of a file, or n made for the
// data, with the answers if they are known. Types that only varve is asked have a
// tenth.
func tsbsPhases(path string, o tsbs.Options, known bool, n int) ([]phase, error) {
	var phases []phase
	byName := map[string]int{}
	add := func(a tsbs.Answer) {
		i, ok := byName[a.Type]
		if !ok {
			i = len(phases)
			byName[a.Type] = i
			limit := tsbsLimits()[a.Type]
			phases = append(phases, phase{name: a.Type, limit: limit, rivals: limit > 0})
		}
		if p := &phases[i]; len(p.questions) < n {
			p.questions = append(p.questions, a)
		}
	}
	if path != "" {
		text, err := readLines(path)
		if err != nil {
			return nil, err
		}
		answers, err := tsbs.ReadAnswers(strings.NewReader(string(text)))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for _, a := range answers {
			add(a)
		}
	}
	sums := map[string]string{}
	if known {
		answers, err := tsbs.Answers()
		if err != nil {
			return nil, err
		}
		for _, a := range answers {
			sums[a.Path] = a.Sum
		}
	}
	for _, k := range tsbs.Kinds() {
		count := n
		switch {
		case !k.Asked:
			count = max(1, n/10)
		case path != "":
			continue
		}
		for _, q := range o.Queries(k, count) {
			add(tsbs.Answer{Type: k.Name, Path: q.Path, Sum: sums[q.Path]})
		}
	}
	return phases, nil
}

// benchTSBSQueries loads the lines of TSBS and asks its questions, a type at a time.
func benchTSBSQueries(c config) error {
	lines, err := tsbsLines(c)
	if err != nil {
		return err
	}
	phases, err := tsbsPhases(c.questions, tsbs.Options{}, c.tsbs == "", c.queries)
	if err != nil {
		return err
	}
	text, err := c.tsbsQueries(lines, phases)
	if err != nil {
		return err
	}
	_, err = fmt.Println(text)
	return err
}

func (c config) tsbsQueries(lines *influxLines, phases []phase) (string, error) {
	t, err := c.measure(&plan{
		rivals:  func(k kind) bool { return k.name != "prometheus" }, // speaks no Influx and no MetricsQL
		measure: func(s *server) (figures, error) { return s.loadAndAsk(lines, phases) },
	})
	if err != nil {
		return "", err
	}
	cpu, latency := []row{}, []row{}
	for _, p := range phases {
		r := row{key: p.name + " cpu", title: p.name, digits: 3}
		if p.rivals {
			r.bar = atMostOf("victoria-metrics", p.limit)
		}
		cpu = append(cpu, r)
		latency = append(latency, row{key: p.name + " median", title: p.name, digits: 3})
	}
	var out strings.Builder
	fmt.Fprintf(&out, "tsbs-queries: TSBS cpu-only, %d hosts, %d samples, %d clients, caches cold:\n", lines.hosts, lines.samples, workers)
	out.WriteString("no question is asked twice\n")
	for _, part := range []struct {
		title string
		rows  []row
	}{
		{"server CPU, ms/query", cpu},
		{"median latency, ms", latency},
		{"servers", []row{
			{key: "known", title: "answers compared with those recorded"},
			{key: "wrong", title: "  different in any byte", bar: atMost(0)},
			{key: "load", title: "server CPU of loading, ns/sample"},
			{key: "loadpeak", title: "peak memory (VmHWM) while loading, MiB"},
			{key: "peak", title: "  and while asked what both are, MiB", bar: atMostOf("victoria-metrics", 1.0/3)},
			{key: "allpeak", title: "  and while asked the rest, MiB"},
			{key: "rss", title: "memory afterwards, MiB"},
			{key: "disk", title: "disk, B/sample", digits: 4},
		}},
	} {
		out.WriteString("\n")
		t.title = part.title
		t.print(&out, part.rows)
	}
	return out.String(), nil
}

// loadAndAsk loads the lines, lets the server write out and merge them, and asks all
// phases in turn.
func (s *server) loadAndAsk(lines *influxLines, phases []phase) (figures, error) {
	before, err := s.cpu()
	if err != nil {
		return nil, err
	}
	if _, err := s.load(lines.workload()); err != nil {
		return nil, err
	}
	settled, err := s.settle(s)
	if err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	_, peak, err := s.memory()
	if err != nil {
		return nil, err
	}
	time.Sleep(s.linger)
	f := figures{"known": 0, "wrong": 0, "loadpeak": float64(peak) / (1 << 20)}
	f["load"] = float64(settled.minus(before).all()) / float64(lines.samples)
	for _, both := range []bool{true, false} {
		for _, p := range phases {
			if p.rivals != both || !both && s.name == "victoria-metrics" {
				continue
			}
			fmt.Fprintf(os.Stderr, "    %s\n", p.name)
			if err := s.askPhase(p, f); err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
		}
		rss, peak, err := s.memory()
		if err != nil {
			return nil, err
		}
		if both {
			f["rss"], f["peak"] = float64(rss)/(1<<20), float64(peak)/(1<<20)
		} else if s.name != "victoria-metrics" {
			f["allpeak"] = float64(peak) / (1 << 20)
		}
	}
	bytes, _, err := s.diskBytes()
	f["disk"] = float64(bytes) / float64(lines.samples)
	return f, errors.Join(err, s.verify(lines.metrics, lines.first, lines.last, lines.samples))
}

// askPhase asks every question of a phase once, by clients that keep their connections, and
// adds what it cost to the figures.
func (s *server) askPhase(p phase, f figures) error {
	before, err := s.preciseCPU()
	if err != nil {
		return err
	}
	var at, known, wrong atomic.Int64
	var latencies [workers][]time.Duration
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Go(func() {
			for n := at.Add(1) - 1; n < int64(len(p.questions)); n = at.Add(1) - 1 {
				q, start := p.questions[n], time.Now()
				text, err := s.send(http.MethodGet, s.metricsQL+q.Path, nil)
				if err != nil {
					errs[i] = err
					return
				}
				latencies[i] = append(latencies[i], time.Since(start))
				if q.Sum == "" {
					continue
				}
				known.Add(1)
				if tsbs.Sum(text) != q.Sum {
					wrong.Add(1)
				}
			}
		})
	}
	wg.Wait()
	after, err := s.preciseCPU()
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	var all []time.Duration
	for _, l := range latencies {
		all = append(all, l...)
	}
	f[p.name+" cpu"] = milliseconds(after-before) / float64(len(all))
	f[p.name+" median"] = milliseconds(median(all))
	f["known"] += float64(known.Load())
	f["wrong"] += float64(wrong.Load())
	return nil
}
