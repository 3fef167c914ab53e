//go:build unix

package index

import (
	"syscall"
	"time"
)

// cpuTime returns what the process has used of the processors: on a machine with
// other work it says more than the time that went by.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
