package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// kind is a program that can be measured.
type kind struct {
	name  string
	bin   string
	args  func(dir, addr string) []string
	ready string // a path that answers 200 when the server serves

	writePath string // of remote write
	metricsQL string // before the paths that speak it

	// settle writes everything out, merges all, and returns the processor time
	// used until that was done.
	settle func(*server) (usage, error)
	// linger is how long files may still appear afterwards.
	linger time.Duration
	// isIndex tells whether a file, named from the data folder, is of an index.
	isIndex func(path string) bool
}

func varve(bin string) kind {
	return kind{
		name: "varve", bin: bin, ready: "/-/ready", writePath: "/api/v1/write", metricsQL: "/metricsql",
		args: func(dir, addr string) []string {
			return []string{"--storage.path=" + dir, "--web.listen-address=" + addr}
		},
		settle: func(s *server) (usage, error) {
			if err := s.post("/internal/force_flush"); err != nil {
				return usage{}, err
			}
			if err := s.post("/internal/force_merge"); err != nil {
				return usage{}, err
			}
			return s.cpu()
		},
		isIndex: func(path string) bool { return strings.HasPrefix(filepath.Base(path), "index") },
	}
}

// victoriaMetrics answers a forced merge before it has begun, and writes index
// items out seconds later.
func victoriaMetrics(bin string) kind {
	return kind{
		name: "victoria-metrics", bin: bin, ready: "/health", writePath: "/api/v1/write",
		args: func(dir, addr string) []string {
			return []string{"-storageDataPath=" + dir, "-httpListenAddr=" + addr, "-retentionPeriod=100y", "-search.latencyOffset=0s"}
		},
		settle:  settleVictoriaMetrics,
		linger:  6 * time.Second,
		isIndex: func(path string) bool { return strings.Contains(filepath.ToSlash(path), "indexdb/") },
	}
}

func settleVictoriaMetrics(s *server) (usage, error) {
	for _, path := range []string{"/internal/force_flush", "/internal/force_merge"} {
		if err := s.post(path); err != nil {
			return usage{}, err
		}
	}
	var done usage
	for idle := 0; idle < 2; {
		time.Sleep(250 * time.Millisecond)
		now, err := s.cpu() // before the question, which costs the server a little
		if err != nil {
			return usage{}, err
		}
		busy, err := s.metrics("vm_active_merges", "vm_active_force_merges", "vm_pending_rows")
		switch {
		case err != nil:
			return usage{}, err
		case busy > 0:
			idle = 0
		case idle == 0:
			done = now
			fallthrough
		default:
			idle++
		}
	}
	return done, nil
}

// prometheus can neither be told to flush nor to merge: its log and its head
// stay as they are.
func prometheus(bin string) kind {
	return kind{
		name: "prometheus", bin: bin, ready: "/-/ready", writePath: "/api/v1/write",
		args: func(dir, addr string) []string {
			return []string{
				"--config.file=" + dir + ".yml", "--storage.tsdb.path=" + dir, "--web.listen-address=" + addr,
				"--web.enable-remote-write-receiver",
			}
		},
		settle:  (*server).cpu,
		isIndex: func(path string) bool { return filepath.Base(path) == "index" },
	}
}

// metrics adds up the samples of some names on the server's own metrics page.
func (s *server) metrics(names ...string) (float64, error) {
	page, err := s.send(http.MethodGet, "/metrics", nil)
	if err != nil {
		return 0, err
	}
	var total float64
	lines := bufio.NewScanner(bytes.NewReader(page))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		for _, name := range names {
			rest, ok := strings.CutPrefix(line, name)
			if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
				continue
			}
			v, err := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			if err != nil {
				return 0, fmt.Errorf("metric line %q: %w", line, err)
			}
			total += v
		}
	}
	return total, lines.Err()
}
