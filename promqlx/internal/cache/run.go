package cache

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/plan"
	"github.com/varvedb/varve/promqlx/internal/row"
	"github.com/varvedb/varve/promqlx/internal/trace"
)

// Query is a range query whose answers may be kept (Why).
type Query struct {
	Store Store
	Plan  plan.Node
	// Key tells all that the value at a step hangs on but the store's samples: the
	// plan and the options that evaluation takes.
	Key      string
	Grid     row.Grid
	Lookback int64 // milliseconds
	Now      time.Time
	// Run evaluates the plan on a part of the grid. It is called several times.
	Run func(context.Context, row.Grid) (Answer, error)
	// Read tells how many samples were read so far.
	Read func() int64
	// Meter is told of what is taken from the cache.
	Meter Meter
	Trace *trace.Span

	note error // see noteOf
}

// Answer is what an evaluation yields.
type Answer struct {
	promql.Matrix
	annotations.Annotations
	// Whole tells that an evaluation of a part of the steps may yield something else
	// at these: nothing is kept.
	Whole bool
}

// alone tells whether the answer is nothing but what the samples at the steps say,
// and noted whether q.note is part of that.
func (q *Query) alone(a *Answer) (alone, noted bool) {
	if q.note != nil && len(a.Annotations) == 1 {
		_, noted = a.Annotations[q.note.Error()]
	}
	return !a.Whole && (noted || len(a.Annotations) == 0), noted
}

// Meter counts what a query holds; see exec.Meter.
type Meter interface {
	Grow(n int64) error
	Shrink(n int64)
	Samples(n int64) error
	Used() int64 // bytes
	Held() int64 // samples
}

const (
	// changeMs is the stretch of time that a store tells changes of. What reaches
	// into that of now changes with every append: it is not even looked up.
	changeMs = 2 * 60 * 60 * 1000
	// spanMs is how long a bucket shall be, if that are no fewer than minSteps and
	// no more than maxSteps.
	spanMs             = changeMs / 2
	minSteps, maxSteps = 16, 256
	// maxRuns is how many parts of a grid are evaluated one by one; beyond that, all
	// between the first and the last is evaluated at once.
	maxRuns = 4
)

// bucket is what a query asks of a bucket: n steps, from step from of the grid on.
type bucket struct {
	number     int64
	from, n    int
	lo         int   // from, counted from the bucket's first step
	mint, maxt int64 // of the samples
	live       bool  // they change all the time
	generation uint64
	entry      *entry // a valid one that has the steps, or nil
	stale      *entry // one that was of no use
}

// stepsOf returns how many steps a bucket has: a power of two.
func stepsOf(step int64) int64 {
	n := int64(minSteps)
	for n < maxSteps && n*step < spanMs {
		n *= 2
	}
	return n
}

// buckets cuts the grid.
func (q *Query) buckets() []bucket {
	g, size := q.Grid, stepsOf(q.Grid.Step)
	before, after := reach(q.Plan, q.Lookback)
	nowSlot := floorDiv(q.Now.UnixMilli(), changeMs)
	first := floorDiv(g.Start, g.Step)
	out := make([]bucket, 0, int64(g.N)/size+2)
	for i := 0; i < g.N; {
		at := first + int64(i)
		b := bucket{number: floorDiv(at, size), from: i}
		b.lo = int(at - b.number*size)
		b.n = min(int(size)-b.lo, g.N-i)
		b.mint, b.maxt = g.T(i)+before, g.T(i+b.n-1)+after
		b.live = floorDiv(b.maxt, changeMs) >= nowSlot
		out = append(out, b)
		i += b.n
	}
	return out
}

