package cache

import (
	"math/bits"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// entry is the answer at consecutive steps of one bucket. It is not changed once
// it is made.
type entry struct {
	lo, n      int    // the first step, counted from the bucket's, and how many
	mint, maxt int64  // of the samples that it was made of
	generation uint64 // of these, before they were looked at
	noted      bool   // where there are floats, there is the query's note
	bytes      int64

	labels []labels.Labels // in label order, none twice
	drop   row.Bits        // promql.Series.DropName, by row
	words  int             // of steps, for a row
	steps  []uint64        // steps with a float, by row
	first  []uint32        // of each row in floats, and the end
	floats []float64
	hists  [][]promql.HPoint // by row; nil if there are none
}

// entryBytes is what an entry takes beside its rows, its place in the cache
// included.
const entryBytes = 320

// has tells whether the entry has n steps from lo on.
func (e *entry) has(lo, n int) bool { return e.lo <= lo && lo+n <= e.lo+e.n }

// valid tells whether the samples are what they were.
func (e *entry) valid(s Store) bool { return s.Generation(e.mint, e.maxt) == e.generation }

// row returns the series k of the entry.
func (e *entry) row(k int) entryRow {
	r := entryRow{
		has: e.steps[k*e.words : (k+1)*e.words], floats: e.floats[e.first[k]:e.first[k+1]],
	}
	if e.hists != nil {
		r.hists = e.hists[k]
	}
	return r
}

type entryRow struct {
	has    row.Bits
	floats []float64
	hists  []promql.HPoint
}

// rank returns how many floats are before step i.
func (r entryRow) rank(i int) int {
	n := 0
	for _, w := range r.has[:i/64] {
		n += bits.OnesCount64(w)
	}
	if i%64 != 0 {
		n += bits.OnesCount64(r.has[i/64] << (64 - i%64))
	}
	return n
}

// appendFloats appends the floats of n steps from step i on, which is at time t.
func (r entryRow) appendFloats(dst []promql.FPoint, i, n int, t, step int64) []promql.FPoint {
	values := r.floats[r.rank(i):r.rank(i+n)]
	if len(values) == n {
		for _, f := range values {
			dst = append(dst, promql.FPoint{T: t, F: f})
			t += step
		}
		return dst
	}
	at := i
	for _, f := range values {
		at = r.has.Next(at)
		dst = append(dst, promql.FPoint{T: t + int64(at-i)*step, F: f})
		at++
	}
	return dst
}

// histograms returns those from time t up to last.
func (r entryRow) histograms(t, last int64) []promql.HPoint {
	from, _ := slices.BinarySearchFunc(r.hists, t, byTime)
	to, _ := slices.BinarySearchFunc(r.hists, last+1, byTime)
	return r.hists[from:to]
}

func byTime(p promql.HPoint, t int64) int {
	switch {
	case p.T < t:
		return -1
	case p.T > t:
		return 1
	}
	return 0
}

// cutter makes entries of an answer, from the first step to the last.
type cutter struct {
	m      promql.Matrix
	labels []labels.Labels // copies: those of m may be parts of something large
	floats []int           // how many points of each series are behind
	hists  []int
}

func newCutter(m promql.Matrix) *cutter {
	c := &cutter{m: m, labels: make([]labels.Labels, len(m)), floats: make([]int, len(m)), hists: make([]int, len(m))}
	for i, s := range m {
		c.labels[i] = s.Metric.Copy()
	}
	return c
}

// cut makes an entry of the next n steps that begin at time t, having passed over
// what is before.
func (c *cutter) cut(lo, n int, t, step int64) *entry {
	e := &entry{lo: lo, n: n, words: (n + 63) / 64, bytes: entryBytes}
	last := t + int64(n-1)*step
	rows, count := 0, 0
	for i := range c.m {
		from, to := c.span(i, t, last)
		if hists := c.histograms(i, t, last); to > from || hists > 0 {
			rows, count = rows+1, count+to-from
		}
	}
	e.labels, e.drop = make([]labels.Labels, 0, rows), row.NewBits(rows)
	e.steps, e.first, e.floats = make([]uint64, rows*e.words), make([]uint32, 0, rows+1), make([]float64, 0, count)
	for i := range c.m {
		c.take(e, i, t, last, step)
	}
	e.first = append(e.first, uint32(len(e.floats)))
	e.bytes += int64(rows)*int64(16+4+8*e.words+1) + 8*int64(count)
	return e
}

// span moves series i to its first float at or after t and returns the floats up
// to last.
func (c *cutter) span(i int, t, last int64) (from, to int) {
	points := c.m[i].Floats
	from = c.floats[i]
	for from < len(points) && points[from].T < t {
		from++
	}
	c.floats[i], to = from, from
	for to < len(points) && points[to].T <= last {
		to++
	}
	return from, to
}

// histograms does the same for histograms and returns how many there are.
func (c *cutter) histograms(i int, t, last int64) int {
	points := c.m[i].Histograms
	for c.hists[i] < len(points) && points[c.hists[i]].T < t {
		c.hists[i]++
	}
	n := 0
	for c.hists[i]+n < len(points) && points[c.hists[i]+n].T <= last {
		n++
	}
	return n
}

// take adds series i to the entry if it has samples there.
func (c *cutter) take(e *entry, i int, t, last, step int64) {
	from, to := c.span(i, t, last)
	hists := c.histograms(i, t, last)
	if from == to && hists == 0 {
		return
	}
	k := len(e.labels)
	e.labels = append(e.labels, c.labels[i])
	e.bytes += int64(c.labels[i].ByteSize())
	if c.m[i].DropName {
		e.drop.Set(k)
	}
	has := row.Bits(e.steps[k*e.words : (k+1)*e.words])
	e.first = append(e.first, uint32(len(e.floats)))
	for _, p := range c.m[i].Floats[from:to] {
		has.Set(int((p.T - t) / step))
		e.floats = append(e.floats, p.F)
	}
	if hists == 0 {
		return
	}
	if e.hists == nil {
		e.hists = make([][]promql.HPoint, cap(e.labels))
		e.bytes += 24 * int64(cap(e.labels))
	}
	for _, p := range c.m[i].Histograms[c.hists[i]:][:hists] {
		e.hists[k] = append(e.hists[k], promql.HPoint{T: p.T, H: p.H.Copy()})
		e.bytes += int64(p.H.Size()) + 16
	}
}
