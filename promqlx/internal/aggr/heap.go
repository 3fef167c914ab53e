package aggr

import (
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// A stepHeap is the heap of a group at one step: the values, and which row each
// came from. It moves its entries as container/heap moves the samples in
// Prometheus' engine, so that the same one of equal values goes, and the order
// of what stays is the same.
type stepHeap struct {
	f       []float64
	from    []int32
	reverse bool // the biggest value on top
}

// less orders as vectorByValueHeap and vectorByReverseValueHeap of Prometheus'
// promql/functions.go: a NaN is on top.
func (h *stepHeap) less(a, b float64) bool {
	if h.reverse {
		return a != a || a > b
	}
	return a != a || a < b
}

func (h *stepHeap) Len() int           { return len(h.f) }
func (h *stepHeap) Less(i, j int) bool { return h.less(h.f[i], h.f[j]) }
func (h *stepHeap) Swap(i, j int) {
	h.f[i], h.f[j] = h.f[j], h.f[i]
	h.from[i], h.from[j] = h.from[j], h.from[i]
}

// up is that of container/heap.
func (h *stepHeap) up(j int) {
	for {
		i := (j - 1) / 2
		if i == j || !h.Less(j, i) {
			return
		}
		h.Swap(i, j)
		j = i
	}
}

// settle puts a value, which is not NaN, in the place of the top of a heap, with the
// biggest or the smallest value on top, and lets it down as container/heap does, but
// for that it moves a hole rather than the value.
func settle(fs []float64, froms []int32, f float64, from int32, biggest bool) {
	if biggest {
		settleBiggest(fs, froms, f, from)
		return
	}
	settleSmallest(fs, froms, f, from)
}

// settleSmallest is settle of a heap with the smallest value on top.
func settleSmallest(fs []float64, froms []int32, f float64, from int32) {
	froms = froms[:len(fs)]
	i := 0
	for {
		j := 2*i + 1
		if j >= len(fs) {
			break
		}
		x := fs[j]
		if j+1 < len(fs) {
			if y := fs[j+1]; y < x || y != y {
				j, x = j+1, y
			}
		}
		if !(x < f || x != x) {
			break
		}
		fs[i], froms[i] = x, froms[j]
		i = j
	}
	fs[i], froms[i] = f, from
}

// settleBiggest is settle of a heap with the biggest value on top.
func settleBiggest(fs []float64, froms []int32, f float64, from int32) {
	froms = froms[:len(fs)]
	i := 0
	for {
		j := 2*i + 1
		if j >= len(fs) {
			break
		}
		x := fs[j]
		if j+1 < len(fs) {
			if y := fs[j+1]; y > x || y != y {
				j, x = j+1, y
			}
		}
		if !(x > f || x != x) {
			break
		}
		fs[i], froms[i] = x, froms[j]
		i = j
	}
	fs[i], froms[i] = f, from
}

// sort puts the last to be dropped first.
func (h *stepHeap) sort() {
	if len(h.f) > 1 {
		sort.Sort(sort.Reverse(h))
	}
}

// heapGroup is the heaps of a group: by step, room values each.
type heapGroup struct {
	room int
	f    []float64
	from []int32
	size []int32 // by step
	full int     // steps at which there are as many values as there are to be
}

// heaps are the groups of the aggregations that choose among series.
type heaps struct {
	n       int
	reverse bool
	groups  column[heapGroup]
	count   int // groups
	floats  slab[float64]
	ints    slab[int32]
	rows    column[chosen]
	refs    []int32 // by row, the samples of it that are in heaps
	cur     int     // number of the row being added, -1 if nothing of it is chosen
	held    int64
}

func newHeaps(n int, reverse bool) heaps {
	return heaps{n: n, reverse: reverse, groups: newColumn[heapGroup](1), rows: newColumn[chosen](1), cur: -1}
}

// chosen is a row some of whose samples are in a heap.
type chosen struct {
	labels labels.Labels
	h      *histogram.FloatHistogram // of an instant query
	drop   bool
}

// group returns group g. It stays where it is until a new one is asked for.
func (a *heaps) group(g int) *heapGroup {
	a.count = max(a.count, g+1)
	gr := &a.groups.at(g)[0]
	if gr.size == nil {
		gr.size = a.ints.take(a.n)
	}
	return gr
}

// at returns the heap at step i.
func (a *heaps) at(gr *heapGroup, i int) stepHeap {
	lo := i * gr.room
	hi := lo + int(gr.size[i])
	return stepHeap{f: gr.f[lo:hi], from: gr.from[lo:hi], reverse: a.reverse}
}

// push adds a value of the row r at step i, where at most most are to be.
func (a *heaps) push(gr *heapGroup, i int, f float64, r *row.Row, most int64) stepHeap {
	if int(gr.size[i]) == gr.room {
		a.widen(gr, most)
	}
	gr.size[i]++
	h := a.at(gr, i)
	last := len(h.f) - 1
	h.f[last], h.from[last] = f, a.choose(r)
	h.up(last)
	return h
}

// widen makes the heaps of a group hold more.
func (a *heaps) widen(gr *heapGroup, most int64) {
	room := max(2*gr.room, 4)
	if gr.room == 0 {
		room = 1
	}
	room = int(min(int64(room), most))
	f, from := a.floats.take(a.n*room), a.ints.take(a.n*room)
	for i, n := range gr.size {
		copy(f[i*room:], gr.f[i*gr.room:i*gr.room+int(n)])
		copy(from[i*room:], gr.from[i*gr.room:i*gr.room+int(n)])
	}
	gr.room, gr.f, gr.from = room, f, from
}

// choose returns the number of r, which has one more sample in a heap.
func (a *heaps) choose(r *row.Row) int32 {
	k := a.number(r)
	a.refs[k]++
	return k
}

// number returns the number of r, the row being added.
func (a *heaps) number(r *row.Row) int32 {
	if a.cur < 0 {
		a.cur = len(a.refs)
		a.refs = append(a.refs, 0)
		c := a.row(a.cur)
		c.labels, c.drop = r.Labels, r.DropName
		if a.n == 1 {
			c.h = r.HAt(0)
		}
		a.held += int64(r.Labels.ByteSize())
	}
	return int32(a.cur)
}

func (a *heaps) row(k int) *chosen { return &a.rows.at(k)[0] }

// release takes one sample of a row out, and lets its labels go with the last.
func (a *heaps) release(k int32) {
	if a.refs[k]--; a.refs[k] == 0 && int(k) != a.cur {
		c := a.row(int(k))
		a.held -= int64(c.labels.ByteSize())
		c.labels = labels.EmptyLabels()
	}
}

// releaseMany takes n samples of a row out.
func (a *heaps) releaseMany(k int32, n int32) {
	a.refs[k] -= n - 1
	a.release(k)
}

// forget ends the row being added: if all its samples are out again there was
// none.
func (a *heaps) forget() {
	if k := a.cur; k >= 0 && a.refs[k] == 0 {
		a.held -= int64(a.row(k).labels.ByteSize())
		*a.row(k) = chosen{}
		a.refs = a.refs[:k]
	}
	a.cur = -1
}

// emitOrdered hands over the samples of an instant query, by group.
func (a *heaps) emitOrdered(sorted bool, emit func(*row.Row) error) error {
	out := row.New(1)
	var h stepHeap
	for g := range a.count {
		gr := &a.groups.at(g)[0]
		if gr.size == nil {
			continue
		}
		h = a.at(gr, 0)
		if sorted {
			h.sort()
		}
		for k, f := range h.f {
			c := a.row(int(h.from[k]))
			out.Reset()
			out.Labels, out.DropName = c.labels, c.drop
			out.SetAt(0, f, c.h)
			if err := emit(out); err != nil {
				return err
			}
		}
	}
	return nil
}

// emitRows hands over the rows in their order. There are no histograms.
func (a *heaps) emitRows(emit func(*row.Row) error) error {
	type sample struct {
		step int32
		f    float64
	}
	total := 0
	start := make([]int, len(a.refs)+1) // of each row's samples
	for k, n := range a.refs {
		start[k] = total
		total += int(n)
	}
	start[len(a.refs)] = total
	samples, next := make([]sample, total), append([]int(nil), start...)
	for g := range a.count {
		gr := &a.groups.at(g)[0]
		for i := range gr.size {
			h := a.at(gr, i)
			for e, k := range h.from {
				samples[next[k]] = sample{int32(i), h.f[e]}
				next[k]++
			}
		}
	}
	out := row.New(a.n)
	for k, n := range a.refs {
		if n == 0 {
			continue
		}
		c := a.row(k)
		out.Reset()
		out.Labels, out.DropName = c.labels, c.drop
		for _, s := range samples[start[k]:start[k+1]] {
			out.SetF(int(s.step), s.f)
		}
		if err := emit(out); err != nil {
			return err
		}
	}
	return nil
}

func (a *heaps) bytes() int64 {
	return a.held + int64(8*a.floats.held+4*a.ints.held+4*cap(a.refs)+80*a.groups.held+32*a.rows.held)
}
