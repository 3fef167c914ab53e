package aggr

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// The int64 range as floats, as Prometheus' engine bounds it.
const (
	maxInt64 = 9223372036854774784
	minInt64 = -9223372036854775808
)

// countsOf returns the parameter of topk, bottomk and limitk as numbers, nil if
// there is nothing to be chosen at any step.
func countsOf(param []float64) ([]int64, error) {
	e := extentOf(param)
	switch {
	case e.max < 1:
		return nil, nil
	case e.nan:
		return nil, errors.New("Parameter value is NaN") //nolint:staticcheck // the words of Prometheus' engine
	case e.min <= minInt64:
		return nil, fmt.Errorf("Scalar value %v underflows int64", e.min) //nolint:staticcheck // as above
	case e.max >= maxInt64:
		return nil, fmt.Errorf("Scalar value %v overflows int64", e.max) //nolint:staticcheck // as above
	}
	ks := make([]int64, len(param))
	for i, f := range param {
		ks[i] = int64(f)
	}
	return ks, nil
}

// tops are the groups of topk and bottomk. Of rows that are in no heap any more
// nothing is kept.
type tops struct {
	base
	heaps
	bottom bool
	k      []int64 // by step; nil: nothing is chosen
	most   int64   // of k
	same   bool    // k is the same at all steps
	// tops are by group and step what a value must beat to be of interest: the
	// top of the heap, NaN (which anything may beat) if it is not full.
	tops column[float64]
	// touched are the groups that tops is set up for.
	touched []bool
}

func newTops(b base) *tops {
	a := &tops{base: b, bottom: b.Op == parser.BOTTOMK, tops: newFloats(b.env, b.n)}
	a.heaps = newHeaps(b.n, a.bottom)
	a.k, a.err = countsOf(b.Param)
	a.same = true
	for _, k := range a.k {
		a.most, a.same = max(a.most, k), a.same && k == a.k[0]
	}
	return a
}

func (a *tops) Add(g int, r *row.Row) {
	if a.k == nil {
		return
	}
	for i, h := range r.H {
		if h != nil && a.k[i] >= 1 {
			a.ignored = true
		}
	}
	top := a.tops.at(g)
	a.setUp(g, top)
	gr := a.group(g)
	a.cur = -1
	if a.same && gr.room == 0 {
		a.first(gr, r, top)
		a.forget()
		return
	}
	for w, x := range r.Has {
		if x == 0 {
			continue
		}
		lo := w << 6
		hi := min(lo+64, a.base.n)
		if a.bottom {
			x &= interestingBottom(top[lo:hi], r.F[lo:hi])
		} else {
			x &= interestingTop(top[lo:hi], r.F[lo:hi])
		}
		switch {
		case x == 0:
		case a.same && gr.full == a.base.n:
			a.replace(gr, lo, x, r, top)
		default:
			a.offer(gr, lo, x, r, top)
		}
	}
	a.forget()
}

// setUp starts a group's tops.
func (a *tops) setUp(g int, top []float64) {
	for len(a.touched) <= g {
		a.touched = append(a.touched, false)
	}
	if a.touched[g] {
		return
	}
	a.touched[g] = true
	for i := range top {
		top[i] = math.NaN()
	}
}

// interestingTop returns the places where x beats top.
func interestingTop(top, x []float64) (places uint64) {
	x = x[:len(top)]
	for i, t := range top {
		if !(t >= x[i]) {
			places |= 1 << i
		}
	}
	return places
}

// interestingBottom returns the places where x is below top.
func interestingBottom(top, x []float64) (places uint64) {
	x = x[:len(top)]
	for i, t := range top {
		if !(t <= x[i]) {
			places |= 1 << i
		}
	}
	return places
}

// offer takes the samples of r at the places x of the 64 steps from lo on that are
// among the k so far, as aggregationK of Prometheus' promql/engine.go.
func (a *tops) offer(gr *heapGroup, lo int, x uint64, r *row.Row, top []float64) {
	for ; x != 0; x &= x - 1 {
		i := lo + bits.TrailingZeros64(x)
		k, f := a.k[i], r.F[i]
		switch size := int64(gr.size[i]); {
		case k < 1:
		case size < k:
			h := a.push(gr, i, f, r, a.most)
			if size+1 == k {
				top[i] = h.f[0]
				gr.full++
			}
		default:
			h := a.at(gr, i)
			if !a.beats(f, h.f[0]) {
				continue
			}
			from := a.choose(r)
			a.release(h.from[0])
			settle(h.f, h.from, f, from, a.bottom)
			top[i] = h.f[0]
		}
	}
}

// first is offer for all samples of the first row of a group that has any, where as
// many values are to be at all steps: each is a heap of its own.
func (a *tops) first(gr *heapGroup, r *row.Row, top []float64) {
	count := r.Has.Count()
	if count == 0 {
		return
	}
	a.widen(gr, a.most)
	number := a.number(r)
	a.refs[number] += int32(count)
	if a.most == 1 {
		gr.full = count
	}
	for i := r.Has.Next(0); i >= 0; i = r.Has.Next(i + 1) {
		gr.f[i], gr.from[i], gr.size[i] = r.F[i], number, 1
		if a.most == 1 {
			top[i] = r.F[i]
		}
	}
}

// replace is offer for a group whose heaps are full, with as many values at all steps.
// At the places x a sample of r beats the top, unless it is NaN. Rows that go are let
// go by runs of steps.
func (a *tops) replace(gr *heapGroup, lo int, x uint64, r *row.Row, top []float64) {
	k := gr.room
	number, refs := a.number(r), int32(0)
	gone, times := int32(-1), int32(0)
	for ; x != 0; x &= x - 1 {
		i := lo + bits.TrailingZeros64(x)
		f := r.F[i]
		if f != f {
			continue
		}
		from := gr.from[i*k : i*k+k]
		if from[0] != gone {
			if times > 0 {
				a.releaseMany(gone, times)
			}
			gone, times = from[0], 0
		}
		times++
		refs++
		if k == 1 {
			gr.f[i], from[0], top[i] = f, number, f
			continue
		}
		fs := gr.f[i*k : i*k+k]
		settle(fs, from, f, number, a.bottom)
		top[i] = fs[0]
	}
	if times > 0 {
		a.releaseMany(gone, times)
	}
	a.refs[number] += refs
}

// beats tells whether f takes the place of t.
func (a *tops) beats(f, t float64) bool {
	if a.bottom {
		return t > f || t != t && f == f
	}
	return t < f || t != t && f == f
}

func (a *tops) Finish(_ []labels.Labels, emit func(*row.Row) error) error {
	if a.err != nil {
		return a.err
	}
	var err error
	if a.base.n == 1 {
		err = a.emitOrdered(true, emit)
	} else {
		err = a.emitRows(emit)
	}
	a.finish()
	return err
}

func (a *tops) Bytes() int64 { return a.heaps.bytes() + int64(8*a.tops.held+len(a.touched)) }

// Free gives the columns back.
func (a *tops) Free() {
	a.tops.free()
}
