package budget

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/stretchr/testify/require"
)

// No more are behind the gate than it has places for, and who is long there lets
// others go first.
func TestGateTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(2)
		var inside, most, done atomic.Int64
		var wg sync.WaitGroup
		var shortest time.Duration
		start := time.Now()
		for i := range 6 {
			wg.Go(func() {
				p, err := g.Enter(t.Context())
				require.NoError(t, err)
				for range 1 + 100*min(i, 1)*1 {
					n := inside.Add(1)
					for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
					}
					time.Sleep(time.Millisecond)
					inside.Add(-1)
					require.NoError(t, p.Yield(t.Context()))
				}
				p.Leave()
				if done.Add(1) == 1 {
					shortest = time.Since(start)
				}
			})
		}
		wg.Wait()
		require.LessOrEqual(t, most.Load(), int64(2))
		require.Less(t, shortest, 30*time.Millisecond, "the short one does not wait for those of 100 ms")
	})
}

func TestGateEnds(t *testing.T) {
	g := NewGate(1)
	p, err := g.Enter(t.Context())
	require.NoError(t, err)
	_, ok := g.Try()
	require.False(t, ok)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = g.Enter(ctx)
	require.Equal(t, promql.ErrQueryCanceled("expression evaluation"), err)
	p.Leave()
	p.Leave() // more than once is fine
	again, ok := g.Try()
	require.True(t, ok)
	again.Leave()
	var none *Gate
	free, err := none.Enter(ctx)
	require.NoError(t, err)
	require.NoError(t, free.Yield(ctx))
	free.Leave()
}
