package tsdb

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb/internal/head"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := &DB{opts: Options{MemoryBudget: 100}, head: head.New()}
		ctx, cancel := context.WithCancel(context.Background())
		// f works for a while, with requests meanwhile, and tells how long the rest was.
		f := func(p *pacer, work time.Duration, requests uint64) time.Duration {
			time.Sleep(work)
			db.stats.requests.Add(requests)
			began := time.Now()
			require.NoError(t, p.rest())
			return time.Since(began)
		}
		p := db.pace(ctx)
		require.Zero(t, f(p, 4*time.Millisecond, 1), "too little work")
		require.Equal(t, 20*time.Millisecond, f(p, 16*time.Millisecond, 1))
		require.Equal(t, paceRest, f(p, time.Hour, 1))
		require.Zero(t, f(p, time.Hour, 0), "nobody else is there")
		done := db.hurried()
		require.Zero(t, f(p, time.Hour, 1), "someone waits")
		done()
		require.Equal(t, paceRest, f(p, time.Hour, 1))
		db.opts.MemoryBudget = 0
		require.Zero(t, f(p, time.Hour, 1), "the memory is used up")
		cancel()
		require.ErrorIs(t, p.rest(), context.Canceled)
	})
}
