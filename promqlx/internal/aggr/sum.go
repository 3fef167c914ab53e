package aggr

import (
	"math"
	"math/bits"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// sums are the groups of sum and avg: by step a compensated sum, as SUM and AVG
// in aggregation of Prometheus' promql/engine.go. A step whose sum of an avg
// would overflow goes on as an incremental mean in the same place.
type sums struct {
	base
	avg bool
	v   column[float64] // sum, or mean at the steps of inc
	c   column[float64] // compensation
	has column[uint64]  // steps with floats
	// The count of an avg is that of the rows without gaps plus that of others
	// at the step.
	whole     column[uint32]
	count     column[uint32]
	inc       map[int]row.Bits  // steps of a group with an incremental mean
	hists     map[int][]histSum // by group, then by step: groups that have histograms
	heldHists int64
	masked    [64]float64
}

func newSums(b base) *sums {
	a := &sums{base: b, avg: b.Op == parser.AVG}
	a.v, a.c = newFloats(b.env, b.n), newFloats(b.env, b.n)
	a.has = newColumn[uint64](b.words)
	a.whole, a.count = newColumn[uint32](1), newColumn[uint32](b.n)
	return a
}

func (a *sums) Add(g int, r *row.Row) {
	if a.hists != nil && a.hists[g] != nil || anyHistogram(r.H) {
		a.addSteps(g, r)
		return
	}
	a.noteDrop(g, r, nil)
	v, c, has, inc := a.v.at(g), a.c.at(g), a.has.at(g), a.inc[g]
	for w, in := range r.Has {
		if in == 0 {
			continue
		}
		old := has[w]
		has[w] = old | in
		lo := w << 6
		hi := min(lo+64, a.n)
		alone := in // steps to be added one by one
		switch {
		case old == 0:
			copyMasked(v[lo:hi], r.F[lo:hi], in)
			continue
		case bits.OnesCount64(in) < sparse && in != a.full(w), inc != nil:
		case in == a.full(w):
			alone = addCompensated(v[lo:hi], c[lo:hi], r.F[lo:hi])
		default:
			copyMasked(a.masked[:hi-lo], r.F[lo:hi], in)
			alone &= addCompensated(v[lo:hi], c[lo:hi], a.masked[:hi-lo])
		}
		for ; alone != 0; alone &= alone - 1 {
			k := bits.TrailingZeros64(alone)
			if i := lo + k; old>>k&1 != 0 {
				a.addFloat(g, i, r.F[i], v, c)
			} else {
				v[i] = r.F[i]
			}
		}
	}
	if a.avg {
		a.countRow(g, r.Has)
	}
}

// sparse is the number of steps of 64 below which they are added one by one.
const sparse = 12

// copyMasked copies x to v at the steps of in and puts -0 at others, which
// changes nothing where it is added, and to which anything can be added.
func copyMasked(v, x []float64, in uint64) {
	x = x[:len(v)]
	for i, f := range x {
		m := -(in >> i & 1)
		v[i] = math.Float64frombits(math.Float64bits(f)&m | 1<<63&^m)
	}
}

func (a *sums) countRow(g int, has row.Bits) {
	if a.isFull(has) {
		a.whole.at(g)[0]++
		return
	}
	countSteps(a.count.at(g), has)
}

// countSteps adds one to the steps of the set.
func countSteps(count []uint32, has row.Bits) {
	for w, in := range has {
		lo := w << 6
		if bits.OnesCount64(in) >= sparse {
			for i := range count[lo:min(lo+64, len(count))] {
				count[lo+i] += uint32(in >> i & 1)
			}
			continue
		}
		for ; in != 0; in &= in - 1 {
			count[lo+bits.TrailingZeros64(in)]++
		}
	}
}

// counted returns how many samples a step of an avg has.
func (a *sums) counted(g, i int) float64 {
	n := a.whole.at(g)[0]
	if count := a.count.peek(g); count != nil {
		n += count[i]
	}
	return float64(n)
}

// addCompensated adds x to the sums v with the compensations c, all of one
// length of at most 64. It returns the places it left alone, because sum or
// compensation would not be finite; kahansum.Inc knows what to do there.
//
// The error of an addition is computed without a branch (Knuth's TwoSum). It is
// the same as Neumaier's in kahansum.Inc, since both are exact; where an
// intermediate overflows the result is not finite.
func addCompensated(v, c, x []float64) (bad uint64) {
	c, x = c[:len(v)], x[:len(v)]
	for i, s := range v {
		t := s + x[i]
		b := t - s
		e := c[i] + ((s - (t - b)) + (x[i] - b))
		if math.Float64bits(e)<<1 >= 0x7ff<<53 {
			bad |= 1 << i
			continue
		}
		v[i], c[i] = t, e
	}
	return bad
}

// addFloat adds f at step i, which has a float already. The count of an avg
// does not have f yet.
func (a *sums) addFloat(g, i int, f float64, v, c []float64) {
	if !a.avg {
		v[i], c[i] = kahansum.Inc(f, v[i], c[i])
		return
	}
	inc := a.inc[g]
	if inc == nil || !inc.Get(i) {
		newV, newC := kahansum.Inc(f, v[i], c[i])
		if !math.IsInf(newV, 0) {
			v[i], c[i] = newV, newC
			return
		}
		if inc == nil {
			inc = row.NewBits(a.n)
			if a.inc == nil {
				a.inc = make(map[int]row.Bits)
			}
			a.inc[g] = inc
		}
		inc.Set(i)
		before := a.counted(g, i)
		v[i] /= before
		c[i] /= before
	}
	n := a.counted(g, i) + 1
	q := (n - 1) / n
	v[i], c[i] = kahansum.Inc(f/n, q*v[i], q*c[i])
}

func (a *sums) Finish(groups []labels.Labels, emit func(*row.Row) error) error {
	if a.err != nil {
		return a.err
	}
	var out row.Row
	for g, ls := range groups {
		clear(out.H)
		out.F, out.Has, out.H = a.v.at(g), a.has.at(g), out.H[:0]
		a.total(g, out.F)
		if hs := a.hists[g]; hs != nil {
			a.finishSteps(hs, &out, g)
		}
		if err := a.emitGroup(g, ls, &out, emit); err != nil {
			return err
		}
	}
	a.finish()
	return nil
}

// total makes the results of the floats of group g.
func (a *sums) total(g int, v []float64) {
	c := a.c.at(g)
	if !a.avg {
		for i := range v {
			v[i] += c[i]
		}
		return
	}
	whole, count, inc := a.whole.at(g)[0], a.count.peek(g), a.inc[g]
	for i := range v {
		if inc != nil && inc.Get(i) {
			v[i] += c[i]
			continue
		}
		n := float64(whole)
		if count != nil {
			n += float64(count[i])
		}
		v[i] = float64(v[i]/n) + float64(c[i]/n)
	}
}

func (a *sums) Bytes() int64 {
	n := 8*(a.v.held+a.c.held+a.has.held) + 4*(a.whole.held+a.count.held)
	n += 8 * a.words * len(a.inc)
	return int64(n) + a.heldHists
}

// Free gives the columns back.
func (a *sums) Free() {
	a.v.free()
	a.c.free()
}
