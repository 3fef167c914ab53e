package influx

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cpuLines returns lines as TSBS makes them for its cpu-only load: ten integer
// fields for each host at each time.
func cpuLines(hosts, times int) string {
	fields := strings.Fields("user system idle nice iowait irq softirq steal guest guest_nice")
	var b strings.Builder
	for t := range times {
		for h := range hosts {
			fmt.Fprintf(&b, "cpu,hostname=host_%d,region=eu-central-1,datacenter=eu-central-1a,rack=%d,os=Ubuntu15.10,"+
				"arch=x86,team=SF,service=%d,service_version=1,service_environment=test ", h, h%100, h%20)
			for i, f := range fields {
				if i > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, "usage_%s=%di", f, (h*7+t*13+i*31)%100)
			}
			fmt.Fprintf(&b, " %d\n", 1451606400000000000+int64(t)*10_000_000_000)
		}
	}
	return b.String()
}

// floatLines is cpuLines with decimal fields.
func floatLines(hosts, times int) string {
	return strings.NewReplacer("i,", ".25,", "i ", ".5 ").Replace(cpuLines(hosts, times))
}

// warmSession returns a session that knows the lines and has an open batch.
func warmSession(t testing.TB, d *door, path, lines string) *session {
	s := d.h.session()
	require.NoError(t, s.setArguments(httptest.NewRequest("POST", path, nil)))
	require.NoError(t, s.ingest(context.Background(), strings.NewReader(lines)))
	require.Zero(t, s.bad.count)
	s.batch = d.db.Batch()
	return s
}

// In steady state neither the fast way nor the plain grammar allocates; a batch
// itself is new for each request.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop what they are given under the race detector")
	}
	d := openDoor(t, Options{})
	lines := cpuLines(10, 10) + "weather,place=z\\ ü temp=1.5,text=\"a\nb\",ok=t,n=3u 1451606400000000000\n"
	path := "/write?db=bench&extra_label=dc=x"
	s := warmSession(t, d, path, lines)
	r := strings.NewReader("")
	run := func() {
		r.Reset(lines)
		require.NoError(t, s.readAll(context.Background(), r))
		s.batch.Discard()
		s.batch = d.db.Batch()
	}
	require.LessOrEqual(t, testing.AllocsPerRun(100, run), 1.0)

	reordered := strings.ReplaceAll(lines, "usage_user=", "usage_x=1i,usage_user=")
	require.NoError(t, s.readAll(context.Background(), strings.NewReader(reordered)))
	lines = reordered
	require.LessOrEqual(t, testing.AllocsPerRun(100, run), 1.0)
}

func benchmarkLines(b *testing.B, lines string) {
	d := openDoor(b, Options{})
	s := warmSession(b, d, "/write", lines)
	s.sampled = 0
	r := strings.NewReader("")
	b.ReportAllocs()
	for b.Loop() {
		r.Reset(lines)
		require.NoError(b, s.readAll(context.Background(), r))
		s.batch.Discard()
		s.batch = d.db.Batch()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(s.sampled), "ns/sample")
}

// Reading, finding the series and filling the batch, without its commit.
func BenchmarkLines(b *testing.B) {
	b.Run("int", func(b *testing.B) { benchmarkLines(b, cpuLines(100, 40)) })
	b.Run("float", func(b *testing.B) { benchmarkLines(b, floatLines(100, 40)) })
	b.Run("many hosts", func(b *testing.B) { benchmarkLines(b, cpuLines(4000, 1)) })
	b.Run("subset of fields", func(b *testing.B) {
		lines := cpuLines(100, 20)
		benchmarkLines(b, lines+strings.ReplaceAll(lines, "usage_user=", "x="))
	})
}

// A whole request with its commit; the samples are the same each time.
func BenchmarkWrite(b *testing.B) {
	d := openDoor(b, Options{})
	lines := cpuLines(100, 10)
	samples := 10 * strings.Count(lines, "\n")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		path := fmt.Sprintf("/write?precision=ns&db=%d", i%4)
		w := d.send(httptest.NewRequest("POST", path, strings.NewReader(lines)))
		require.Equal(b, 204, w.Code)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*samples), "ns/sample")
}

// The plain grammar alone, without series.
func BenchmarkScanner(b *testing.B) {
	lines := []byte(cpuLines(100, 10))
	var s scanner
	b.ReportAllocs()
	for b.Loop() {
		for s.b, s.pos = lines, 0; s.pos < len(lines); {
			if s.next() != resultPoint {
				b.Fatal(s.reason)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(10*bytes.Count(lines, newline)), "ns/sample")
}
