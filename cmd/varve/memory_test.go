package main

import (
	"os"
	"runtime"
	"runtime/debug"
	goruntime "runtime/metrics"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIdleMemoryIsGivenBack(t *testing.T) {
	held := make([][]byte, 0, 4)
	for range 4 {
		b := make([]byte, spareMemory)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		held = append(held, b)
	}
	runtime.GC()
	used := idleHeap()
	require.Less(t, used, int64(spareMemory), "what is in use is not idle")
	runtime.KeepAlive(held)
	held = nil
	runtime.GC()
	require.Greater(t, idleHeap(), int64(2*spareMemory))
	giveBack()
	require.Less(t, idleHeap(), int64(spareMemory))
}

func TestLimitMemory(t *testing.T) {
	limit := debug.SetMemoryLimit(-1)
	percent := debug.SetGCPercent(100)
	t.Cleanup(func() {
		debug.SetMemoryLimit(limit)
		debug.SetGCPercent(percent)
	})
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		t.Setenv(name, "")
	}
	const budget = 1 << 20
	want := heapLimit(memoryLimit(), budget)

	ballast := limitMemory(budget)
	require.Len(t, ballast, ballastBytes)
	require.Equal(t, want+ballastBytes, debug.SetMemoryLimit(-1), "the ballast is not taken from the heap")
	require.Equal(t, collectPercent, debug.SetGCPercent(collectPercent))
	live, goal := heapGoal()
	require.Greater(t, goal-live, uint64(ballastBytes/100*collectPercent), "bytes between two collections")
	runtime.KeepAlive(ballast)

	t.Setenv("GOMEMLIMIT", "1GiB")
	debug.SetMemoryLimit(1 << 30)
	require.Len(t, limitMemory(budget), ballastBytes)
	require.Equal(t, int64(1<<30+ballastBytes), debug.SetMemoryLimit(1<<30))

	t.Setenv("GOGC", "70")
	debug.SetGCPercent(70)
	require.Empty(t, limitMemory(budget), "the user knows better")
	require.Equal(t, int64(1<<30), debug.SetMemoryLimit(-1))
	require.Equal(t, 70, debug.SetGCPercent(70))
}

// heapGoal collects garbage and returns the bytes that live and those at which it
// is collected again.
func heapGoal() (live, goal uint64) {
	runtime.GC()
	samples := []goruntime.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	goruntime.Read(samples)
	return samples[0].Value.Uint64(), samples[1].Value.Uint64()
}

func TestBallastTakesNoMemory(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector writes to memory as it is allocated")
	}
	resident := func() int {
		b, err := os.ReadFile("/proc/self/statm")
		if err != nil {
			t.Skip("only Linux tells")
		}
		pages, err := strconv.Atoi(strings.Fields(string(b))[1])
		require.NoError(t, err)
		return pages * os.Getpagesize()
	}
	runtime.GC()
	debug.FreeOSMemory()
	before := resident()
	ballast := make([]byte, ballastBytes)
	runtime.GC()
	require.Less(t, resident()-before, ballastBytes/4)
	runtime.KeepAlive(ballast)
}
