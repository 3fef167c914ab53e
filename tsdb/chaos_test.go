package tsdb_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	oldrand "math/rand"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

// owed is what may be read of each sample after a random script: one value where
// the last request for it succeeded, several where requests failed.
type owed struct {
	ids   []string
	times []int64
	may   map[string]map[int64][]float64 // absent is NaN
}

func newOwed() *owed {
	o := &owed{may: map[string]map[int64][]float64{}}
	for i := range 4 {
		o.ids = append(o.ids, fmt.Sprint(i))
		o.may[o.ids[i]] = map[int64][]float64{}
	}
	for i := range int64(6) {
		o.times = append(o.times, t0+i*1000, t0+day-1+i)
	}
	for _, id := range o.ids {
		for _, at := range o.times {
			o.may[id][at] = []float64{math.NaN()}
		}
	}
	return o
}

func (o *owed) note(id string, at int64, v float64, err error) {
	if err == nil {
		o.may[id][at] = o.may[id][at][:0]
	}
	o.may[id][at] = append(o.may[id][at], v)
}

func (o *owed) check(t *testing.T, db *tsdb.DB, why func() string) {
	t.Helper()
	ctx := context.Background()
	for _, id := range o.ids {
		got := map[int64]float64{}
		v, err := db.Select(ctx, 0, math.MaxInt64, matchID(id))
		require.NoError(t, err, why())
		for i := range v.Len() {
			c := v.Cursor(i, 0, math.MaxInt64)
			for c.Next() {
				for k := range c.Span().Count {
					got[c.Span().Time(k)] = c.Span().Float(k)
				}
			}
			require.NoError(t, c.Err(), why())
		}
		v.Close()
		for _, at := range o.times {
			x, there := got[at]
			ok := slices.ContainsFunc(o.may[id][at], func(v float64) bool { return v == x && there || math.IsNaN(v) && !there })
			if !ok {
				t.Fatalf("id %s at %d: got %v (there: %v), want one of %v\n%s", id, at, x, there, o.may[id][at], why())
			}
		}
	}
}

// chaos is a store whose disk fails at random.
type chaos struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	mem   *vfs.Mem
	fault *vfs.Fault
	db    *tsdb.DB
	owed  *owed
	log   []string
}

func (c *chaos) why() string { return fmt.Sprintf("seed %d\n%s", c.seed, strings.Join(c.log, "\n")) }

func (c *chaos) note(format string, args ...any) { c.log = append(c.log, fmt.Sprintf(format, args...)) }

// trouble makes some of the next operations fail.
func (c *chaos) trouble() {
	c.fault.ShortWrites(c.rng.IntN(2) == 0)
	k := 1 + c.rng.Int64N(1+c.rng.Int64N(60))
	switch c.rng.IntN(6) {
	case 0:
		c.note("fail operation %d", k)
		c.fault.FailOp(k)
	case 1:
		c.note("fail from %d", k)
		c.fault.FailFrom(k)
	case 2:
		kinds := []vfs.OpKind{vfs.OpSync, vfs.OpSyncDir, vfs.OpTruncate, vfs.OpRename, vfs.OpWrite, vfs.OpReadAt, vfs.OpRemove, vfs.OpOpen}
		one, two := kinds[c.rng.IntN(len(kinds))], kinds[c.rng.IntN(len(kinds))]
		c.note("fail every %s and %s", one, two)
		c.fault.FailIf(func(op vfs.Op) error {
			if op.Kind == one || op.Kind == two {
				return vfs.ErrInjected
			}
			return nil
		})
	}
}

func (c *chaos) open() {
	opts := quiet()
	if c.seed%3 == 0 { // flushes in the background, and while the log is read
		opts.FlushBytes, opts.MemoryBudget = 1200, 1<<30
	}
	c.fault = vfs.NewFault(c.mem)
	opts.FS = c.fault
	opts.Events = &tsdb.Events{Corrupted: func(err error) {
		// A segment whose fsync failed may have a torn end; nothing else is damaged.
		if !strings.HasPrefix(err.Error(), "log: segment") {
			c.t.Errorf("damage: %v\n%s", err, c.why())
		}
	}}
	c.trouble()
	db, err := tsdb.Open("store", opts)
	c.note("open: %v", err)
	c.fault.Clear()
	if err != nil {
		db, err = tsdb.Open("store", opts)
		require.NoError(c.t, err, c.why())
	}
	c.db = db
}

