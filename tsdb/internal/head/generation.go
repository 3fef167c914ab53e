package head

import (
	"cmp"
	"math"
	"slices"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/block"
)

const (
	emptyMinT = math.MaxInt64
	emptyMaxT = math.MinInt64
)

// Generation is the samples of the head between two flushes. Only the newest
// one of a head changes.
type Generation struct {
	id      uint64
	bytes   atomic.Int64
	samples atomic.Int64
	seqMin  atomic.Uint64
	seqMax  atomic.Uint64
	mint    atomic.Int64
	maxt    atomic.Int64

	// bySeries lists, by shard, what it holds; each guarded by its shard.
	bySeries [shardCount][]*seriesData
}

func newGeneration(id uint64) *Generation {
	g := &Generation{id: id}
	g.seqMin.Store(math.MaxUint64)
	g.mint.Store(emptyMinT)
	g.maxt.Store(emptyMaxT)
	return g
}

// Bytes estimates the memory that the samples take.
func (g *Generation) Bytes() int64 { return g.bytes.Load() }

// Samples counts the samples, replaced ones included.
func (g *Generation) Samples() int64 { return g.samples.Load() }

// SeqRange returns the lowest and the highest sequence number it holds; ok is
// false when it is empty.
func (g *Generation) SeqRange() (lo, hi uint64, ok bool) {
	lo, hi = g.seqMin.Load(), g.seqMax.Load()
	return lo, hi, lo <= hi
}

// Entry is one series of a sealed generation.
type Entry struct {
	Labels     labels.Labels
	MinT, MaxT int64 // of the samples; MinT > MaxT when it has exemplars alone
	Exemplars  []exemplar.Exemplar
	samples    snapshot // late samples sorted
}

// Cursor returns a new cursor over all samples of the entry.
func (e *Entry) Cursor() block.Cursor { return block.Merge(e.samples.cursors()) }

// Periods calls fn for each period of the given length, counted from time 0,
// that a sample or exemplar of the entry lies in; it may be called more than
// once for one.
func (e *Entry) Periods(length int64, fn func(period int64)) {
	for _, r := range e.samples.runs {
		for i := 0; i < len(r.times); {
			p := r.times[i] / length
			fn(p)
			next, _ := slices.BinarySearch(r.times[i:], (p+1)*length)
			i += next
		}
	}
	for _, s := range e.samples.late {
		fn(s.t / length)
	}
	for _, x := range e.Exemplars {
		fn(x.Ts / length)
	}
}

// Entries returns what a sealed generation holds in label order.
func (g *Generation) Entries() []Entry {
	var out []Entry
	for i := range g.bySeries {
		for _, d := range g.bySeries[i] {
			if d.mint > d.maxt && len(d.exemplars) == 0 {
				continue
			}
			x := slices.Clone(d.exemplars)
			slices.SortStableFunc(x, func(a, b exemplar.Exemplar) int { return cmp.Compare(a.Ts, b.Ts) })
			samples := d.snapshot()
			samples.late, samples.sorted = newest(samples.late), true
			out = append(out, Entry{
				Labels: d.series.lset, MinT: d.mint, MaxT: d.maxt,
				Exemplars: slices.CompactFunc(x, exemplar.Exemplar.Equals), samples: samples,
			})
		}
	}
	slices.SortFunc(out, func(a, b Entry) int { return labels.Compare(a.Labels, b.Labels) })
	return out
}

// TimeRange bounds the times of the samples, deleted ones included; mint > maxt
// when there were none.
func (g *Generation) TimeRange() (mint, maxt int64) { return g.mint.Load(), g.maxt.Load() }
