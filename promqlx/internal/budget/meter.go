package budget

import (
	"context"
	"sync/atomic"

	"github.com/prometheus/prometheus/promql"
)

// chunkBytes is what a query takes from the pool at least when it grows, and
// keeps when it shrinks, so that it asks the pool seldom.
const chunkBytes = 256 << 10

// Meter counts what one query holds. All of it may be called by several workers
// of the query at once and costs an atomic addition or two; call it for a series
// or for some 64 KiB, not for a sample. A nil Meter counts nothing and has no
// limits.
type Meter struct {
	pool *Pool

	used, peak           atomic.Int64
	reserved             atomic.Int64 // written by holders of pool.mu
	admitted             atomic.Int64 // written by holders of pool.mu
	samples, peakSamples atomic.Int64
}

// Admit reserves n bytes in all, an estimate of what the query will use at its
// peak, and waits for them until ctx ends. It is to be called before the query
// holds anything of size, because what it holds is not free for those it waits
// for; a second call does not wait.
//
// Its errors are a *MemoryError if the query will never fit, a *QueueError if its
// time ran out in line, and promql.ErrQueryCanceled if ctx was canceled.
func (m *Meter) Admit(ctx context.Context, n int64) error {
	if m == nil {
		return nil
	}
	p := m.pool
	if n > min(p.limits.QueryMemory, p.limits.Memory) {
		return p.tooLarge(n)
	}
	p.mu.Lock()
	again := m.admitted.Load() > 0
	need := n - m.reserved.Load()
	m.admitted.Store(max(m.admitted.Load(), n, 1))
	if need <= 0 || again {
		defer p.mu.Unlock()
		if need > 0 && !p.takeLocked(m, need, 0) {
			return p.noneLeftLocked(n, need)
		}
		return nil
	}
	p.mu.Unlock()
	return p.wait(ctx, m, need)
}

// Expect is Admit with a guess, which may be too high: of what a query may not hold
// it reserves no more than that, and Grow finds out.
func (m *Meter) Expect(ctx context.Context, n int64) error {
	if m == nil {
		return nil
	}
	return m.Admit(ctx, min(n, m.pool.limits.QueryMemory, m.pool.limits.Memory))
}

// Grow counts n more bytes, or none at all and returns a *MemoryError.
func (m *Meter) Grow(n int64) error {
	if m == nil || n <= 0 {
		return nil
	}
	if limit := m.pool.limits.QueryMemory; n > limit {
		return m.pool.tooLarge(n)
	}
	used := m.used.Add(n)
	if used > m.reserved.Load() {
		if err := m.reserve(); err != nil {
			m.used.Add(-n)
			return err
		}
	}
	raise(&m.peak, used)
	return nil
}

// reserve covers what is used. It is off Grow's way to be small enough there.
func (m *Meter) reserve() error {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	used := m.used.Load()
	need := used - m.reserved.Load()
	if need <= 0 || p.takeLocked(m, need, chunkBytes) {
		return nil
	}
	if used > p.limits.QueryMemory {
		return p.tooLarge(used)
	}
	return p.noneLeftLocked(used, need)
}

// Shrink counts n bytes less. What was admitted stays reserved.
func (m *Meter) Shrink(n int64) {
	if m == nil || n <= 0 {
		return
	}
	used := m.used.Add(-n)
	if used < 0 {
		panic("BUG: a query gave back more memory than it took")
	}
	if m.reserved.Load()-max(used, m.admitted.Load()) > 2*chunkBytes {
		m.trim(chunkBytes, true)
	}
}

// Settle gives back what is reserved but not used, of what was admitted too. It
// is for a query that will not grow any more, but whose result is still held.
func (m *Meter) Settle() {
	if m != nil {
		m.trim(0, false)
	}
}

// Release gives everything back. The meter may be read after, but not charged.
func (m *Meter) Release() {
	if m == nil {
		return
	}
	m.used.Store(0)
	m.samples.Store(0)
	m.trim(0, false)
}

// trim reduces the reservation to slack bytes more than are used, or to what was
// admitted if that is kept and more.
func (m *Meter) trim(slack int64, keepAdmitted bool) {
	p := m.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	want := m.used.Load() + slack
	if keepAdmitted {
		want = max(want, m.admitted.Load())
	}
	if n := m.reserved.Load() - want; n > 0 {
		p.putBackLocked(m, n)
	}
}

// Samples counts n more samples held at a time, or less if n is negative. It
// returns promql.ErrTooManySamples when they are too many, having counted them.
// Histograms count as Prometheus counts them: one for each 16 bytes.
func (m *Meter) Samples(n int64) error {
	if m == nil {
		return nil
	}
	held := m.samples.Add(n)
	raise(&m.peakSamples, held)
	if held > m.pool.limits.Samples {
		return promql.ErrTooManySamples("query execution")
	}
	return nil
}

// Used is the bytes counted now.
func (m *Meter) Used() int64 {
	if m == nil {
		return 0
	}
	return m.used.Load()
}

// Peak is the most bytes that were counted at a time.
func (m *Meter) Peak() int64 {
	if m == nil {
		return 0
	}
	return m.peak.Load()
}

// Held is the samples counted now.
func (m *Meter) Held() int64 {
	if m == nil {
		return 0
	}
	return m.samples.Load()
}

// PeakSamples is the most samples that were counted at a time.
func (m *Meter) PeakSamples() int64 {
	if m == nil {
		return 0
	}
	return m.peakSamples.Load()
}

// raise makes v at least n.
func raise(v *atomic.Int64, n int64) {
	for old := v.Load(); n > old && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}
