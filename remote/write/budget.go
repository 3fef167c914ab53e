package write

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/tsdb"
)

// budget bounds the bytes that requests hold together.
type budget struct {
	limit int64
	used  atomic.Int64
}

// loan is what one request holds of a budget.
type loan struct {
	from *budget
	n    int64
}

// take adds n bytes to the loan, or returns a *tsdb.OverloadError. A request
// alone gets what it asks for: its own limits bound it.
func (l *loan) take(n int) error {
	used := l.from.used.Add(int64(n))
	l.n += int64(n)
	if used <= l.from.limit || used == l.n {
		return nil
	}
	return &tsdb.OverloadError{
		Limit:      fmt.Sprintf("%d bytes of requests in flight", l.from.limit),
		Reason:     "too many writes at once",
		RetryAfter: time.Second,
	}
}

// giveBack ends the loan.
func (l *loan) giveBack() {
	l.from.used.Add(-l.n)
	l.n = 0
}

// turns bounds how many requests are decoded at once. It is work for processors
// only, so that more of them than processors would just hold memory.
type turns chan struct{}

func newTurns() turns { return make(turns, runtime.GOMAXPROCS(0)+1) }

// take waits for a turn, or until ctx ends.
func (t turns) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turns) giveBack() { <-t }
