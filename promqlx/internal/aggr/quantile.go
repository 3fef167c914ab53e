package aggr

import (
	"math"
	"math/bits"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// quantiles keeps all values of its groups: a quantile needs them at once.
type quantiles struct {
	base
	rows kept
	// The rows of a group are a list, in order: first and last by group, next by
	// row, all numbers plus 1.
	first, last, next column[int32]
}

func newQuantiles(b base) *quantiles {
	a := &quantiles{base: b, rows: newKept(&b)}
	a.first, a.last, a.next = newColumn[int32](1), newColumn[int32](1), newColumn[int32](1)
	e := extentOf(b.Param)
	if e.nan {
		a.annos.Add(annotations.NewInvalidQuantileWarning(math.NaN(), b.ParamPos))
	}
	if e.max > 1 {
		a.annos.Add(annotations.NewInvalidQuantileWarning(e.max, b.ParamPos))
	}
	if e.min < 0 {
		a.annos.Add(annotations.NewInvalidQuantileWarning(e.min, b.ParamPos))
	}
	return a
}

func (a *quantiles) Add(g int, r *row.Row) {
	first, last := &a.first.at(g)[0], &a.last.at(g)[0]
	if anyHistogram(r.H) {
		a.ignored = true
	}
	a.noteDrop(g, r, func(i int) bool { return a.rowAt(*first, i) })
	if !r.Has.Any() {
		return
	}
	k := int32(a.rows.add(r.F, r.Has)) + 1
	if *last == 0 {
		*first = k
	} else {
		a.next.at(int(*last) - 1)[0] = k
	}
	*last = k
}

// rowAt tells whether a row of the list has a value at step i.
func (a *quantiles) rowAt(k int32, i int) bool {
	for ; k != 0; k = a.next.at(int(k) - 1)[0] {
		if a.rows.bits(int(k) - 1).Get(i) {
			return true
		}
	}
	return false
}

func (a *quantiles) Finish(groups []labels.Labels, emit func(*row.Row) error) error {
	out := row.New(a.n)
	var block stepBlock
	for g, ls := range groups {
		out.Has.Clear()
		for w := range a.words {
			a.gather(&block, a.first.at(g)[0], w)
			for i, values := range block {
				if len(values) > 0 {
					out.SetF(w<<6+i, quantileOf(a.Param[w<<6+i], values))
				}
			}
		}
		if err := a.emitGroup(g, ls, out, emit); err != nil {
			return err
		}
	}
	a.finish()
	return nil
}

func (a *quantiles) Bytes() int64 {
	return a.rows.bytes() + int64(4*(a.first.held+a.last.held+a.next.held))
}

// stepBlock holds the values of many rows at 64 steps.
type stepBlock [64][]float64

// gather takes the values of the rows of a list at the steps of word w.
func (a *quantiles) gather(b *stepBlock, k int32, w int) {
	for i := range b {
		b[i] = b[i][:0]
	}
	for ; k != 0; k = a.next.at(int(k) - 1)[0] {
		x, f := a.rows.bits(int(k) - 1)[w], a.rows.floats(int(k) - 1)[w<<6:]
		for ; x != 0; x &= x - 1 {
			i := bits.TrailingZeros64(x)
			b[i] = append(b[i], f[i])
		}
	}
}

// quantileOf returns the quantile of values, which it reorders, as quantile of
// Prometheus' promql/quantile.go.
func quantileOf(q float64, values []float64) float64 {
	switch {
	case q != q:
		return math.NaN()
	case q < 0:
		return math.Inf(-1)
	case q > 1:
		return math.Inf(1)
	}
	n := float64(len(values))
	rank := q * (n - 1)
	lower := math.Max(0, math.Floor(rank))
	upper := math.Min(n-1, lower+1)
	weight := rank - math.Floor(rank)

	lo, hi := int(lower), int(upper)
	switch {
	case len(values) <= few:
		ascending(values).insertionSort()
	case distinct(values):
		sortUpTo(values, lo, hi)
	default:
		sort.Sort(ascending(values))
	}
	if weight == 0 {
		return values[lo]
	}
	return float64(values[lo]*(1-weight)) + float64(values[hi]*weight)
}

// ascending sorts as vectorByValueHeap of Prometheus' promql/functions.go, with
// the same comparisons in the same order: where values differ in their bits
// alone the permutation is that of Prometheus' engine.
type ascending []float64

func (s ascending) Len() int           { return len(s) }
func (s ascending) Less(i, j int) bool { return s[i] != s[i] || s[i] < s[j] }
func (s ascending) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// few is up to how many values package sort sorts by insertion.
const few = 12

// insertionSort does what sort.Sort does with few values.
func (s ascending) insertionSort() {
	for i := 1; i < len(s); i++ {
		for j := i; j > 0 && s.Less(j, j-1); j-- {
			s.Swap(j, j-1)
		}
	}
}

// distinct tells whether values that compare as equal have the same bits, so
// that any way to sort them gives the same: there are no NaNs, and not both
// zeros.
func distinct(values []float64) bool {
	var zeros [2]bool
	for _, f := range values {
		if f != f {
			return false
		}
		if f == 0 {
			zeros[math.Float64bits(f)>>63] = true
		}
	}
	return !zeros[0] || !zeros[1]
}

// sortUpTo puts those values into places lo and hi (lo or the next) that
// sorting would put there. There are no NaNs.
func sortUpTo(v []float64, lo, hi int) {
	from, to := 0, len(v)
	for tries := 2 * bits.Len(uint(len(v))); to-from > few && tries > 0; tries-- {
		// The median of three as the pivot, by Hoare's scheme.
		a, b, c := v[from], v[from+(to-from)/2], v[to-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := from, to-1
		for i <= j {
			for v[i] < pivot {
				i++
			}
			for v[j] > pivot {
				j--
			}
			if i <= j {
				v[i], v[j] = v[j], v[i]
				i++
				j--
			}
		}
		// [from, j] <= pivot, [i, to) >= pivot, and what is between equals it.
		switch {
		case hi <= j:
			to = j + 1
		case lo >= i:
			from = i
		case lo > j && hi < i:
			return
		default: // lo and hi lie on two sides
			slices.Sort(v[from:to])
			return
		}
	}
	slices.Sort(v[from:to])
}
