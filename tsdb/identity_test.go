package tsdb_test

import (
	"context"
	"fmt"
	"math"
	oldrand "math/rand"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
)

// churner writes series that come and go, with values that tell whose they are.
type churner struct {
	worker int
	rng    *rand.Rand
	known  map[int]tsdb.Series // kept for ever, as caches of senders do
	acked  map[int]int         // samples by series
}

func churnLabels(worker, i int) labels.Labels {
	return labels.FromStrings("__name__", "m", "i", strconv.Itoa(i), "w", strconv.Itoa(worker))
}

func churnValue(worker, i, n int) float64 { return float64(worker*1e9 + i*1e4 + n) }

func (c *churner) write(db *tsdb.DB, round int) error {
	b := db.Batch()
	var used []int
	for range 1 + c.rng.IntN(30) {
		i := round/3*20 + c.rng.IntN(60) // a window that moves on
		if c.rng.IntN(20) == 0 {
			i = c.rng.IntN(i + 1) // and some that come back
		}
		s, ok := c.known[i]
		if !ok || !b.Live(s) {
			var err error
			if s, err = b.Series(churnLabels(c.worker, i)); err != nil {
				b.Discard()
				return err
			}
			c.known[i] = s
		}
		n := c.acked[i]
		if err := b.Float(s, 0, someTime+int64(n), churnValue(c.worker, i, n)); err != nil {
			b.Discard()
			return err
		}
		c.acked[i]++
		used = append(used, i)
	}
	err := b.Commit(context.Background())
	if err != nil {
		for _, i := range used {
			c.acked[i]--
		}
	}
	return err
}

// requireChurned reads everything: each series has its own samples, all of them
// if it is known how many; more where some were refused that came in all the same.
func requireChurned(db *tsdb.DB, want []*churner, more bool) error {
	v, err := db.Select(context.Background(), 0, math.MaxInt64)
	if err != nil {
		return err
	}
	defer v.Close()
	got := map[string]int{}
	for k := range v.Len() {
		lset := v.Labels(k)
		w, _ := strconv.Atoi(lset.Get("w"))
		i, _ := strconv.Atoi(lset.Get("i"))
		n := 0
		c := v.Cursor(k, 0, math.MaxInt64)
		for c.Next() {
			s := c.Span()
			for q := range s.Count {
				if s.Time(q) != someTime+int64(n) || s.Float(q) != churnValue(w, i, n) {
					return fmt.Errorf("%s: sample %d is %v at %d, want %v at %d", lset, n, s.Float(q), s.Time(q)-someTime, churnValue(w, i, n), n)
				}
				n++
			}
		}
		if c.Err() != nil {
			return c.Err()
		}
		if _, twice := got[lset.String()]; twice {
			return fmt.Errorf("%s comes twice", lset)
		}
		got[lset.String()] = n
	}
	for _, c := range want {
		for i, n := range c.acked {
			if l := churnLabels(c.worker, i).String(); got[l] < n || got[l] > n && !more {
				return fmt.Errorf("%s: got %d samples, want %d", l, got[l], n)
			}
		}
	}
	return nil
}

