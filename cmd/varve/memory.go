package main

import (
	"math"
	"os"
	"runtime/debug"
	goruntime "runtime/metrics"
	"strconv"
	"strings"
)

// memoryLimit returns the bytes of memory that this process may use: the
// container's limit if it has one, else the machine's memory; 4 GiB where
// neither can be told.
func memoryLimit() int64 {
	limit := int64(math.MaxInt64)
	for _, name := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && n > 0 {
			limit = min(limit, n)
		}
	}
	if n := machineMemory(); n > 0 {
		limit = min(limit, n)
	}
	if limit == math.MaxInt64 {
		return 4 << 30
	}
	return limit
}

func machineMemory() int64 {
	b, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "MemTotal:" {
			kib, _ := strconv.ParseInt(fields[1], 10, 64)
			return kib << 10
		}
	}
	return 0
}

// collectPercent is the garbage collector's goal unless the user set GOGC: half
// of Go's default costs about a tenth more processor time while samples are
// written and saves a quarter of the memory.
const collectPercent = 50

// ballastBytes are never touched, so that they take no memory, but count as live:
// what may be allocated between two collections is collectPercent of them more. A
// store whose samples lie outside the heap has a small one, and queries would
// collect garbage all the time: each 4 MiB, at a third of their processor time.
const ballastBytes = 64 << 20

// limitMemory keeps the garbage collector from outgrowing what the process may
// use, and from working too often; unless the user set GOMEMLIMIT or GOGC. Samples
// up to the budget lie outside its heap, so the two share the memory; a tenth is
// left for all else. The bytes it returns are to be kept for as long as that is to
// hold.
func limitMemory(budget int64) (ballast []byte) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(collectPercent)
		ballast = make([]byte, ballastBytes)
	}
	limit := debug.SetMemoryLimit(-1)
	if os.Getenv("GOMEMLIMIT") == "" {
		limit = heapLimit(memoryLimit(), budget)
	}
	if limit < math.MaxInt64-ballastBytes {
		limit += int64(len(ballast)) // which counts, but takes none
	}
	debug.SetMemoryLimit(limit)
	return ballast
}

// heapLimit is what of a process' memory is left to the garbage collected heap.
func heapLimit(all, budget int64) int64 {
	return max(all/10*9-budget, all/4)
}

// spareMemory is how much of the heap may lie idle after a job without it being
// worth a collection to give it back.
const spareMemory = 64 << 20

// giveBack returns memory to the system that a large job used and that nobody does
// any more. The runtime alone would take minutes, and keep as much as the job's
// garbage allows.
func giveBack() {
	if idleHeap() > spareMemory {
		debug.FreeOSMemory()
	}
}

// idleHeap returns the bytes of the heap that were not in use when garbage was
// last collected, but had not been returned either.
func idleHeap() int64 {
	samples := []goruntime.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/gc/heap/live:bytes"},
	}
	goruntime.Read(samples)
	held := int64(0)
	for i, s := range samples {
		if s.Value.Kind() != goruntime.KindUint64 {
			return 0
		}
		if n := int64(s.Value.Uint64()); i < 3 {
			held += n
		} else {
			held -= n
		}
	}
	return held
}
