package budget

import (
	"fmt"
	"strconv"

	"github.com/prometheus/prometheus/promql"
)

// The flags that set the limits, as errors name them.
const (
	FlagMemory      = "--query.max-memory"
	FlagQueryMemory = "--query.max-memory-per-query"
)

// MemoryError says that a query needs more memory than it may have. Another
// attempt helps only if Missing is not 0.
type MemoryError struct {
	Needs int64 // bytes, at least
	Limit int64 // bytes that were exceeded, of one query or of all
	Flag  string
	// Missing is how many bytes other queries had taken of what was needed, if the
	// limit is that of all queries together.
	Missing int64
}

// Error names what was needed, the limit and its flag.
func (e *MemoryError) Error() string {
	if e.Missing > 0 {
		return fmt.Sprintf("query needs at least %s of memory, of which other queries leave it no more than %s (limit of all queries: %s, %s)",
			sizeUp(e.Needs), sizeDown(e.Needs-e.Missing), sizeDown(e.Limit), e.Flag)
	}
	return fmt.Sprintf("query needs at least %s of memory (limit: %s, %s)", sizeUp(e.Needs), sizeDown(e.Limit), e.Flag)
}

// queue is where a query was, in Prometheus' words, when it waited for too long.
const queue = "query queue"

// QueueError says that a query's time ran out while it waited for memory that
// other queries hold. It is a promql.ErrQueryTimeout.
type QueueError struct {
	Needs int64 // bytes it waited for
	Limit int64 // bytes of all queries together
}

// Error names what was needed, the limit and its flag.
func (e *QueueError) Error() string {
	return fmt.Sprintf("%v: waited for %s of memory (limit of all queries: %s, %s)", e.Unwrap(), sizeUp(e.Needs), sizeDown(e.Limit), FlagMemory)
}

// Unwrap returns promql.ErrQueryTimeout.
func (e *QueueError) Unwrap() error { return promql.ErrQueryTimeout(queue) }

// tooLarge is the error of a query that will not fit, whatever the others do.
func (p *Pool) tooLarge(needs int64) error {
	if p.limits.Memory < p.limits.QueryMemory {
		return &MemoryError{Needs: needs, Limit: p.limits.Memory, Flag: FlagMemory}
	}
	return &MemoryError{Needs: needs, Limit: p.limits.QueryMemory, Flag: FlagQueryMemory}
}

// noneLeftLocked is the error of a query for which need bytes more are not free.
func (p *Pool) noneLeftLocked(needs, need int64) error {
	if needs > min(p.limits.QueryMemory, p.limits.Memory) {
		return p.tooLarge(needs)
	}
	return &MemoryError{Needs: needs, Limit: p.limits.Memory, Flag: FlagMemory, Missing: need - max(0, p.freeLocked())}
}

// sizeUp writes bytes in units of 1024, rounded up, so that what is above a limit
// also looks so.
func sizeUp(n int64) string {
	unit, name := unitOf(n)
	return strconv.FormatInt((n-1)/unit+1, 10) + name
}

// sizeDown is sizeUp, rounded down.
func sizeDown(n int64) string {
	unit, name := unitOf(n)
	return strconv.FormatInt(n/unit, 10) + name
}

// unitOf returns the unit in which n has two digits at least.
func unitOf(n int64) (bytes int64, name string) {
	switch {
	case n >= 10<<30:
		return 1 << 30, " GiB"
	case n >= 10<<20:
		return 1 << 20, " MiB"
	case n >= 10<<10:
		return 1 << 10, " KiB"
	}
	return 1, " bytes"
}
