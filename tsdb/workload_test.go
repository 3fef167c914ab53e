package tsdb_test

import (
	"context"
	"fmt"
	oldrand "math/rand"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
	"github.com/varvedb/varve/tsdb/internal/vfs"
	"github.com/varvedb/varve/tsdb/tsdbtest"
)

const day = int64(24 * 60 * 60 * 1000)

// driver runs one seeded workload on a store and the model side by side.
type driver struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	draw  *tsdbtest.Random
	fs    *vfs.Mem
	opts  tsdb.Options
	db    *tsdb.DB
	model *tsdbtest.Model
	log   []string // operations, for a failure's report

	floats bool // there are no histograms
}

func newDriver(t *testing.T, seed uint64) *driver {
	rng := rand.New(rand.NewPCG(seed, 99))
	d := &driver{t: t, seed: seed, rng: rng, fs: vfs.NewMem(), model: tsdbtest.NewModel()}
	d.draw = &tsdbtest.Random{Rand: rng, Series: 3 + rng.IntN(20), MinT: 1700000000000, MaxT: 1700000000000 + day*int64(1+rng.IntN(3))}
	d.opts = tsdb.Options{
		FS: d.fs, MinFree: -1, Sync: tsdb.SyncAlways(), FlushBytes: int64(2000 + rng.IntN(200000)), FlushInterval: time.Hour,
		MemoryBudget: 1 << 30,
		Events: &tsdb.Events{
			Corrupted:     func(err error) { t.Errorf("seed %d: damage: %v", seed, err) },
			BackgroundErr: func(job string, err error) { t.Errorf("seed %d: %s: %v", seed, job, err) },
		},
	}
	d.open()
	return d
}

func (d *driver) note(format string, args ...any) {
	d.log = append(d.log, fmt.Sprintf(format, args...))
}

func (d *driver) require(err error) {
	d.t.Helper()
	require.NoError(d.t, err, "seed %d\n%s", d.seed, strings.Join(d.log, "\n"))
}

func (d *driver) open() {
	db, err := tsdb.Open("store", d.opts)
	d.require(err)
	d.db = db
}

func (d *driver) step() {
	ctx := context.Background()
	switch d.rng.IntN(20) {
	case 0:
		d.note("flush")
		d.require(d.db.ForceFlush(ctx))
	case 1:
		d.note("merge")
		d.require(d.db.ForceMerge(ctx))
	case 2:
		lo := d.draw.Time()
		hi := lo + d.rng.Int64N(day)
		ms := d.draw.Matchers()
		d.note("delete [%d,%d] %v", lo, hi, ms)
		d.require(d.db.Delete(ctx, lo, hi, ms...))
		d.model.Delete(lo, hi, ms...)
	case 3:
		d.note("clean tombstones")
		d.require(d.db.CleanTombstones(ctx))
	case 4:
		d.note("reopen")
		d.require(d.db.Close())
		d.open()
	case 5:
		d.crash()
	default:
		d.append()
	}
}

// crash opens what is left after the power went: everything acknowledged.
func (d *driver) crash() {
	d.note("crash")
	after := d.fs.CrashClone(oldrand.New(oldrand.NewSource(d.rng.Int64())), d.rng.Float64())
	old := d.db
	d.fs, d.opts.FS = after, after
	d.open()
	d.require(old.Close())
}

func (d *driver) append() {
	b := d.db.Batch()
	n := 1 + d.rng.IntN(40)
	type entry struct {
		lset   labels.Labels
		sample tsdbtest.Sample
	}
	var added []entry
	for range n {
		lset := d.draw.Labels()
		s, err := b.Series(lset)
		d.require(err)
		x := d.draw.Sample()
		if d.floats && (x.H != nil || x.FH != nil) {
			x = tsdbtest.Sample{T: x.T, ST: x.ST, V: d.draw.Float()}
		}
		switch {
		case x.H != nil:
			err = b.Histogram(s, x.ST, x.T, x.H.Copy())
		case x.FH != nil:
			err = b.FloatHistogram(s, x.ST, x.T, x.FH.Copy())
		default:
			err = b.Float(s, x.ST, x.T, x.V)
		}
		d.require(err)
		added = append(added, entry{lset, x})
		if d.rng.IntN(10) == 0 {
			e := d.draw.Exemplar()
			d.require(b.Exemplar(s, e))
			d.model.AppendExemplar(lset, e)
		}
	}
	d.note("append %d", n)
	d.require(b.Commit(context.Background()))
	for _, e := range added {
		d.model.Append(e.lset, e.sample)
	}
}

func (d *driver) check() {
	ctx := context.Background()
	lo, hi := int64(0), d.draw.MaxT+day
	var ms []*labels.Matcher
	if d.rng.IntN(2) == 0 {
		lo = d.draw.Time()
		hi = lo + d.rng.Int64N(day)
		ms = d.draw.Matchers()
	}
	got, err := tsdbtest.Dump(ctx, d.db, lo, hi, ms...)
	d.require(err)
	require.Equal(d.t, d.model.Dump(lo, hi, ms...), got, "seed %d [%d,%d] %v\n%s", d.seed, lo, hi, ms, strings.Join(d.log, "\n"))
	xs, err := tsdbtest.DumpExemplars(ctx, d.db, lo, hi, ms...)
	d.require(err)
	require.Equal(d.t, d.model.DumpExemplars(lo, hi, ms...), xs, "seed %d exemplars\n%s", d.seed, strings.Join(d.log, "\n"))
	names, err := d.db.LabelNames(ctx, 0, d.draw.MaxT+day, ms...)
	d.require(err)
	require.Equal(d.t, d.model.LabelNames(0, d.draw.MaxT+day, ms...), names, "seed %d names %v\n%s", d.seed, ms, strings.Join(d.log, "\n"))
}

// Whatever is written, flushed, merged, deleted, restarted or lost power, the
// store answers as the model does, bit for bit.
func TestStoreEqualsModel(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() || raceDetector {
		seeds = 10
	}
	for seed := range seeds {
		d := newDriver(t, seed)
		for range 60 {
			d.step()
			if d.rng.IntN(4) == 0 {
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
