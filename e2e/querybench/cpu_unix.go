//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is what the process has taken so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err) // it is asked for itself, which exists
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