// reach returns how far from a step the samples lie that are read for it: from
// before to after, both mostly negative. No selector has a time of its own.
func reach(n plan.Node, lookback int64) (before, after int64) {
	for i, r := range plan.Ranges(n, 0, 0, lookback) {
		if i == 0 {
			before, after = r.Min, r.Max
		}
		before, after = min(before, r.Min), max(after, r.Max)
	}
	return before, after
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// place returns where the query's buckets are kept; the number is missing.
func (q *Query) place() place {
	g := q.Grid
	phase := g.Start - floorDiv(g.Start, g.Step)*g.Step
	return place{store: q.Store, plan: sha256.Sum256(fmt.Appendf(nil, "%d %d %s", g.Step, phase, q.Key))}
}

// Run answers the query, as q.Run with the whole grid does: with what is kept, and
// evaluations of the rest.
//
// If such an evaluation fails or has annotations, the whole is evaluated, since
// which error comes first, and what an annotation counts, hangs on the range.
func (c *Cache) Run(ctx context.Context, q *Query) (Answer, error) {
	at, buckets := q.place(), q.buckets()
	q.note = noteOf(q.Plan)
	c.find(at, buckets)
	parts := q.parts(buckets)
	c.count(buckets, q.Trace)
	if len(parts) == 1 && !parts[0].kept {
		return c.evaluate(ctx, q, at, parts[0])
	}
	bytes, samples := q.Meter.Used(), q.Meter.Held()
	for i := range parts {
		p := &parts[i]
		if p.kept {
			continue
		}
		a, err := c.evaluate(ctx, q, at, *p)
		if err != nil && ctx.Err() != nil {
			return a, err
		}
		alone, noted := q.alone(&a)
		if err != nil || !alone {
			c.drop(at, buckets)
			q.Trace.Printf("cache: all anew, because of an error, annotations, or hints of histograms")
			q.Meter.Shrink(q.Meter.Used() - bytes)
			_ = q.Meter.Samples(samples - q.Meter.Held()) // giving back cannot fail
			return q.Run(ctx, q.Grid)
		}
		p.m, p.noted = a.Matrix, noted
	}
	t := q.Trace.Start("join %d stretches", len(parts))
	defer t.Done()
	return q.join(parts)
}

// evaluate runs a part, and keeps of it what is not live, if it was worth it.
func (c *Cache) evaluate(ctx context.Context, q *Query, at place, p part) (Answer, error) {
	began, read := time.Now(), q.Read()
	a, err := q.Run(ctx, q.grid(p))
	alone, noted := q.alone(&a)
	if err != nil || !alone || !c.worth(time.Since(began), q.Read()-read) {
		return a, err
	}
	if roughBytes(a.Matrix) <= c.opts.Bytes/4 {
		c.keep(q, at, p, a.Matrix, noted)
	}
	return a, nil
}

func (c *Cache) worth(took time.Duration, read int64) bool {
	return took >= c.opts.MinTime || read >= c.opts.MinSamples
}

// roughBytes is about what entries of m take.
func roughBytes(m promql.Matrix) int64 {
	n := int64(0)
	for _, s := range m {
		n += int64(s.Metric.ByteSize()) + 8*int64(len(s.Floats))
		for _, p := range s.Histograms {
			n += int64(p.H.Size())
		}
	}
	return n
}

// keep makes entries of m, but of what has changed already.
func (c *Cache) keep(q *Query, at place, p part, m promql.Matrix, noted bool) {
	for i := 1; i < len(m); i++ {
		if labels.Compare(m[i-1].Metric, m[i].Metric) >= 0 {
			return // no order to join it by
		}
	}
	cut := newCutter(m)
	for _, b := range p.buckets {
		if b.live || q.Store.Generation(b.mint, b.maxt) != b.generation {
			continue
		}
		e := cut.cut(b.lo, b.n, q.Grid.T(b.from), q.Grid.Step)
		e.mint, e.maxt, e.generation, e.noted = b.mint, b.maxt, b.generation, noted
		if old := b.stale; old == nil || old.n <= e.n || !old.valid(q.Store) {
			at.bucket = b.number
			c.put(at, e)
		}
	}
}

// count tells metrics and trace what was found.
func (c *Cache) count(buckets []bucket, t *trace.Span) {
	var hits, misses, steps, live int64
	for _, b := range buckets {
		switch {
		case b.entry != nil:
			hits, steps = hits+1, steps+int64(b.n)
		case b.live:
			live++
		default:
			misses++
		}
	}
	c.hits.Add(hits)
	c.misses.Add(misses)
	if t.Enabled() {
		t.Printf("cache: %d buckets with %d steps, %d are missing, %d change still", hits, steps, misses, live)
	}
}

// part is consecutive buckets that are all kept, or all to be evaluated.
type part struct {
	buckets []bucket
	kept    bool
	m       promql.Matrix // if it was evaluated,
	noted   bool          // with the query's note
}

// grid returns the steps of a part. That of one step is no instant query either.
func (q *Query) grid(p part) row.Grid {
	first, last := p.buckets[0], p.buckets[len(p.buckets)-1]
	return row.Grid{Start: q.Grid.T(first.from), Step: q.Grid.Step, N: last.from + last.n - first.from, Ranged: q.Grid.Ranged}
}

// parts finds out which entries are valid and have the steps asked for, and joins
// buckets. The generations of the others are read here, before any sample is.
func (q *Query) parts(buckets []bucket) []part {
	runs, first, last := 0, -1, -1
	for i := range buckets {
		b := &buckets[i]
		if b.entry != nil && b.entry.has(b.lo, b.n) && b.entry.valid(q.Store) {
			continue
		}
		b.stale, b.entry = b.entry, nil
		if runs++; i > 0 && buckets[i-1].entry == nil {
			runs--
		}
		if first < 0 {
			first = i
		}
		last = i
	}
	for i := range buckets {
		b := &buckets[i]
		if runs > maxRuns && first <= i && i <= last && b.entry != nil {
			b.stale, b.entry = b.entry, nil
		}
		if b.entry == nil && !b.live {
			b.generation = q.Store.Generation(b.mint, b.maxt)
		}
	}
	return group(buckets)
}

// group joins buckets of one kind.
func group(buckets []bucket) []part {
	var out []part
	from := 0
	for i := range buckets {
		kept := buckets[from].entry != nil
		if i+1 == len(buckets) || (buckets[i+1].entry != nil) != kept {
			out, from = append(out, part{buckets: buckets[from : i+1], kept: kept}), i+1
		}
	}
	return out
}
