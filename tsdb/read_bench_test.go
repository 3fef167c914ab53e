package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
)

// benchStore holds a day of the cpu-only set: walks of integers in 0 to 100, each
// series with so many samples in so many flushes, the last of which may be left in
// memory.
func benchStore(b *testing.B, series, samples, flushes int, head bool, opts tsdb.Options) *tsdb.DB {
	opts.MinFree, opts.FlushBytes, opts.MemoryBudget, opts.Sync = -1, 1<<40, 1<<40, tsdb.SyncOff()
	db, err := tsdb.Open(b.TempDir(), opts)
	require.NoError(b, err)
	b.Cleanup(func() { db.Close() })
	r := rand.New(rand.NewPCG(42, 42))
	values := make([]float64, series)
	at := 0
	for f := range flushes {
		to := samples * (f + 1) / flushes
		for s := range series {
			batch := db.Batch()
			host := s / 10
			ref, err := batch.Series(labels.FromStrings("__name__", fmt.Sprint("cpu_usage_", s%10), "arch", "x64", "datacenter", fmt.Sprintf("us-west-%d", host%3),
				"hostname", fmt.Sprintf("host_%d", host), "os", "Ubuntu16.04LTS", "rack", fmt.Sprint(host*7%100), "region", fmt.Sprintf("us-west-%d", host%3),
				"service", fmt.Sprint(host*3%20), "service_environment", "production", "service_version", fmt.Sprint(host%2), "team", "LON"))
			require.NoError(b, err)
			for i := at; i < to; i++ {
				values[s] = min(100, max(0, values[s]+r.NormFloat64()))
				if err := batch.Float(ref, 0, t0+int64(i)*10000, math.Trunc(values[s])); err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, batch.Commit(context.Background()))
		}
		at = to
		if !head || f+1 < flushes {
			require.NoError(b, db.ForceFlush(context.Background()))
		}
	}
	return db
}

type readBench struct {
	name    string
	flushes int
	head    bool
	cache   int64
}

var readBenches = []readBench{{"head", 1, true, 0}, {"part", 1, false, 0}, {"part uncached", 1, false, -1}, {"part and head", 2, true, 0}, {"three parts", 3, false, 0}}

func benchView(b *testing.B, db *tsdb.DB, mint, maxt int64, ms ...*labels.Matcher) *tsdb.View {
	v, err := db.Select(context.Background(), mint, maxt, ms...)
	require.NoError(b, err)
	b.Cleanup(v.Close)
	return v
}

// BenchmarkRead reads a range of many series.
func BenchmarkRead(b *testing.B) {
	for _, state := range readBenches {
		db := benchStore(b, 1000, 8640, state.flushes, state.head, tsdb.Options{BlockCacheBytes: state.cache})
		for _, span := range []struct {
			name       string
			mint, maxt int64
		}{{"day", t0, t0 + day}, {"hour", t0 + 5*3600_000 + 7, t0 + 6*3600_000}, {"minute", t0 + 5*3600_000 + 7, t0 + 5*3600_000 + 60_000}} {
			b.Run(state.name+"/"+span.name, func(b *testing.B) {
				v := benchView(b, db, t0, t0+day)
				b.ReportAllocs()
				var into tsdb.Samples
				n := 0
				cpu := cpuTime()
				for b.Loop() {
					n = 0
					for i := range v.Len() {
						if err := v.Read(i, span.mint, span.maxt, &into); err != nil {
							b.Fatal(err)
						}
						n += into.Len()
						into.Reset()
					}
				}
				each := float64((cpuTime() - cpu).Nanoseconds()) / float64(b.N)
				b.ReportMetric(each/float64(n), "cpu-ns/sample")
				b.ReportMetric(each/float64(v.Len()), "cpu-ns/series")
			})
		}
		b.Run(state.name+"/last", func(b *testing.B) {
			v := benchView(b, db, t0, t0+day)
			b.ReportAllocs()
			cpu := cpuTime()
			for b.Loop() {
				for i := range v.Len() {
					if _, _, _, _, ok, err := v.Last(i, t0, t0+5*3600_000); !ok || err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/float64(v.Len()), "cpu-ns/series")
		})
		require.NoError(b, db.Close())
	}
}

// BenchmarkSelect opens views, asks them for a column and reads a minute of each
// series.
func BenchmarkSelect(b *testing.B) {
	for _, series := range []int{1000, 100_000} {
		for _, state := range readBenches {
			db := benchStore(b, series, 30, state.flushes, state.head, tsdb.Options{})
			for _, what := range []string{"select", "column", "read"} {
				b.Run(fmt.Sprint(series, "/", state.name, "/", what), func(b *testing.B) {
					b.ReportAllocs()
					var into tsdb.Samples
					cpu := cpuTime()
					for b.Loop() {
						v, err := db.Select(context.Background(), t0, t0+day)
						if err != nil || v.Len() != series {
							b.Fatal(v.Len(), err)
						}
						if what != "select" && v.Column("hostname").Len() != series/10+1 {
							b.Fatal("hosts")
						}
						for i := range v.Len() {
							if what == "read" && (v.Read(i, t0, t0+day, &into) != nil || into.Len() != 30) {
								b.Fatal(into.Len())
							}
							into.Reset()
						}
						v.Close()
					}
					b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/float64(series), "cpu-ns/series")
				})
			}
			require.NoError(b, db.Close())
		}
	}
}

