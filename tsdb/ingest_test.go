package tsdb_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// noLog is a disk that forgets what the log writes.
type noLog struct{ vfs.FS }

type nothing struct{ vfs.File }

func (f noLog) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err == nil && strings.HasSuffix(name, ".wal") {
		return nothing{file}, nil
	}
	return file, err
}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

// hostLabels is the label set of series i: 15 labels, as exporters make them.
func hostLabels(b *labels.ScratchBuilder, i int) labels.Labels {
	b.Reset()
	host := i / 100
	b.Add("__name__", fmt.Sprintf("node_metric_%d_total", i%100))
	for k := range 9 {
		b.Add(fmt.Sprintf("a%d", k), fmt.Sprintf("value_%d_%d", k, host%(k+2)))
	}
	b.Add("cluster", "production-eu-1")
	b.Add("instance", fmt.Sprintf("host-%06d.example.com:9100", host))
	b.Add("job", "node")
	b.Add("pod", fmt.Sprintf("exporter-%06d", host))
	b.Add("zone", fmt.Sprintf("zone-%d", host%3))
	return b.Labels()
}

// scrapes writes the samples of rounds to the series: times a scrape interval
// apart, values of gauges and counters.
type scrapes struct {
	db     *tsdb.DB
	series []tsdb.Series
	round  int64

	registering time.Duration // of processors
}

func newScrapes(tb testing.TB, n int, opts tsdb.Options) *scrapes {
	opts.FS, opts.MinFree, opts.Sync = noLog{vfs.NewMem()}, -1, tsdb.SyncOff()
	db, err := tsdb.Open("store", opts)
	require.NoError(tb, err)
	s := &scrapes{db: db, series: make([]tsdb.Series, n)}
	lb := labels.NewScratchBuilder(16)
	b := db.Batch()
	var sets []labels.Labels
	for i := 0; i < n; i += len(sets) {
		sets = sets[:0]
		for k := range min(10000, n-i) {
			sets = append(sets, hostLabels(&lb, i+k))
		}
		began := cpuTime()
		for k, set := range sets {
			s.series[i+k], err = b.Series(set)
			require.NoError(tb, err)
		}
		s.registering += cpuTime() - began
	}
	b.Discard()
	return s
}

// write commits the next per samples of the series from..to.
func (s *scrapes) write(from, to, per int) error {
	b := s.db.Batch()
	for i := from; i < to; i++ {
		if !b.Live(s.series[i]) {
			return fmt.Errorf("series %d is gone", i)
		}
		for k := range int64(per) {
			r := s.round + k
			v := float64(r*int64(i%7) + r*r%5)
			if i%4 == 0 {
				v += 0.25
			}
			if err := b.Float(s.series[i], 0, t0+r*15000, v); err != nil {
				return err
			}
		}
	}
	return b.Commit(context.Background())
}

func BenchmarkIngest(b *testing.B) {
	for _, size := range []struct{ series, per int }{{1000, 10}, {1000, 1}, {10000, 1}} {
		b.Run(fmt.Sprintf("%dx%d", size.series, size.per), func(b *testing.B) {
			s := newScrapes(b, size.series, tsdb.Options{FlushBytes: 1 << 30})
			for range 3 { // the log has the definitions then
				require.NoError(b, s.write(0, size.series, 1))
				s.round++
			}
			b.ReportAllocs()
			b.ResetTimer()
			cpu := cpuTime()
			for range b.N {
				if err := s.write(0, size.series, size.per); err != nil {
					b.Fatal(err)
				}
				s.round += int64(size.per)
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N*size.series*size.per), "cpu-ns/sample")
		})
	}
}

// What a million series take, with 40 samples each.
func BenchmarkMillionSeries(b *testing.B) {
	const n, samples = 1000000, 40
	for range b.N {
		heap, resident := memory()
		s := newScrapes(b, n, tsdb.Options{FlushBytes: 1 << 40})
		b.ReportMetric(float64(s.registering.Nanoseconds())/n, "cpu-ns/registration")
		reg, regResident := memory()
		b.ReportMetric(float64(reg-heap)/n, "heap-B/series")
		b.ReportMetric(float64(regResident-resident)/n, "RSS-B/series")
		began := cpuTime()
		for range samples {
			for i := 0; i < n; i += 10000 {
				require.NoError(b, s.write(i, i+10000, 1))
			}
			s.round++
		}
		b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/n/samples, "cpu-ns/sample")
		all, allResident := memory()
		b.ReportMetric(float64(all-reg)/n/samples, "heap-B/sample")
		b.ReportMetric(float64(allResident-regResident)/n/samples, "RSS-B/sample")
		b.ReportMetric(float64(s.db.Stats().HeadBytes)/n/samples, "counted-B/sample")
		runtime.KeepAlive(s)
	}
}

// Writing to known series allocates nothing.
func TestIngestAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("pools drop things under the race detector")
	}
	s := newScrapes(t, 1000, tsdb.Options{FlushBytes: 1 << 40, FlushInterval: 1 << 50})
	write := func() {
		require.NoError(t, s.write(0, len(s.series), 10))
		s.round += 10
	}
	for range 5 {
		write()
	}
	perRequest := testing.AllocsPerRun(50, write)
	// Regions of the arenas and their tables come now and then.
	require.Less(t, perRequest, 2.0)
	require.NoError(t, s.db.Close())
}

// Reading recent samples: selecting series, and walking their spans.
func BenchmarkReadHead(b *testing.B) {
	s := newScrapes(b, 100000, tsdb.Options{FlushBytes: 1 << 40})
	for range 60 {
		require.NoError(b, s.write(0, len(s.series), 1))
		s.round++
	}
	ctx := context.Background()
	for _, m := range []*labels.Matcher{
		labels.MustNewMatcher(labels.MatchEqual, "instance", "host-000007.example.com:9100"),
		labels.MustNewMatcher(labels.MatchEqual, "__name__", "node_metric_7_total"),
	} {
		b.Run(m.Name, func(b *testing.B) {
			cpu := cpuTime()
			n := 0
			for range b.N {
				v, err := s.db.Select(ctx, 0, t0+day, m)
				require.NoError(b, err)
				n = v.Len()
				v.Close()
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N*n), "select-ns/series")
			cpu = cpuTime()
			v, err := s.db.Select(ctx, 0, t0+day, m)
			require.NoError(b, err)
			defer v.Close()
			for range b.N {
				for i := range n {
					for c := v.Cursor(i, 0, t0+day); c.Next(); {
					}
				}
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N*n), "read-ns/series")
		})
	}
}
