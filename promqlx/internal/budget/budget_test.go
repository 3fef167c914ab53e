package budget

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

const mib = 1 << 20

func TestGrowWithinTheLimits(t *testing.T) {
	p := NewPool(Limits{Memory: 10 * mib, QueryMemory: 6 * mib})
	m := p.Meter()
	require.NoError(t, m.Grow(100))
	require.EqualValues(t, chunkBytes, p.Reserved(), "the pool is asked for a chunk")
	require.NoError(t, m.Grow(5*mib))
	require.EqualValues(t, 5*mib+100, m.Used())
	m.Shrink(4 * mib)
	require.EqualValues(t, mib+100, m.Used())
	require.EqualValues(t, 5*mib+100, m.Peak())
	require.EqualValues(t, mib+100+chunkBytes, p.Reserved(), "what shrinks goes back")
	require.NoError(t, m.Grow(0))
	m.Settle()
	require.EqualValues(t, mib+100, p.Reserved())
	m.Release()
	require.Zero(t, p.Reserved())
	require.EqualValues(t, 5*mib+100, m.Peak(), "it may be read after")
}

func TestMemoryErrors(t *testing.T) {
	p := NewPool(Limits{Memory: 40 * mib, QueryMemory: 30 * mib})
	f := func(err error, want MemoryError, text string) {
		t.Helper()
		var got *MemoryError
		require.ErrorAs(t, err, &got)
		require.Equal(t, want, *got)
		require.EqualError(t, err, text)
	}
	a, b := p.Meter(), p.Meter()
	require.NoError(t, a.Grow(30*mib))
	f(a.Grow(1), MemoryError{Needs: 30*mib + 1, Limit: 30 * mib, Flag: FlagQueryMemory},
		"query needs at least 31 MiB of memory (limit: 30 MiB, --query.max-memory-per-query)")
	f(a.Grow(100*mib), MemoryError{Needs: 100 * mib, Limit: 30 * mib, Flag: FlagQueryMemory},
		"query needs at least 100 MiB of memory (limit: 30 MiB, --query.max-memory-per-query)")
	f(b.Grow(12*mib), MemoryError{Needs: 12 * mib, Limit: 40 * mib, Flag: FlagMemory, Missing: 2 * mib},
		"query needs at least 12 MiB of memory, of which other queries leave it no more than 10 MiB (limit of all queries: 40 MiB, --query.max-memory)")
	f(b.Admit(t.Context(), 31*mib), MemoryError{Needs: 31 * mib, Limit: 30 * mib, Flag: FlagQueryMemory},
		"query needs at least 31 MiB of memory (limit: 30 MiB, --query.max-memory-per-query)")
	require.Zero(t, b.Used(), "what fails is not counted")
	require.EqualValues(t, 30*mib, a.Used())
	require.NoError(t, b.Grow(10*mib), "all of what is left")
	c := NewPool(Limits{Memory: 5000}).Meter()
	f(c.Grow(5001), MemoryError{Needs: 5001, Limit: 5000, Flag: FlagMemory}, "query needs at least 5001 bytes of memory (limit: 5000 bytes, --query.max-memory)")
}

func TestNoLimits(t *testing.T) {
	m := NewPool(Limits{}).Meter()
	require.NoError(t, m.Admit(t.Context(), 1<<50))
	require.NoError(t, m.Grow(1<<60))
	require.NoError(t, m.Samples(1<<60))
	m = nil
	require.NoError(t, m.Admit(t.Context(), 1<<50))
	require.NoError(t, m.Grow(1<<60))
	require.NoError(t, m.Samples(1<<60))
	m.Shrink(1 << 60)
	m.Settle()
	m.Release()
	require.Zero(t, m.Used()+m.Peak()+m.Held()+m.PeakSamples())
}

func TestSamples(t *testing.T) {
	m := NewPool(Limits{Samples: 100}).Meter()
	require.NoError(t, m.Samples(100))
	require.NoError(t, m.Samples(-60))
	require.NoError(t, m.Samples(60))
	err := m.Samples(1)
	require.Equal(t, promql.ErrTooManySamples("query execution"), err)
	require.EqualError(t, err, "query processing would load too many samples into memory in query execution")
	require.EqualValues(t, 101, m.PeakSamples())
	require.EqualValues(t, 101, m.Held())
}

