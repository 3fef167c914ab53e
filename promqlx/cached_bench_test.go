package promqlx

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/promqlx/internal/cache"
	"github.com/varvedb/varve/tsdb"
)

// dashboard is twenty panels, as people have them.
var dashboard = []string{
	`sum(rate(req_total[5m]))`, `sum by (dc) (rate(req_total[5m]))`, `sum by (host) (rate(req_total[1m]))`, `rate(req_total{host="h1"}[5m])`,
	`topk(5, rate(req_total[5m]))`, `max by (dc) (cpu)`, `avg(cpu)`, `avg by (dc) (avg_over_time(cpu[10m]))`, `cpu{host=~"h1.?"}`,
	`quantile(0.9, cpu)`, `histogram_quantile(0.9, sum by (le) (rate(lat_bucket[5m])))`, `histogram_quantile(0.5, sum by (le, dc) (rate(lat_bucket[5m])))`,
	`sum(rate(lat_bucket{le="1"}[5m])) / sum(rate(lat_bucket{le="+Inf"}[5m]))`, `count(cpu > 50)`, `100 - avg by (dc) (cpu)`, `max_over_time(cpu{dc="d1"}[1h])`,
	`sum by (dc) (increase(req_total[1h]))`, `cpu offset 1d`, `min(cpu)`, `stddev by (dc) (cpu)`,
}

const benchHosts = 60

func benchStore(b *testing.B, hours int) (db *tsdb.DB, minute func(now int64)) {
	db, err := tsdb.Open(b.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	write := func(from, to int64) {
		batch := db.Batch()
		for h := range benchHosts {
			host, dc := fmt.Sprint("h", h), fmt.Sprint("d", h%4)
			add := func(value func(n int64) float64, lbls ...string) {
				s, err := batch.Series(labels.FromStrings(append(lbls, "host", host, "dc", dc)...))
				require.NoError(b, err)
				for t := from; t < to; t += 15_000 {
					require.NoError(b, batch.Add(s, t, value((t-agingFrom)/1000+int64(h))))
				}
			}
			add(func(n int64) float64 { return float64(n * int64(h+1) % 1_000_003) }, "__name__", "req_total")
			add(func(n int64) float64 { return float64(n*7919%10_007) / 100 }, "__name__", "cpu")
			for i, le := range []string{"0.1", "1", "10", "+Inf"} {
				add(func(n int64) float64 { return float64(n * int64(i+1)) }, "__name__", "lat_bucket", "le", le)
			}
		}
		require.NoError(b, batch.Commit(context.Background()))
	}
	for h := range int64(hours) {
		write(agingFrom+h*hourMs, agingFrom+(h+1)*hourMs)
	}
	require.NoError(b, db.ForceFlush(context.Background()))
	return db, func(now int64) { write(now-minuteMs, now) }
}

// BenchmarkDashboard refreshes twenty panels of a day every minute, of which the
// samples come in meanwhile: without a cache, with one, and with one that is
// empty. Run it with -cpu 1.
func BenchmarkDashboard(b *testing.B) {
	db, minute := benchStore(b, 26)
	now := int64(agingFrom + 26*hourMs)
	clock := func() time.Time { return time.UnixMilli(now) }
	e, c := cachedEngine(b, cache.Options{Bytes: 256 << 20}, clock)
	refresh := func(opts QueryOptions) {
		for _, text := range dashboard {
			end := now / minuteMs * minuteMs
			q, err := e.Range(context.Background(), tsdb.NewStorage(db), text, opts, time.UnixMilli(end-24*hourMs), time.UnixMilli(end), time.Minute)
			require.NoError(b, err)
			require.NoError(b, q.Exec(context.Background()).Err)
			q.Close()
		}
	}
	f := func(name string, opts QueryOptions, before func()) {
		b.Run(name, func(b *testing.B) {
			refresh(opts)
			for b.Loop() {
				b.StopTimer()
				now += minuteMs
				minute(now)
				before()
				b.StartTimer()
				refresh(opts)
			}
		})
	}
	f("without", QueryOptions{NoCache: true}, func() {})
	f("with", QueryOptions{}, func() {})
	b.Logf("%+v", c.Stats())
	f("empty", QueryOptions{}, func() { e.evaluator.(*own).cache = cache.New(cache.Options{Bytes: 256 << 20}) })
}
