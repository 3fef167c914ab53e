package tsdb_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/block"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// burst writes a scrape of one series at a time for a while: what real senders
// do, late now and then.
func (d *driver) burst() {
	lset := d.draw.Labels()
	from, step := d.draw.Time(), []int64{1000, 15000, 60000, 15000}[d.rng.IntN(4)]
	n := 1 + d.rng.IntN([]int{20, 300, 1500}[d.rng.IntN(3)])
	v, scale := float64(d.rng.IntN(1000)), []float64{1, 1, 10, 1000, 3}[d.rng.IntN(5)]
	counter := d.rng.IntN(2) == 0
	b := d.db.Batch()
	s, err := b.Series(lset)
	d.require(err)
	var added []tsdbtest.Sample
	for i := range n {
		x := tsdbtest.Sample{T: from + int64(i)*step, V: v / scale}
		switch {
		case d.rng.IntN(400) == 0:
			x.V = d.draw.Float()
		case d.rng.IntN(200) == 0:
			x.T += d.rng.Int64N(step / 2)
		}
		if v += float64(d.rng.IntN(7) - 3); counter {
			v += 3
		}
		d.require(b.Float(s, x.ST, x.T, x.V))
		added = append(added, x)
	}
	d.note("burst %s %d from %d step %d", lset, n, from, step)
	d.require(b.Commit(context.Background()))
	d.model.Append(lset, added...)
}

// checkStats holds every statistic that a View knows of a span, before its values
// are loaded, to what the values give.
func (d *driver) checkStats() {
	v, err := d.db.Select(context.Background(), 0, d.draw.MaxT+2*day)
	d.require(err)
	defer v.Close()
	for i := range v.Len() {
		for c := v.Cursor(i, 0, d.draw.MaxT+2*day); c.Next(); {
			s := c.Span()
			if s.Kind != tsdb.KindFloat {
				continue
			}
			plain := tsdb.Span{Kind: s.Kind, Count: s.Count, Start: s.MinT(), Step: 1}
			for k := range s.Count {
				plain.Floats = append(plain.Floats, s.Float(k))
			}
			for range 5 {
				lo := d.rng.IntN(s.Count)
				hi := lo + 1 + d.rng.IntN(s.Count-lo)
				for op := block.StatCount; op <= block.StatIncrease; op++ {
					got, exact := s.Stat(op, lo, hi)
					want, ok := plain.Stat(op, lo, hi)
					if exact {
						require.True(d.t, ok, "seed %d: op %d of [%d,%d)", d.seed, op, lo, hi)
						require.Equal(d.t, math.Float64bits(want), math.Float64bits(got), "seed %d: op %d of [%d,%d) of %d", d.seed, op, lo, hi, s.Count)
					}
				}
			}
		}
	}
}

// snapshot makes one and opens it: it has what the store has.
func (d *driver) snapshot() {
	d.note("snapshot")
	name, err := d.db.Snapshot(context.Background())
	d.require(err)
	db, err := tsdb.Open("store/snapshots/"+name, d.opts)
	d.require(err)
	got, err := tsdbtest.Dump(context.Background(), db, 0, d.draw.MaxT+2*day)
	d.require(err)
	require.Equal(d.t, d.model.Dump(0, d.draw.MaxT+2*day), got, "seed %d", d.seed)
	d.require(db.Close())
}

// jobs merges, cleans, tidies and scrubs without a pause until stop.
func jobs(t *testing.T, db *tsdb.DB, rng *rand.Rand, stop chan struct{}) {
	ctx := context.Background()
	for {
		select {
		case <-stop:
			return
		default:
		}
		var err error
		switch rng.IntN(5) {
		case 0:
			err = db.CleanTombstones(ctx)
		case 1:
			err = db.Tidy(ctx)
		case 2:
			err = db.Scrub(ctx)
		default:
			err = db.ForceMerge(ctx)
		}
		if err != nil && !errors.Is(err, tsdb.ErrClosed) {
			t.Errorf("job: %v", err)
			return
		}
		time.Sleep(time.Duration(rng.IntN(3)) * time.Millisecond)
	}
}

// As TestStoreEqualsModel, over months of late data, while merges and all other
// jobs run beside what is written, flushed, deleted and cut off.
func TestStoreEqualsModelBesideJobs(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() || raceDetector {
		seeds = 2
	}
	for seed := range seeds {
		d := newDriver(t, 1000+seed)
		d.opts.FailOnDamage, d.opts.ScrubRate = seed%2 == 0, 1<<40
		d.draw.MaxT = d.draw.MinT + day*[]int64{1, 3, 20, 70}[seed%4]
		d.require(d.db.Close())
		d.open()
		var wg sync.WaitGroup
		begin := func() (end func()) {
			stop, db, rng := make(chan struct{}), d.db, rand.New(rand.NewPCG(seed, 5))
			wg.Go(func() { jobs(t, db, rng, stop) })
			return func() { close(stop); wg.Wait() }
		}
		end := begin()
		for range 40 {
			switch d.rng.IntN(12) {
			case 0:
				end()
				d.note("reopen")
				d.require(d.db.Close())
				d.open()
				end = begin()
			case 1:
				old := end
				d.crash()
				old()
				end = begin()
			case 2, 3, 4:
				d.burst()
			case 5:
				lo := d.draw.Time()
				hi := lo + d.rng.Int64N(d.draw.MaxT-d.draw.MinT)
				ms := d.draw.Matchers()
				d.note("delete [%d,%d] %v", lo, hi, ms)
				d.require(d.db.Delete(context.Background(), lo, hi, ms...))
				d.model.Delete(lo, hi, ms...)
			case 6:
				d.snapshot()
			case 7:
				d.note("flush")
				d.require(d.db.ForceFlush(context.Background()))
			default:
				d.append()
			}
			if d.rng.IntN(3) == 0 {
				d.check()
				d.checkStats()
			}
			if t.Failed() {
				end()
				return
			}
		}
		end()
		d.check()
		d.require(d.db.Close())
	}
}