func TestGivingBackTooMuchPanics(t *testing.T) {
	m := NewPool(Limits{}).Meter()
	require.NoError(t, m.Grow(1))
	require.Panics(t, func() { m.Shrink(2) })
}

// TestLine: who came first is served first, also where one behind it would fit.
func TestLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Limits{Memory: 100})
		first := p.Meter()
		require.NoError(t, first.Admit(t.Context(), 60))
		var served []string
		admit := func(name string, n int64) *Meter {
			m := p.Meter()
			go func() {
				require.NoError(t, m.Admit(context.Background(), n))
				served = append(served, name)
			}()
			synctest.Wait()
			return m
		}
		large := admit("large", 90)
		small := admit("small", 40)
		require.Equal(t, 2, p.Waiting())
		require.Empty(t, served, "small would fit, but it is not its turn")
		require.NoError(t, first.Grow(70), "a query that runs may have what is free")
		first.Release()
		synctest.Wait()
		require.Equal(t, []string{"large"}, served)
		require.NoError(t, large.Grow(10))
		large.Settle()
		synctest.Wait()
		require.Equal(t, []string{"large", "small"}, served)
		large.Release()
		small.Release()
		require.Zero(t, p.Reserved())
	})
}

func TestExpect(t *testing.T) {
	p := NewPool(Limits{Memory: 10 * mib, QueryMemory: 6 * mib})
	m := p.Meter()
	require.NoError(t, m.Expect(t.Context(), 100*mib))
	require.EqualValues(t, 6*mib, p.Reserved(), "not more than it may hold")
	require.NoError(t, m.Grow(mib))
	m.Settle()
	require.EqualValues(t, mib, p.Reserved())
	require.NoError(t, (*Meter)(nil).Expect(t.Context(), 1))
}

func TestWaitingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Limits{Memory: 20 * mib})
		holder := p.Meter()
		require.NoError(t, holder.Admit(t.Context(), 15*mib))
		require.NoError(t, holder.Admit(t.Context(), 16*mib), "a second call takes what is there")
		require.Error(t, holder.Admit(t.Context(), 21*mib))

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		behind := make(chan error)
		go func() {
			synctest.Wait()
			behind <- p.Meter().Admit(context.Background(), 4*mib)
		}()
		began := time.Now()
		err := p.Meter().Admit(ctx, 10*mib)
		require.Equal(t, time.Minute, time.Since(began))
		require.EqualError(t, err, "query timed out in query queue: waited for 10 MiB of memory (limit of all queries: 20 MiB, --query.max-memory)")
		var timeout promql.ErrQueryTimeout
		require.ErrorAs(t, err, &timeout)
		require.NoError(t, <-behind, "who stood behind it is served")

		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		require.Equal(t, promql.ErrQueryCanceled("query queue"), p.Meter().Admit(ctx, 10*mib))
		require.Zero(t, p.Waiting())
	})
}

// TestManyAtOnce holds the invariants while queries come and go.
func TestManyAtOnce(t *testing.T) {
	p := NewPool(Limits{Memory: 8 * mib, QueryMemory: 4 * mib})
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for range 50 {
				m := p.Meter()
				if m.Admit(t.Context(), r.Int64N(4*mib)) == nil {
					work(t, p, m, r.Uint64())
				}
				m.Release()
			}
		})
	}
	wg.Wait()
	require.Zero(t, p.Reserved())
	require.Zero(t, p.Waiting())
}

// work lets two workers of a query grow and shrink.
func work(t *testing.T, p *Pool, m *Meter, seed uint64) {
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			held := int64(0)
			for range 100 {
				if n := r.Int64N(200 << 10); r.IntN(2) == 0 && held >= n {
					m.Shrink(n)
					held -= n
				} else if m.Grow(n) == nil {
					held += n
				}
				if n := p.Reserved(); n > 8*mib {
					t.Errorf("%d bytes are reserved", n)
				}
			}
		})
	}
	wg.Wait()
	if m.Used() > m.reserved.Load() || m.reserved.Load() > 4*mib {
		t.Errorf("%d bytes are reserved for %d", m.reserved.Load(), m.Used())
	}
}

func BenchmarkGrow(b *testing.B) {
	m := NewPool(Limits{Memory: 100 * mib}).Meter()
	for b.Loop() {
		_ = m.Grow(1000)
		m.Shrink(1000)
	}
}
