package main

import (
	"fmt"
	"iter"
	"time"
)

// prepareRemoteWrite writes 50,000 series of 10 labels.
func prepareRemoteWrite(c config) (*plan, error) {
	const scrapes = 200
	targets := max(1, min(c.series, 50_000)/metricsPerTarget)
	rows := held(ingestRows(), "cpu", atMostOf("victoria-metrics", 1.0/3))
	rows = held(rows, "peak", atMostOf("victoria-metrics", 0.5))
	rows = held(rows, "disk", atMostOf("victoria-metrics", 1))
	rows = held(rows, "again", atMostOf("victoria-metrics", 1))
	return &plan{
		title: fmt.Sprintf("rw: remote write, %d series x %d", targets*metricsPerTarget, scrapes), rows: rows,
		measure: func(s *server) (figures, error) {
			f := newFleet(targets, fewLabels, false, scrapesUntilNow(scrapes), 15_000)
			out, err := s.ingest(one(f.scrapes(s.writePath, 0, scrapes)), nil)
			if err != nil {
				return nil, err
			}
			first, last := f.span(scrapes)
			return out, s.verify(f.names, first, last, int64(f.series())*scrapes)
		},
	}, nil
}

// scrapesUntilNow returns when the first of n scrapes is, 15 s apart, so that all
// are over now.
func scrapesUntilNow(n int) int64 {
	return time.Now().Add(-time.Duration(n+1) * 15 * time.Second).Truncate(time.Second).UnixMilli()
}

func one(w workload) iter.Seq[workload] { return func(yield func(workload) bool) { yield(w) } }

// prepareScale writes 40 scrapes of many series of 15 labels.
func prepareScale(c config) (*plan, error) {
	const scrapes = 40
	targets := max(1, c.series/metricsPerTarget)
	rows := append([]row{
		{key: "rss", title: "VmRSS after the last answer, B/series", bar: atMost(600)},
		{key: "hwm", title: "VmHWM, flush and merge included, B/series", bar: atMost(900)},
		{key: "new", title: "CPU of the first scrape, ns/series"},
	}, ingestRows()...)
	return &plan{
		title: fmt.Sprintf("scale: remote write, %d series of 15 labels x %d", targets*metricsPerTarget, scrapes), rows: rows,
		measure: func(s *server) (figures, error) {
			f := newFleet(targets, manyLabels, true, scrapesUntilNow(scrapes), 15_000)
			series := float64(f.series())
			loads := func(yield func(workload) bool) {
				_ = yield(f.scrapes(s.writePath, 0, 1)) && yield(f.scrapes(s.writePath, 1, scrapes))
			}
			out, err := s.ingest(loads, func(i int, used usage, out figures) error {
				if i == 0 {
					out["new"] = float64(used.all().Nanoseconds()) / series
				}
				rss, _, err := s.memory()
				out["rss"] = float64(rss) / series
				return err
			})
			if err != nil {
				return nil, err
			}
			out["hwm"] = out["peak"] * (1 << 20) / series
			first, last := f.span(scrapes)
			return out, s.verify(f.names, first, last, int64(f.series())*scrapes)
		},
	}, nil
}
