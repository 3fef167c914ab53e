package budget

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/prometheus/prometheus/promql"
)

// Limits say how much queries may hold. Zero or less means no limit.
type Limits struct {
	// Memory is the bytes of all queries together.
	Memory int64
	// QueryMemory is the bytes of one.
	QueryMemory int64
	// Samples is how many samples one query may hold at a time.
	Samples int64
}

// withDefaults writes no limit as one that is never met.
func (l Limits) withDefaults() Limits {
	if l.Memory <= 0 {
		l.Memory = math.MaxInt64
	}
	if l.QueryMemory <= 0 {
		l.QueryMemory = math.MaxInt64
	}
	if l.Samples <= 0 {
		l.Samples = math.MaxInt64
	}
	return l
}

// Pool is the memory that queries share. It is safe for concurrent use.
type Pool struct {
	limits Limits

	mu struct {
		sync.Mutex
		reserved int64
		line     []*waiter // who waits in Admit, the first first
	}
}

// waiter is a query in line.
type waiter struct {
	meter   *Meter
	need    int64
	granted chan struct{} // closed when the reservation has been made
}

// NewPool returns a pool of which nothing is taken.
func NewPool(l Limits) *Pool { return &Pool{limits: l.withDefaults()} }

// Meter returns the meter of a new query. It must be released when the query,
// its result included, is done with.
func (p *Pool) Meter() *Meter {
	m := new(Meter)
	p.Join(m)
	return m
}

// Join makes m, a zero Meter, what Pool.Meter returns, for who has a place for it.
func (p *Pool) Join(m *Meter) { m.pool = p }

// Reserved is how many bytes are taken by queries or kept for them.
func (p *Pool) Reserved() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.reserved
}

// Waiting is how many queries wait for memory.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.line)
}

// wait reserves need bytes for m as soon as it is m's turn and they are free.
func (p *Pool) wait(ctx context.Context, m *Meter, need int64) error {
	p.mu.Lock()
	if len(p.mu.line) == 0 && need <= p.freeLocked() {
		p.giveLocked(m, need)
		p.mu.Unlock()
		return nil
	}
	w := &waiter{meter: m, need: need, granted: make(chan struct{})}
	p.mu.line = append(p.mu.line, w)
	p.mu.Unlock()
	select {
	case <-w.granted:
		return nil
	case <-ctx.Done():
	}
	p.leave(w)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &QueueError{Needs: need, Limit: p.limits.Memory}
	}
	return promql.ErrQueryCanceled(queue)
}

// leave takes w out of the line, if it is still there: behind it may stand one
// that needs less. What was granted meanwhile goes with the meter.
func (p *Pool) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, other := range p.mu.line {
		if other == w {
			p.mu.line = append(p.mu.line[:i], p.mu.line[i+1:]...)
			p.serveLocked()
			return
		}
	}
}

// takeLocked reserves at least need bytes for m, up to more if they are there, or
// reports false.
func (p *Pool) takeLocked(m *Meter, need, more int64) bool {
	free := min(p.freeLocked(), p.limits.QueryMemory-m.reserved.Load())
	if need > free {
		return false
	}
	p.giveLocked(m, min(max(need, more), free))
	return true
}

// putBackLocked takes n bytes from m and serves those who wait. A worker that
// grows meanwhile has either seen the smaller reservation, or is seen here.
func (p *Pool) putBackLocked(m *Meter, n int64) {
	p.giveLocked(m, -n)
	if short := m.used.Load() - m.reserved.Load(); short > 0 {
		p.giveLocked(m, min(short, n))
	}
	p.serveLocked()
}

func (p *Pool) freeLocked() int64 { return p.limits.Memory - p.mu.reserved }

func (p *Pool) giveLocked(m *Meter, n int64) {
	m.reserved.Add(n)
	p.mu.reserved += n
}

// serveLocked lets those in whose turn it is.
func (p *Pool) serveLocked() {
	for len(p.mu.line) > 0 && p.mu.line[0].need <= p.freeLocked() {
		w := p.mu.line[0]
		p.mu.line[0] = nil
		p.mu.line = p.mu.line[1:]
		p.giveLocked(w.meter, w.need)
		close(w.granted)
	}
}
