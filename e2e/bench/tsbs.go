package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
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
	if c.tsbs == "" {
		return lines.plan("tsbs: as TSBS cpu-only"), nil
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

// readLines reads a file whole, or makes up lines.
func readLines(path string) ([]byte, error) {
	if path == "" {
		return appendTSBS(nil, 100, 8640), nil
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

// Names that TSBS gives its hosts.
var (
	tsbsRegions = []struct {
		name  string
		zones string
	}{
		{"us-east-1", "abce"}, {"us-west-1", "ab"}, {"us-west-2", "abc"}, {"eu-west-1", "abc"}, {"eu-central-1", "ab"},
		{"ap-southeast-1", "ab"}, {"ap-southeast-2", "ab"}, {"ap-northeast-1", "ac"}, {"sa-east-1", "abc"},
	}
	tsbsSystems      = []string{"Ubuntu16.10", "Ubuntu16.04LTS", "Ubuntu15.10"}
	tsbsTeams        = []string{"SF", "NYC", "LON", "CHI"}
	tsbsEnvironments = []string{"production", "staging", "test"}
	tsbsFields       = []string{"user", "system", "idle", "nice", "iowait", "irq", "softirq", "steal", "guest", "guest_nice"}
)

// appendTSBS appends lines of the shape that TSBS' use case cpu-only has: every
// 10 seconds each host sends ten integers, the whole part of a random walk with
// steps of N(0,1) that is kept between 0 and 100.
func appendTSBS(dst []byte, hosts, steps int) []byte {
	rng := rand.New(rand.NewPCG(123, 0))
	values := make([]float64, hosts*len(tsbsFields))
	for i := range values {
		values[i] = rng.Float64() * 100
	}
	tags := make([]string, hosts)
	for i := range tags {
		region := tsbsRegions[rng.IntN(len(tsbsRegions))]
		tags[i] = fmt.Sprintf("cpu,hostname=host_%d,region=%s,datacenter=%s%c,rack=%d,os=%s,arch=%s,team=%s,service=%d,service_version=%d,service_environment=%s",
			i, region.name, region.name, region.zones[rng.IntN(len(region.zones))], rng.IntN(100), tsbsSystems[rng.IntN(3)],
			[]string{"x64", "x86"}[rng.IntN(2)], tsbsTeams[rng.IntN(4)], rng.IntN(20), rng.IntN(2), tsbsEnvironments[rng.IntN(3)])
	}
	const start = 1451606400 // 2016-01-01
	for step := range steps {
		for host := range hosts {
			dst = append(dst, tags[host]...)
			for k, name := range tsbsFields {
				v := &values[host*len(tsbsFields)+k]
				*v = min(100, max(0, *v+rng.NormFloat64()))
				dst = append(append(append(dst, " ,"[min(k, 1)]), "usage_"...), name...)
				dst = append(strconv.AppendInt(append(dst, '='), int64(*v), 10), 'i')
			}
			dst = append(strconv.AppendInt(append(dst, ' '), (start+int64(step)*10)*1e9, 10), '\n')
		}
	}
	return dst
}
