package tsdb_test

import (
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
)

// cpuTime returns what the process has used of the processors: on a machine with
// other work it says more than the time that went by.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// memory returns the bytes in use on the Go heap and the most that the process
// was resident with.
func memory() (heap, resident int64) {
	debug.FreeOSMemory()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0, 0
	}
	return int64(m.HeapAlloc), u.Maxrss << 10
}
