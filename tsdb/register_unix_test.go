//go:build unix

package tsdb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

// BenchmarkRegister writes the first samples of series with 15 labels, one of
// them unique and random, 2000 to a batch, into a store on disk. It reports the
// time of processors that a series takes, log included.
func BenchmarkRegister(b *testing.B) {
	const count, perBatch = 200_000, 2000
	sets := make([]labels.Labels, count)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range sets {
		pairs := []string{"__name__", fmt.Sprintf("app_metric_%d_total", i%100), "uuid", fmt.Sprintf("%016x-%019d", rng.Uint64(), rng.Int64())}
		for k := range 13 {
			pairs = append(pairs, fmt.Sprintf("label_%c", 'a'+k), fmt.Sprintf("value-%d-of-%d", i/100%(1<<k), k))
		}
		sets[i] = labels.FromStrings(pairs...)
	}
	now := time.Now().UnixMilli()
	var used time.Duration
	for b.Loop() {
		db, err := tsdb.Open(b.TempDir(), tsdb.Options{MinFree: -1})
		require.NoError(b, err)
		begin := processorTime(b)
		for at := 0; at < count; at += perBatch {
			batch := db.Batch()
			for i, lset := range sets[at : at+perBatch] {
				s, err := batch.Series(lset)
				if err == nil {
					err = batch.Float(s, 0, now, float64(i))
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			require.NoError(b, batch.Commit(context.Background()))
		}
		used += processorTime(b) - begin
		require.Equal(b, count, int(db.Stats().HeadSeries))
		require.NoError(b, db.Close())
	}
	b.ReportMetric(float64(used.Nanoseconds())/float64(b.N)/count, "cpu-ns/series")
}

// processorTime returns what the process has used so far.
func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
