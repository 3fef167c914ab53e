package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/encoding/protowire"
)

// remoteWrite makes a remote write request of each batch of lines, in order:
// what the Influx door makes of the lines, for servers that have none.
func (l *influxLines) remoteWrite(path string) workload {
	at := 0
	return workload{path: path, headers: remoteWriteHeaders(), next: func(worker int) body {
		if worker > 0 || at == len(l.batches) { // one sender keeps all in order
			return body{}
		}
		b := l.batches[at]
		at++
		return body{s2.EncodeSnappy(nil, linesToRequest(b.bytes)), b.samples}
	}}
}

func remoteWriteHeaders() []string {
	return []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "0.1.0"}
}

// linesToRequest encodes lines that cut has accepted. Values must be integers or
// decimals.
func linesToRequest(text []byte) []byte {
	byKey := map[string]int{}
	var series [][]byte
	for line := range bytes.Lines(text) {
		parts := strings.Fields(string(line))
		ns, _ := strconv.ParseInt(parts[2], 10, 64) // cut has read it
		for field := range strings.SplitSeq(parts[1], ",") {
			name, value, _ := strings.Cut(field, "=")
			v, err := strconv.ParseFloat(strings.TrimSuffix(value, "i"), 64)
			if err != nil {
				v = math.NaN() // verify then counts, and the answers differ
			}
			i, ok := byKey[parts[0]+" "+name]
			if !ok {
				i = len(series)
				byKey[parts[0]+" "+name] = i
				series = append(series, seriesLabels(parts[0], name))
			}
			sample := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
			sample = protowire.AppendFixed64(sample, math.Float64bits(v))
			sample = protowire.AppendTag(sample, 2, protowire.VarintType)
			sample = protowire.AppendVarint(sample, uint64(ns/1e6))
			series[i] = protowire.AppendTag(series[i], 2, protowire.BytesType)
			series[i] = protowire.AppendBytes(series[i], sample)
		}
	}
	var out []byte
	for _, s := range series {
		out = protowire.AppendTag(out, 1, protowire.BytesType)
		out = protowire.AppendBytes(out, s)
	}
	return out
}

// seriesLabels encodes the labels of a field, sorted.
func seriesLabels(measurementAndTags, field string) []byte {
	measurement, tags, _ := strings.Cut(measurementAndTags, ",")
	pairs := [][2]string{{"__name__", measurement + "_" + field}}
	for tag := range strings.SplitSeq(tags, ",") {
		if name, value, ok := strings.Cut(tag, "="); ok {
			pairs = append(pairs, [2]string{name, value})
		}
	}
	slices.SortFunc(pairs, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	var out []byte
	for _, p := range pairs {
		out = appendLabel(out, p[0], p[1])
	}
	return out
}

// loadLines starts the server, loads the lines, writes out and merges what it
// can, and waits until it rests.
func (s *server) loadLines(l *influxLines) (figures, error) {
	if err := s.start(); err != nil {
		return nil, err
	}
	if _, err := s.load(l.remoteWrite(s.writePath)); err != nil {
		return nil, err
	}
	if _, err := s.settle(s); err != nil {
		return nil, fmt.Errorf("settle: %w", err)
	}
	if err := s.rest(); err != nil {
		return nil, err
	}
	f := figures{}
	if s.name == "prometheus" {
		blocks, err := s.metrics("prometheus_tsdb_blocks_loaded")
		if err != nil {
			return nil, err
		}
		f["blocks"] = blocks
	}
	rss, _, err := s.memory()
	f["loadrss"] = float64(rss) / (1 << 20)
	return f, errors.Join(err, s.verify(l.metrics, l.first, l.last, l.samples))
}

// rest waits until the server has been idle for a while: nobody tells
// Prometheus to compact, and it tells nobody when it has.
func (s *server) rest() error {
	const window, quiet = time.Second, 3
	idle := 0
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
		before, err := s.cpu()
		if err != nil {
			return err
		}
		time.Sleep(window)
		after, err := s.cpu()
		if err != nil {
			return err
		}
		if idle++; after.minus(before).all() > window/20 {
			idle = 0
		}
		if idle == quiet {
			return nil
		}
	}
	return errors.New("the server does not come to rest")
}
