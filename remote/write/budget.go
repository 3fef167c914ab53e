package write

import (
	"fmt"
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