// Series come and go under the hands of many writers while the head is sealed,
// its slots given to others, flushed and merged, and the power goes: nobody ever
// finds a sample of another one, and none is missing.
func TestChurnKeepsSamplesApart(t *testing.T) {
	ctx := context.Background()
	seeds, rounds := uint64(6), 150
	if testing.Short() || raceDetector {
		seeds, rounds = 1, 40
	}
	for seed := range seeds {
		mem := vfs.NewMem()
		opts := quiet()
		opts.Sync = tsdb.SyncAlways()
		db := openOn(t, mem, opts)
		writers := make([]*churner, 4)
		for w := range writers {
			writers[w] = &churner{worker: w, rng: rand.New(rand.NewPCG(seed, uint64(w))), known: map[int]tsdb.Series{}, acked: map[int]int{}}
		}
		for life := range 3 {
			var wg, side sync.WaitGroup
			var stop atomic.Bool
			for _, c := range writers {
				wg.Go(func() {
					for round := range rounds {
						if err := c.write(db, life*rounds+round); err != nil {
							t.Errorf("seed %d: write: %v", seed, err)
							return
						}
					}
				})
			}
			side.Go(func() {
				for k := 0; !stop.Load(); k++ {
					var err error
					if err = db.ForceFlush(ctx); k%7 == 6 && err == nil {
						err = db.ForceMerge(ctx)
					}
					if err != nil {
						t.Errorf("seed %d: job: %v", seed, err)
						return
					}
				}
			})
			side.Go(func() {
				for !stop.Load() {
					if err := requireChurned(db, nil, false); err != nil {
						t.Errorf("seed %d: read: %v", seed, err)
						return
					}
				}
			})
			wg.Wait()
			stop.Store(true)
			side.Wait()
			require.NoError(t, requireChurned(db, writers, false), "seed %d", seed)
			if t.Failed() {
				return
			}
			after := mem.CrashClone(oldrand.New(oldrand.NewSource(int64(seed))), 0.5)
			require.NoError(t, db.Close())
			mem = after
			db = openOn(t, mem, opts)
			for _, c := range writers {
				c.known = map[int]tsdb.Series{}
			}
			require.NoError(t, requireChurned(db, writers, false), "seed %d after a crash", seed)
		}
		require.NoError(t, db.Close())
	}
}

// Any operation of the disk may fail at any time, for a while, and the power go:
// what was acknowledged stays, whatever merges, flushes and deletes were cut off.
func TestRandomFailuresLoseNothing(t *testing.T) {
	ctx := context.Background()
	seeds, rounds := uint64(12), 60
	if testing.Short() || raceDetector {
		seeds, rounds = 1, 20
	}
	for seed := range seeds {
		mem := vfs.NewMem()
		writers := make([]*churner, 2)
		for w := range writers {
			writers[w] = &churner{worker: w, rng: rand.New(rand.NewPCG(seed, uint64(w))), acked: map[int]int{}}
		}
		for life := range 4 {
			fault := vfs.NewFault(mem)
			opts := quiet()
			opts.Sync = tsdb.SyncAlways()
			db := openOn(t, fault, opts)
			require.NoError(t, requireChurned(db, writers, true), "seed %d life %d", seed, life)
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, uint64(100+life)))
			rate := []int{20, 100, 400}[rng.IntN(3)]
			fault.ShortWrites(rng.IntN(2) == 0)
			fault.FailIf(func(op vfs.Op) error {
				mu.Lock()
				defer mu.Unlock()
				if op.Kind != vfs.OpRead && op.Kind != vfs.OpReadAt && op.Kind != vfs.OpClose && rng.IntN(rate) == 0 {
					return vfs.ErrInjected
				}
				return nil
			})
			var wg, side sync.WaitGroup
			var stop atomic.Bool
			for _, c := range writers {
				c.known = map[int]tsdb.Series{}
				wg.Go(func() {
					for round := range rounds {
						for try := 0; try < 200 && c.write(db, life*rounds+round) != nil; try++ {
							runtime.Gosched()
						}
					}
				})
			}
			side.Go(func() {
				for k := 0; !stop.Load(); k++ {
					switch k % 5 {
					case 3:
						_ = db.ForceMerge(ctx)
					case 4: // of nothing that is there
						_ = db.Delete(ctx, 0, someTime-1, labels.MustNewMatcher(labels.MatchRegexp, "i", ".*"))
						_ = db.CleanTombstones(ctx)
					default:
						_ = db.ForceFlush(ctx)
					}
				}
			})
			wg.Wait()
			var after *vfs.Mem
			if life%2 == 0 {
				after = mem.CrashClone(oldrand.New(oldrand.NewSource(int64(seed))), 0.5)
			}
			stop.Store(true)
			side.Wait()
			fault.Clear()
			require.NoError(t, requireChurned(db, writers, true), "seed %d life %d, at the end", seed, life)
			if after != nil {
				mem = after
				_ = db.Close()
				continue
			}
			require.NoError(t, db.ForceFlush(ctx))
			require.NoError(t, db.Close(), "seed %d life %d", seed, life)
		}
	}
}
