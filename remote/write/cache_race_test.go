package write

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCacheNeverAnswersForAnother looks for a key that is not there while
// another one takes the very slot where the search ends.
func TestCacheNeverAnswersForAnother(t *testing.T) {
	c := newCache(1)
	mine, others := key{a: cacheShards, b: 1}, key{a: 2 * cacheShards, b: 2} // of one slot
	var stop atomic.Bool
	var wrong atomic.Uint64
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				if got := c.get(mine); got != 0 {
					wrong.Store(uint64(got))
					return
				}
			}
		})
	}
	for i := 0; i < 300_000 && wrong.Load() == 0; i++ {
		c.shards[0].young.Store(newCacheTable(minCacheSlots))
		c.put(others, 7)
	}
	stop.Store(true)
	wg.Wait()
	require.Zero(t, wrong.Load(), "the series of another key")
}
