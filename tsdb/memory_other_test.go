//go:build !linux

package tsdb_test

import (
	"runtime"
	"time"
)

func cpuTime() time.Duration { return 0 }

func memory() (heap, resident int64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc), 0
}
