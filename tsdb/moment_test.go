package tsdb_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// Each request writes the same to several series, each delete is of all of them, and
// the head is flushed and merged meanwhile: at any moment the series are equal, and
// Views of one moment show the same, however late they are opened.
func TestMomentsAmongWriters(t *testing.T) {
	ctx := context.Background()
	opts := quiet()
	opts.FlushBytes, opts.MemoryBudget = 64<<10, 1<<30
	opts.Events = &tsdb.Events{Corrupted: func(err error) { t.Errorf("damage: %v", err) }}
	db := openOn(t, vfs.NewMem(), opts)
	const series, filling = 8, 100 // between two: they are in shards of their own
	all := make([]tsdb.Series, series*filling)
	b := db.Batch()
	for i := range all {
		kind := "one"
		if i%filling != 0 {
			kind = "fill"
		}
		s, err := b.Series(labels.FromStrings("kind", kind, "id", fmt.Sprint(i)))
		require.NoError(t, err)
		all[i] = s
	}
	b.Discard()
	kind := labels.MustNewMatcher(labels.MatchEqual, "kind", "one")
	var stop atomic.Bool
	var wg sync.WaitGroup
	var acked atomic.Int64 // the newest time of the first writer
	for w := range int64(2) {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(w)))
			for i := int64(1); !stop.Load(); i++ {
				b := db.Batch()
				at := i * 2
				if w == 1 {
					at = rng.Int64N(2 * i)
				}
				for k := 0; k < len(all); k += filling {
					s := all[k]
					if !b.Live(s) {
						s, _ = b.Series(labels.FromStrings("kind", "one", "id", fmt.Sprint(k)))
					}
					if err := b.Float(s, 0, someTime+at, float64(w<<40+i)); err != nil {
						t.Error(err)
					}
				}
				if err := b.Commit(ctx); err != nil {
					t.Error(err)
				}
				if w == 0 {
					acked.Store(someTime + at)
				}
			}
		})
	}
	wg.Go(func() {
		rng := rand.New(rand.NewPCG(2, 0))
		for i := int64(0); !stop.Load(); i++ {
			newest := max(someTime, acked.Load())
			at := someTime + rng.Int64N(newest-someTime+1)
			if err := db.Delete(ctx, at, min(at+100, newest-1), kind); err != nil {
				t.Error(err)
			}
			if i%4 == 0 {
				if err := db.ForceFlush(ctx); err != nil {
					t.Error(err)
				}
			}
			if i%16 == 0 {
				if err := db.ForceMerge(ctx); err != nil {
					t.Error(err)
				}
			}
		}
	})
	for deadline, n := time.Now().Add(time.Second), 0; time.Now().Before(deadline); n++ {
		newest := acked.Load()
		m, err := db.Moment()
		require.NoError(t, err)
		first := samplesOf(t, m, kind)
		for range n % 3 {
			time.Sleep(time.Millisecond)
		}
		second := samplesOf(t, m, kind)
		m.Close()
		require.Equal(t, first, second)
		for i := range first {
			require.Equal(t, first[0], first[i])
		}
		if newest > 0 {
			require.Len(t, first, series)
			last := first[0].T[len(first[0].T)-1]
			require.GreaterOrEqual(t, last, newest)
		}
	}
	stop.Store(true)
	wg.Wait()
	require.NoError(t, db.Close())
	_, err := db.Moment()
	require.ErrorIs(t, err, tsdb.ErrClosed)
}

// A delete of what is in a part and in the head is seen in both or in none.
func TestDeleteIsOfOneMoment(t *testing.T) {
	ctx := context.Background()
	db := openOn(t, vfs.NewMem(), quiet())
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for !stop.Load() {
				m, err := db.Moment()
				if err != nil {
					t.Error(err)
					return
				}
				got := samplesOf(t, m, matchID("a"))
				m.Close()
				if len(got) == 0 {
					continue
				}
				is := map[int64]bool{}
				for _, at := range got[0].T {
					is[at-someTime] = true
				}
				for round := int64(0); is[round*10+2]; round++ {
					if is[round*10] != is[round*10+1] {
						t.Errorf("round %d: in the part %v, in the head %v", round, is[round*10], is[round*10+1])
						return
					}
				}
			}
		})
	}
	for at := someTime; at < someTime+100*10; at += 10 {
		require.NoError(t, put(db, "a", 0, at, 1))
		require.NoError(t, db.ForceFlush(ctx))
		require.NoError(t, put(db, "a", 0, at+1, 2))
		require.NoError(t, put(db, "a", 0, at+2, 3))
		require.NoError(t, db.Delete(ctx, at, at+1, matchID("a")))
	}
	stop.Store(true)
	wg.Wait()
	require.NoError(t, db.Close())
}

func samplesOf(t *testing.T, m *tsdb.Moment, ms ...*labels.Matcher) []tsdb.Samples {
	t.Helper()
	v, err := m.Select(context.Background(), 0, math.MaxInt64, ms...)
	require.NoError(t, err)
	defer v.Close()
	out := make([]tsdb.Samples, v.Len())
	for i := range out {
		require.NoError(t, v.Read(i, 0, math.MaxInt64, &out[i]))
	}
	return out
}