func (c *chaos) step() {
	ctx := context.Background()
	o := c.owed
	id := o.ids[c.rng.IntN(len(o.ids))]
	if c.rng.IntN(2) == 0 {
		c.trouble()
	}
	switch c.rng.IntN(14) {
	case 0:
		c.note("flush: %v", c.db.ForceFlush(ctx))
	case 1:
		c.note("merge: %v", c.db.ForceMerge(ctx))
	case 2:
		c.note("clean: %v", c.db.CleanTombstones(ctx))
	case 3, 4:
		lo, hi := o.times[c.rng.IntN(len(o.times))], o.times[c.rng.IntN(len(o.times))]
		err := c.db.Delete(ctx, lo, hi, matchID(id))
		c.note("delete %s [%d,%d]: %v", id, lo, hi, err)
		for _, at := range o.times {
			if at >= lo && at <= hi {
				o.note(id, at, math.NaN(), err)
			}
		}
	case 5:
		c.note("close: %v", c.db.Close())
		c.open()
	case 6:
		// The power goes, with the process still writing.
		old := c.db
		c.mem = c.mem.CrashClone(oldrand.New(oldrand.NewSource(c.rng.Int64())), []float64{0, 0.5, 1}[c.rng.IntN(3)])
		c.fault.Clear()
		_ = old.Close()
		c.note("crash")
		c.open()
	case 7:
		_, err := c.db.Snapshot(ctx)
		c.note("snapshot: %v", err)
	default:
		at, v := o.times[c.rng.IntN(len(o.times))], float64(c.rng.IntN(1000))
		err := put(c.db, id, 0, at, v)
		c.note("write %s %d %v: %v", id, at, v, err)
		o.note(id, at, v, err)
	}
	c.fault.Clear()
	if c.rng.IntN(3) == 0 {
		o.check(c.t, c.db, c.why)
	}
}

// However many operations of the disk fail, one after the other, with power
// losses in between: what was acknowledged last is what is read.
func TestRandomFailures(t *testing.T) {
	seeds := uint64(40)
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		c := &chaos{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 7)), mem: vfs.NewMem(), owed: newOwed()}
		c.open()
		for range 60 {
			c.step()
		}
		c.owed.check(t, c.db, c.why)
		require.NoError(t, c.db.Close())
		if t.Failed() {
			return
		}
	}
}

// The power goes at any operation: what the disk then has of unsynced bytes and
// names, all, some or nothing, holds what was acknowledged.
func TestPowerLossAtEveryOperation(t *testing.T) {
	step := int64(2)
	if testing.Short() {
		step = 7
	}
	for k := int64(1); ; k += step {
		mem := vfs.NewMem()
		fault := vfs.NewFault(mem)
		fault.FailFrom(k)
		fault.ShortWrites(k%2 == 0)
		o := script(fault, quiet())
		if fault.Fired() == 0 {
			require.Greater(t, k, int64(100))
			return
		}
		for i, keep := range []float64{0, 0.5} {
			held(t, mem.CrashClone(oldrand.New(oldrand.NewSource(k)), keep), o, fmt.Sprintf("operation %d, loss %d", k, i))
			if t.Failed() {
				return
			}
		}
	}
}

// Heavy collisions: few series, few times, all kinds of samples and exemplars,
// with flushes, merges, deletes and power losses in between.
func TestCollisions(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 5
	}
	for seed := range seeds {
		d := newDriver(t, seed+1000)
		d.draw.Series = 2
		d.draw.MinT = t0 - 60000
		d.draw.MaxT = t0 + 240000
		for range 50 {
			d.step()
			if d.rng.IntN(3) == 0 {
				d.check()
			}
		}
		d.check()
		d.require(d.db.Close())
		if t.Failed() {
			return
		}
	}
}

// A read that fails during a query is told; it never makes an answer that looks
// whole.
func TestFailingReadsOfQueries(t *testing.T) {
	ctx := context.Background()
	fault := vfs.NewFault(vfs.NewMem())
	db := openOn(t, fault, quiet())
	for i := range int64(4) {
		b := db.Batch()
		for id := range 5 {
			s, err := b.Series(labels.FromStrings("id", fmt.Sprint(id)))
			require.NoError(t, err)
			for k := range int64(300) {
				require.NoError(t, b.Float(s, 0, t0+k*15000+i*7000, math.Sqrt(float64(k+i))))
			}
			require.NoError(t, b.Exemplar(s, exemplar.Exemplar{Ts: t0 + i, HasTs: true, Value: 1}))
		}
		require.NoError(t, b.Commit(ctx))
		require.NoError(t, db.ForceFlush(ctx))
	}
	require.NoError(t, db.Delete(ctx, t0+15000, t0+30000, matchID("3")))
	all := []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "id", ".+")}
	want := dumpAll(t, db)
	wantExemplars, err := tsdbtest.DumpExemplars(ctx, db, 0, math.MaxInt64, all...)
	require.NoError(t, err)
	require.Len(t, wantExemplars, 20)
	require.NoError(t, db.Close())
	failed := 0
	for k := int64(1); ; k++ {
		db := openOn(t, fault, quiet())
		fault.FailOp(k)
		got, err := tsdbtest.Dump(ctx, db, 0, math.MaxInt64)
		if err == nil {
			require.Equal(t, want, got, "operation %d", k)
		}
		xs, xErr := tsdbtest.DumpExemplars(ctx, db, 0, math.MaxInt64, all...)
		if xErr == nil {
			require.Equal(t, wantExemplars, xs, "operation %d", k)
		}
		fired := fault.Fired() > 0
		fault.Clear()
		require.Equal(t, want, dumpAll(t, db), "after operation %d", k)
		require.NoError(t, db.Close())
		if !fired {
			break
		}
		require.Error(t, errors.Join(err, xErr), "operation %d", k)
		failed++
	}
	require.Greater(t, failed, 20)
}
