package main

import (
	"fmt"
	"time"
)

const (
	replayStep = 10  // scrapes between two looks at the head
	replayMost = 400 // scrapes in all
)

// prepareReplay kills varve when its log is long, and measures how it comes back.
func prepareReplay(c config) (*plan, error) {
	targets := max(1, min(c.series, 50_000)/metricsPerTarget)
	return &plan{
		title: fmt.Sprintf("replay: kill -9 under %d series", targets*metricsPerTarget),
		rows: []row{
			{key: "speed", title: "samples/s of one core, start of the program included", bar: atLeast(10_000_000)},
			{key: "ready", title: "seconds until ready", digits: 2, bar: atMost(15)},
			{key: "reading", title: "  reading the log, as told", digits: 2},
			{key: "cpu", title: "  server CPU, s", digits: 2},
			{key: "replayed", title: "samples read from the log"},
			{key: "samples", title: "samples acknowledged"},
		},
		rivals:  func(k kind) bool { return k.name == "varve" },
		measure: func(s *server) (figures, error) { return s.measureReplay(targets) },
	}, nil
}

func (s *server) measureReplay(targets int) (figures, error) {
	f := newFleet(targets, fewLabels, false, scrapesUntilNow(replayMost), 15_000)
	scrapes, err := s.fillHead(f)
	if err != nil {
		return nil, err
	}
	s.kill()
	begin := time.Now()
	if err := s.start(); err != nil {
		return nil, err
	}
	ready := time.Since(begin)
	used, err := s.cpu()
	if err != nil {
		return nil, err
	}
	replayed, err := s.metrics("varve_samples_replayed")
	if err != nil {
		return nil, err
	}
	reading, err := s.metrics("varve_replay_seconds")
	if err != nil {
		return nil, err
	}
	samples := int64(f.series()) * int64(scrapes)
	first, last := f.span(scrapes)
	return figures{
		"speed": replayed / max(used.all().Seconds(), 1.0/ticksPerSecond), "ready": ready.Seconds(), "reading": reading,
		"cpu": used.all().Seconds(), "replayed": replayed, "samples": float64(samples),
	}, s.verify(f.names, first, last, samples)
}

// fillHead writes until the log is nearly as long as it gets: it sees a flush
// first, and then goes on until there are as many samples in memory again. It
// returns the number of scrapes.
func (s *server) fillHead(f *fleet) (int, error) {
	var most, previous float64
	flushed := false
	for at := 0; at < replayMost; at += replayStep {
		if _, err := s.load(f.scrapes(s.writePath, at, at+replayStep)); err != nil {
			return 0, err
		}
		now, err := s.metrics("varve_head_samples")
		if err != nil {
			return 0, err
		}
		if flushed && now >= 0.8*most {
			return at + replayStep, nil
		}
		flushed = flushed || now < previous
		most, previous = max(most, now), now
	}
	return replayMost, nil
}
