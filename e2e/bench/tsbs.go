package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"

	"github.com/varvedb/varve/e2e/tsbs"
)

const linesPerBatch = 10_000

// prepareTSBS loads lines of TSBS cpu-only.
func prepareTSBS(c config) (*plan, error) {
	text, err := readLines(c.tsbs)
	if err != nil {
		return nil, err
	}
	lines, err := cut(text)
	if err != nil {
		return nil, err
	}
	return lines.plan("tsbs: TSBS cpu-only"), nil
}

// plan loads the lines.
func (l *influxLines) plan(title string) *plan {
	rows := held(ingestRows(), "cpu", atMostOf("victoria-metrics", 0.2))
	rows = held(rows, "peak", atMostOf("victoria-metrics", 1.0/3))
	rows = held(rows, "disk", atMost(0.31))
	rows = held(rows, "again", atMost(0.31))
	return &plan{
		title: fmt.Sprintf("%s, %d hosts", title, l.hosts), rows: rows,
		rivals: func(k kind) bool { return k.name != "prometheus" }, // speaks no Influx
		measure: func(s *server) (figures, error) {
			f, err := s.ingest(one(l.workload()), nil)
			if err != nil {
				return nil, err
			}
			return f, s.verify(l.metrics, l.first, l.last, l.samples)
		},
	}
}

// influxLines is line protocol, cut into requests.
type influxLines struct {
	batches     []body
	metrics     []string
	hosts       int
	samples     int64
	first, last int64 // milliseconds
}

func (l *influxLines) workload() workload {
	var at atomic.Int64
	return workload{path: "/write", next: func(int) body {
		if i := at.Add(1) - 1; i < int64(len(l.batches)) {
			return l.batches[i]
		}
		return body{}
	}}
}

// readLines reads a file whole, or makes the lines of TSBS.
func readLines(path string) ([]byte, error) {
	if path == "" {
		return tsbs.Options{}.Lines(), nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var in io.Reader = f
	switch {
	case strings.HasSuffix(path, ".zst"):
		z, err := zstd.NewReader(f, zstd.WithDecoderMaxWindow(1<<27), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer z.Close()
		in = z
	case strings.HasSuffix(path, ".gz"):
		if in, err = gzip.NewReader(f); err != nil {
			return nil, err
		}
	}
	var text bytes.Buffer
	if info, err := f.Stat(); err == nil {
		text.Grow(int(info.Size()) + bytes.MinRead)
	}
	_, err = text.ReadFrom(in)
	return text.Bytes(), err
}

// cut makes requests of lines without escapes, and counts what is in them.
func cut(text []byte) (*influxLines, error) {
	l := &influxLines{first: 1 << 62}
	metrics, hosts := map[string]bool{}, map[string]bool{}
	for len(text) > 0 {
		end, samples := 0, int64(0)
		for n := 0; n < linesPerBatch && end < len(text); n++ {
			size := bytes.IndexByte(text[end:], '\n') + 1
			if size == 0 {
				size = len(text) - end
			}
			line := text[end : end+size]
			end += size
			parts := bytes.Fields(line)
			if len(parts) != 3 {
				return nil, fmt.Errorf("line %.100q has %d parts, want 3", line, len(parts))
			}
			ns, err := strconv.ParseInt(string(parts[2]), 10, 64)
			if err != nil {
				return nil, fmt.Errorf("time of line %.100q: %w", line, err)
			}
			l.first, l.last = min(l.first, ns/1e6), max(l.last, ns/1e6)
			samples += int64(bytes.Count(parts[1], []byte("=")))
			if len(l.batches) == 0 {
				measurement, tags, _ := strings.Cut(string(parts[0]), ",")
				hosts[tags] = true
				for field := range strings.SplitSeq(string(parts[1]), ",") {
					name, _, _ := strings.Cut(field, "=")
					if metric := measurement + "_" + name; !metrics[metric] {
						metrics[metric] = true
						l.metrics = append(l.metrics, metric)
					}
				}
			}
		}
		l.batches = append(l.batches, body{text[:end:end], samples})
		l.samples += samples
		text = text[end:]
	}
	l.hosts = len(hosts)
	return l, nil
}
