package part

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

var tsbsMetrics = []string{"usage_user", "usage_system", "usage_idle", "usage_nice", "usage_iowait", "usage_irq", "usage_softirq", "usage_steal", "usage_guest", "usage_guest_nice"}

// tsbs is a day of the cpu-only set: walks of integers in 0 to 100.
func tsbs(hosts, samples int) []testSeries {
	r := rand.New(rand.NewPCG(42, 42))
	var out []testSeries
	for _, metric := range sorted(tsbsMetrics) {
		for _, host := range sortedHosts(hosts) {
			lset := labels.FromStrings("__name__", "cpu_"+metric, "arch", []string{"x64", "x86"}[host%2], "datacenter", fmt.Sprintf("us-west-%d%c", host%3, 'a'+host%3),
				"hostname", fmt.Sprintf("host_%d", host), "os", "Ubuntu16.04LTS", "rack", fmt.Sprint(host*7%100), "region", fmt.Sprintf("us-west-%d", host%3),
				"service", fmt.Sprint(host*3%20), "service_environment", "production", "service_version", fmt.Sprint(host%2), "team", []string{"LON", "NYC", "SF"}[host%3])
			v := float64(r.IntN(101))
			s := block.Span{Kind: block.KindFloat, Count: samples, Start: dayStart, Step: 10000, Floats: make([]float64, samples)}
			for i := range samples {
				v = min(100, max(0, v+r.NormFloat64()))
				s.Floats[i] = math.Trunc(v)
			}
			out = append(out, testSeries{lset: lset, spans: []block.Span{s}})
		}
	}
	return out
}

func sorted(in []string) []string {
	out := append([]string(nil), in...)
	for i := range out {
		for j := i + 1; j < len(out); j++ {
			if out[j] < out[i] {
				out[i], out[j] = out[j], out[i]
			}
		}
	}
	return out
}

// sortedHosts orders hosts as their label sets are ordered.
func sortedHosts(n int) []int {
	type key struct {
		lset labels.Labels
		host int
	}
	var keys []key
	for host := range n {
		keys = append(keys, key{labels.FromStrings("arch", []string{"x64", "x86"}[host%2], "datacenter", fmt.Sprintf("us-west-%d%c", host%3, 'a'+host%3), "hostname", fmt.Sprintf("host_%d", host)), host})
	}
	out := make([]int, 0, n)
	for len(keys) > 0 {
		best := 0
		for i := range keys {
			if labels.Compare(keys[i].lset, keys[best].lset) < 0 {
				best = i
			}
		}
		out = append(out, keys[best].host)
		keys = append(keys[:best], keys[best+1:]...)
	}
	return out
}

func BenchmarkWriteTSBS(b *testing.B) {
	list := tsbs(100, 8640)
	var m Meta
	for b.Loop() {
		m = writePart(b, vfs.NewMem(), "a", WriterOptions{}, list)
	}
	b.ReportMetric(float64(m.Bytes)/float64(m.Samples), "bytes/sample")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Samples), "ns/sample")
}

// BenchmarkWriteShort writes what an early flush yields: few samples a series.
func BenchmarkWriteShort(b *testing.B) {
	list := tsbs(100, 30)
	var m Meta
	for b.Loop() {
		m = writePart(b, vfs.NewMem(), "a", WriterOptions{}, list)
	}
	b.ReportMetric(float64(m.Bytes)/float64(m.Samples), "bytes/sample")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Samples), "ns/sample")
}

func benchmarkRead(b *testing.B, samples int) {
	fs := vfs.NewMem()
	m := writePart(b, fs, "a", WriterOptions{}, tsbs(100, samples))
	p := openPart(b, fs, "a")
	seg, err := p.Index()
	require.NoError(b, err)
	for b.Loop() {
		n := 0
		for o := range uint32(seg.Len()) {
			c := p.Cursor(o, math.MinInt64, math.MaxInt64)
			for c.Next() {
				n += c.Span().Count
			}
			require.NoError(b, c.Err())
		}
		require.EqualValues(b, m.Samples, n)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Samples), "ns/sample")
}

func BenchmarkReadTSBS(b *testing.B)  { benchmarkRead(b, 8640) }
func BenchmarkReadShort(b *testing.B) { benchmarkRead(b, 30) }

// BenchmarkReadOne reads one short series of many, with nothing cached.
func BenchmarkReadOne(b *testing.B) {
	fs := vfs.NewMem()
	writePart(b, fs, "a", WriterOptions{}, tsbs(100, 30))
	p := openPart(b, fs, "a")
	g := groupsOf(b, p)
	for b.Loop() {
		g.pages.mu.entries, g.pages.mu.ring, g.pages.mu.bytes = nil, nil, 0
		c := p.Cursor(500, math.MinInt64, math.MaxInt64)
		require.True(b, c.Next())
	}
}

// benchmarkRange reads a range of each series of a day.
func benchmarkRange(b *testing.B, mint, maxt int64, read func(p *Part, o uint32, mint, maxt int64) error) {
	fs := vfs.NewMem()
	m := writePart(b, fs, "a", WriterOptions{}, tsbs(100, 8640))
	p := openPart(b, fs, "a")
	b.ReportAllocs()
	for b.Loop() {
		for o := range uint32(m.Series) {
			require.NoError(b, read(p, o, mint, maxt))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(m.Series), "ns/series")
}

const hour = 3600 * 1000

// BenchmarkReadHour decodes 360 samples of each series.
func BenchmarkReadHour(b *testing.B) {
	benchmarkRange(b, dayStart+5*hour+7, dayStart+6*hour, func(p *Part, o uint32, mint, maxt int64) error {
		c := p.Cursor(o, mint, maxt)
		for c.Next() {
		}
		return c.Err()
	})
}

func statOf(p *Part, o uint32, mint, maxt int64) error {
	c := p.Spans(o, mint, maxt)
	for c.Next() {
		s := c.Span()
		if _, ok := s.Stat(block.StatMax, 0, s.Count); !ok {
			return block.ErrCorrupt
		}
	}
	return c.Err()
}

// BenchmarkStatHour asks for the greatest value of an hour.
func BenchmarkStatHour(b *testing.B) { benchmarkRange(b, dayStart+5*hour+7, dayStart+6*hour, statOf) }

// BenchmarkStatDay asks for the greatest value of the day: headers tell.
func BenchmarkStatDay(b *testing.B) { benchmarkRange(b, dayStart, dayStart+24*hour, statOf) }
