package promqlx

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// shapesStart is when the samples of shapesStore begin, in milliseconds.
const shapesStart = 1_700_006_400_000

// shapesStore has 10 metrics of 100 hosts for 12 hours, a small integer each
// 10 s, flushed and merged.
func shapesStore(b *testing.B) *tsdb.Storage {
	db, err := tsdb.Open(b.TempDir(), tsdb.Options{Sync: tsdb.SyncOff()})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	r := rand.New(rand.NewPCG(1, 2))
	for host := range 100 {
		batch := db.Batch()
		for m := range 10 {
			s, err := batch.Series(labels.FromStrings(
				"__name__", fmt.Sprintf("cpu_%d", m), "hostname", fmt.Sprintf("host_%d", host), "region", fmt.Sprintf("region_%d", host%9),
				"datacenter", fmt.Sprintf("dc_%d", host%27), "os", "Ubuntu16.04LTS", "arch", "x64", "team", "SF", "service", fmt.Sprint(host%20),
				"service_version", "1", "service_environment", "production", "rack", fmt.Sprint(host%50)))
			require.NoError(b, err)
			v := 50.0
			for i := range int64(4320) {
				v = min(100, max(0, v+float64(int(r.NormFloat64()))))
				require.NoError(b, batch.Add(s, shapesStart+i*10_000, v))
			}
		}
		require.NoError(b, batch.Commit(context.Background()))
	}
	require.NoError(b, db.ForceFlush(context.Background()))
	require.NoError(b, db.ForceMerge(context.Background()))
	return tsdb.NewStorage(db)
}

// BenchmarkShapes asks what dashboards ask.
func BenchmarkShapes(b *testing.B) {
	store := shapesStore(b)
	for _, bb := range []struct {
		name, query  string
		length, step time.Duration
	}{
		{"host", `max by (hostname) (max_over_time(cpu_1{hostname="host_7"}[1m]))`, time.Hour, time.Minute},
		{"hosts", `max by (hostname) (max_over_time(cpu_1{hostname=~"host_1|host_2|host_3|host_4|host_5|host_6|host_7|host_8"}[1m]))`, time.Hour, time.Minute},
		{"avg1h", `avg by (hostname) (avg_over_time(cpu_1[1h]))`, 11 * time.Hour, time.Hour},
		{"sumrate", `sum(rate(cpu_1[5m]))`, 6 * time.Hour, time.Minute},
		{"sumbyrate", `sum by (datacenter) (rate(cpu_1[5m]))`, 6 * time.Hour, time.Minute},
		{"plain", `cpu_1`, 6 * time.Hour, time.Minute},
		{"ratio", `cpu_1 / cpu_2`, 6 * time.Hour, time.Minute},
		{"topk", `topk(5, cpu_1)`, 6 * time.Hour, time.Minute},
		{"quantile", `quantile_over_time(0.9, cpu_1[10m])`, 6 * time.Hour, time.Minute},
		{"subquery", `max_over_time(avg by (datacenter) (cpu_1)[30m:1m])`, 3 * time.Hour, 5 * time.Minute},
		{"instant", `sum by (region) (cpu_1)`, 0, 0},
		{"instantplain", `cpu_1`, 0, 0},
		{"instantrate", `sum by (region) (rate(cpu_1[5m]))`, 0, 0},
	} {
		b.Run(bb.name, func(b *testing.B) {
			engine, err := New(Options{})
			require.NoError(b, err)
			end := time.UnixMilli(shapesStart + 43_000_000)
			b.ReportAllocs()
			for b.Loop() {
				var q Query
				if bb.step == 0 {
					q, err = engine.Instant(context.Background(), store, bb.query, QueryOptions{}, end)
				} else {
					q, err = engine.Range(context.Background(), store, bb.query, QueryOptions{}, end.Add(-bb.length), end, bb.step)
				}
				if err == nil {
					err = q.Exec(context.Background()).Err
					q.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
