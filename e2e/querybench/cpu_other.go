//go:build !unix

package main

import "time"

var began = time.Now()

// processorTime is the time since the start, where the system does not tell more.
func processorTime() time.Duration { return time.Since(began) }
