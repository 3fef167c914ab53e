package main

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
)

func TestFlagsHaveTheDocumentedDefaults(t *testing.T) {
	f, err := parseFlags(nil)
	require.NoError(t, err)
	require.Equal(t, "./data", f.path)
	require.Equal(t, []string{":8428"}, *f.web.WebListenAddresses)
	require.Zero(t, f.store.Retention)
	require.Zero(t, f.store.RetentionBytes)
	require.Equal(t, tsdb.SyncEvery(100*time.Millisecond), f.store.Sync)
	require.Equal(t, 48*time.Hour, f.store.MaxFuture)
	require.Equal(t, int64(32<<20), f.http.maxRequest)
	require.Equal(t, 2*time.Minute, f.query.Timeout)
	require.Equal(t, 5*time.Minute, f.query.LookbackDelta)
	require.GreaterOrEqual(t, f.store.MemoryBudget, 4*f.store.FlushBytes)
	require.Equal(t, memoryLimit()/4, f.query.MaxMemory)
	require.Zero(t, f.query.MaxQueryMemory, "half of it")
	require.Equal(t, memoryLimit()/64>>20<<20, f.query.CacheBytes)
	require.Equal(t, []int64{64 << 20, 32 << 20, 16 << 20, 16 << 20}, caches(f))
	require.Equal(t, 5*time.Second, f.slow)
	require.NoError(t, f.query.Validate())
	require.False(t, f.http.admin)
	require.NoError(t, f.store.Validate())
	require.Equal(t, "2m", f.all["query.timeout"])
	require.Equal(t, ":8428", f.all["web.listen-address"])
}

func TestFlagsReadPrometheusUnitsAndEnvironment(t *testing.T) {
	t.Setenv("VARVE_STORAGE_PATH", "/elsewhere")
	f, err := parseFlags([]string{"--storage.retention=90d", "--storage.retention-size=512MB", "--storage.flush-size=1048576", "--storage.wal-sync=always",
		"--query.max-memory=512MiB", "--query.max-memory-per-query=128MB", "--query.log-slower-than=0", "--query.cache-size=0",
		"--storage.min-free=0", "--enable-feature=promql-experimental-functions,use-start-timestamps"})
	require.NoError(t, err)
	require.Equal(t, "/elsewhere", f.path)
	require.Equal(t, 90*24*time.Hour, f.store.Retention)
	require.Equal(t, int64(512<<20), f.store.RetentionBytes)
	require.Equal(t, int64(1<<20), f.store.FlushBytes)
	require.Equal(t, tsdb.SyncAlways(), f.store.Sync)
	require.Equal(t, int64(512<<20), f.query.MaxMemory)
	require.Equal(t, int64(128<<20), f.query.MaxQueryMemory)
	require.Zero(t, f.slow)
	require.Zero(t, f.query.CacheBytes)
	require.Equal(t, int64(-1), f.store.MinFree)
	require.Equal(t, []string{"promql-experimental-functions,use-start-timestamps"}, f.query.EnabledFeatures)
}

func caches(f *flags) []int64 {
	return []int64{f.store.IndexCacheBytes, f.store.LabelCacheBytes, f.store.BlockCacheBytes, f.store.SampleCacheBytes}
}

func TestCaches(t *testing.T) {
	t.Setenv("VARVE_STORAGE_INDEX_CACHE_SIZE", "1GiB")
	f, err := parseFlags([]string{"--storage.label-cache-size=0", "--storage.block-cache-size=1048577", "--storage.sample-cache-size=1MB"})
	require.NoError(t, err)
	require.Equal(t, []int64{1 << 30, -1, 1<<20 + 1, 1 << 20}, caches(f), "what is switched off is negative to the store")
	require.NoError(t, f.store.Validate())
	require.Equal(t, "0", f.all["storage.label-cache-size"])
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, arg := range []string{"--storage.retention=soon", "--storage.retention-size=big", "--storage.wal-sync=sometimes", "--nope"} {
		_, err := parseFlags([]string{arg})
		flag, _, _ := strings.Cut(arg, "=")
		require.ErrorContains(t, err, strings.TrimPrefix(flag, "--"), "the text names the flag")
	}
}

func TestMemoryLimitIsSane(t *testing.T) {
	require.Greater(t, memoryLimit(), int64(64<<20))
}

func TestHeapLimit(t *testing.T) {
	f := func(all, budget, want int64) {
		t.Helper()
		require.Equal(t, want, heapLimit(all, budget))
	}
	f(1000, 0, 900)
	f(1000, 250, 650)
	f(1000, 900, 250) // a budget beyond reason leaves the heap a quarter
}