// BenchmarkSpans asks for a statistic of each day of many, which headers answer, and
// of each hour, where windows cut blocks.
func BenchmarkSpans(b *testing.B) {
	const days = 10
	db := benchStore(b, 100, days*8640, 1, false, tsdb.Options{})
	for _, window := range []int64{day, 3600_000} {
		for _, op := range []tsdb.StatOp{tsdb.StatSum, tsdb.StatMax} {
			b.Run(fmt.Sprint("window=", window/3600_000, "h/stat=", op), func(b *testing.B) {
				v := benchView(b, db, t0, t0+days*day)
				b.ReportAllocs()
				cpu := cpuTime()
				for b.Loop() {
					for i := range v.Len() {
						c := v.Spans(i, t0, t0+days*day)
						for c.Next() {
							s := c.Span()
							for from := 0; from < s.Count; {
								to := s.Search(s.Time(from) - s.Time(from)%window + window)
								if _, ok := s.Stat(op, from, to); !ok {
									b.Fatal("not exact")
								}
								from = to
							}
						}
						if c.Err() != nil {
							b.Fatal(c.Err())
						}
					}
				}
				b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N)/float64(v.Len()), "cpu-ns/series")
			})
		}
	}
}

// BenchmarkReadParallel reads series of one View from all processors.
func BenchmarkReadParallel(b *testing.B) {
	db := benchStore(b, 1000, 8640, 1, false, tsdb.Options{})
	v := benchView(b, db, t0, t0+day)
	b.ResetTimer()
	cpu := cpuTime()
	b.RunParallel(func(pb *testing.PB) {
		var into tsdb.Samples
		for i := 0; pb.Next(); i++ {
			if err := v.Read(i%v.Len(), t0+5*3600_000, t0+6*3600_000, &into); err != nil || into.Len() != 361 {
				b.Error(err, into.Len())
			}
			into.Reset()
		}
	})
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/float64(b.N), "cpu-ns/series")
}

// BenchmarkLabels asks for the label sets of all series of a new View: by caches and
// state.
func BenchmarkLabels(b *testing.B) {
	for _, state := range []readBench{{"head", 1, true, 0}, {"head unkept", 1, true, -1}, {"part", 1, false, 0}, {"part unkept", 1, false, -1}} {
		db := benchStore(b, 1000, 10, state.flushes, state.head, tsdb.Options{LabelCacheBytes: state.cache})
		b.Run(state.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				v, err := db.Select(context.Background(), t0, t0+day, labels.MustNewMatcher(labels.MatchRegexp, "__name__", "cpu_usage_[1-5]"))
				require.NoError(b, err)
				for i := range v.Len() {
					n += int(v.Labels(i).ByteSize())
				}
				v.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*500), "ns/series")
			require.Positive(b, n)
		})
	}
}

// BenchmarkColumn asks for a label's values of 100 series of a new View.
func BenchmarkColumn(b *testing.B) {
	for _, state := range []readBench{{"head", 1, true, 0}, {"part", 1, false, 0}, {"part and head", 2, true, 0}} {
		db := benchStore(b, 1000, 10, state.flushes, state.head, tsdb.Options{})
		for _, name := range []string{"region", "rack", "hostname"} {
			b.Run(state.name+"/"+name, func(b *testing.B) {
				v := benchView(b, db, t0, t0+day, labels.MustNewMatcher(labels.MatchEqual, "__name__", "cpu_usage_1"))
				b.ReportAllocs()
				for b.Loop() {
					require.Positive(b, v.Column(name).Len())
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*100), "ns/series")
			})
		}
	}
}
