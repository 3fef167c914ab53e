package exec

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/util/stats"

	"github.com/varvedb/varve/promqlx/internal/budget"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// worthSharing is how many samples there must be left to be read for it to pay
// to wake other goroutines.
const worthSharing = 200_000

// parallel tells whether the series from i on are to be shared among workers,
// given what those before took.
func (l *leaf) parallel(i, work int) bool {
	rest := l.series.len() - i
	return l.q.Workers > 1 && rest > 1 && work/i*rest > worthSharing
}

// morsel is a run of series that one worker makes rows of.
type morsel struct {
	rows  []*row.Row
	count int // of rows in use
	err   error
	free  chan struct{} // a worker may fill it
	full  chan struct{} // the consumer may take it
}

// share makes rows of the series from first on by several workers. They are
// emitted in order all the same, so that sums come out the same whoever was
// faster.
func (l *leaf) share(ctx context.Context, first int, work func(*row.Env, scope, *bench) *reader, emit func(*row.Row) error) error {
	size := max(1, min(32, 1<<14/l.scope.N))
	n := (l.series.len() - first + size - 1) / size
	workers := min(l.q.Workers, n)
	ring := make([]morsel, 2*workers)
	bytes := int64(len(ring)) * int64(size) * int64(9*l.scope.N+rowBytes)
	if err := l.q.Meter.Grow(bytes); err != nil {
		return err
	}
	defer l.q.Meter.Shrink(bytes)
	for i := range ring {
		ring[i].free, ring[i].full = make(chan struct{}, 1), make(chan struct{}, 1)
		ring[i].free <- struct{}{}
	}
	within, cancel := context.WithCancel(ctx)
	s := &sharing{leaf: l, first: first, size: size, ring: ring, n: n, ended: within.Done()}
	end := func() {
		cancel()
		s.workers.Wait()
	}
	defer end() // after a panic too: what they read is closed then
	l.q.pass.Leave()
	for k := range workers {
		if err := s.start(within, work, k == 0); err != nil {
			return err
		}
	}
	err := s.consume(emit)
	end()
	if p := s.panicked.Load(); p != nil {
		panic(p)
	}
	s.settle()
	if err == nil && s.consumed < n {
		err = budget.Alive(ctx)
	}
	if err != nil {
		return err
	}
	return l.q.pass.Take(ctx)
}

// sharing is the work of one share.
type sharing struct {
	leaf        *leaf
	first, size int
	ring        []morsel
	n           int // morsels
	next        atomic.Int64
	consumed    int
	ended       <-chan struct{}
	panicked    atomic.Pointer[Panic]

	workers sync.WaitGroup
	envs    []*row.Env
	stats   []*stats.QuerySamples
	readers []*reader
}

// start starts one more worker, if it is needed or there is a place for it.
func (s *sharing) start(ctx context.Context, work func(*row.Env, scope, *bench) *reader, needed bool) (err error) {
	l := s.leaf
	place, ok := l.q.Gate.Try()
	if !ok && !needed {
		return nil
	}
	if !ok {
		if place, err = l.q.Gate.Enter(ctx); err != nil {
			return err
		}
	}
	started := false
	defer func() {
		if !started { // on a panic
			place.Leave()
		}
	}()
	env, own := l.q.env(l.scope.Grid), l.scope.fork()
	r := work(env, own, l.q.Memory.getBench())
	s.envs, s.stats, s.readers = append(s.envs, env), append(s.stats, own.stats), append(s.readers, r)
	started = true
	s.workers.Go(func() {
		defer place.Leave()
		s.work(ctx, place, r)
	})
	return nil
}

// work fills one free morsel after the other.
func (s *sharing) work(ctx context.Context, place *budget.Pass, r *reader) {
	for {
		k := int(s.next.Add(1) - 1)
		if k >= s.n {
			return
		}
		m := &s.ring[k%len(s.ring)]
		select {
		case <-m.free:
		case <-s.ended:
			return
		}
		if m.err = place.Yield(ctx); m.err == nil {
			m.err = s.fill(r, m, k)
		}
		m.full <- struct{}{}
	}
}

// Panic is what Run panics with if one of its goroutines did.
type Panic struct {
	Value any
	Stack []byte // of that goroutine
}

// Error implements error.
func (p *Panic) Error() string { return fmt.Sprint(p.Value) }

// fill makes the rows of morsel k. A panic is an error, until the goroutine of the
// query meets it: here it would end the process.
func (s *sharing) fill(r *reader, m *morsel, k int) (err error) {
	defer func() {
		if v := recover(); v != nil {
			p := &Panic{v, debug.Stack()}
			s.panicked.CompareAndSwap(nil, p)
			m.count, err = 0, p
		}
	}()
	m.count = 0
	from := s.first + k*s.size
	for i := from; i < min(from+s.size, s.leaf.series.len()); i++ {
		if m.count == len(m.rows) {
			m.rows = append(m.rows, row.New(s.leaf.scope.N))
		}
		out := m.rows[m.count]
		out.Reset()
		if err := r.row(i, out); err != nil {
			return err
		}
		if !out.Empty() {
			m.count++
		}
	}
	return nil
}

func (s *sharing) consume(emit func(*row.Row) error) error {
	for k := range s.n {
		m := &s.ring[k%len(s.ring)]
		select {
		case <-m.full:
		case <-s.ended:
			return nil
		}
		for _, r := range m.rows[:m.count] {
			if err := emit(r); err != nil {
				return err
			}
		}
		if m.err != nil {
			return m.err
		}
		s.consumed++
		m.free <- struct{}{}
	}
	return nil
}

// settle counts what the workers counted.
func (s *sharing) settle() {
	for i, env := range s.envs {
		s.leaf.q.note(env)
		s.leaf.scope.join(s.stats[i])
		s.leaf.count(s.readers[i])
		s.leaf.q.Memory.putBench(s.readers[i].bench)
	}
}
