package aggr

import (
	"errors"
	"math"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// histSum is what sum and avg keep of the histograms at one step. The count is
// the one of the floats.
type histSum struct {
	value *histogram.FloatHistogram // nil if floats came first
	mean  *histogram.FloatHistogram
	comp  *histogram.FloatHistogram // compensation of the summation
	// norm is the sum of the magnitudes of all that was added, of an avg: as long
	// as it is far from the largest number nothing can have overflowed.
	norm float64

	seen           bool // there is a histogram
	incompatible   bool // exponential and custom buckets met
	incremental    bool // mean is in use
	reset, noReset bool // counter reset hints seen
}

// addSteps adds a row to a group step by step, as aggregation of Prometheus'
// promql/engine.go does.
func (a *sums) addSteps(g int, r *row.Row) {
	if a.hists == nil {
		a.hists = make(map[int][]histSum)
	}
	hs := a.hists[g]
	if hs == nil {
		hs = make([]histSum, a.n)
		a.hists[g] = hs
		a.heldHists += int64(a.n) * int64(unsafe.Sizeof(histSum{}))
	}
	a.noteDrop(g, r, func(int) bool { return true })
	v, c, has, count := a.v.at(g), a.c.at(g), row.Bits(a.has.at(g)), a.count.at(g)
	for i := range hs {
		s, h := &hs[i], r.HAt(i)
		if s.incompatible || h == nil && !r.Has.Get(i) {
			continue
		}
		first := !s.seen && !has.Get(i)
		if first && h != nil {
			a.heldHists += 2 * int64(h.Size()) // its copy, and the compensation
		}
		switch {
		case h != nil && a.avg:
			a.avgHistogram(s, i, h, a.counted(g, i)+1, first, r)
		case h != nil:
			a.sumHistogram(s, i, h, first, r)
		case !has.Get(i):
			has.Set(i)
			if first {
				v[i] = r.F[i]
				break
			}
			// Floats after a histogram have no result.
		case !s.seen:
			a.addFloat(g, i, r.F[i], v, c)
		}
		count[i]++
	}
}

// begin notes a histogram and tells whether there is something to add it to:
// not where it is the first, and not where floats came first.
func (s *histSum) begin(h *histogram.FloatHistogram, first bool) bool {
	s.seen = true
	if first {
		s.value = h.Copy()
	}
	if s.value == nil {
		return false
	}
	switch h.CounterResetHint {
	case histogram.CounterReset:
		s.reset = true
	case histogram.NotCounterReset:
		s.noReset = true
	}
	return !first
}

func (a *sums) sumHistogram(s *histSum, i int, h *histogram.FloatHistogram, first bool, r *row.Row) {
	if s.begin(h, first) {
		a.sumInPlace(s, i, h, r)
	}
}

func (a *sums) sumInPlace(s *histSum, i int, h *histogram.FloatHistogram, r *row.Row) {
	var reconciled bool
	var err error
	s.comp, _, reconciled, err = s.value.KahanAdd(h, s.comp)
	a.added(s, i, reconciled, err, r)
}

// safeNorm is a norm that no sum overflows below.
const safeNorm = 1e300

// normOf returns the sum of the magnitudes of a histogram's numbers.
func normOf(h *histogram.FloatHistogram) float64 {
	n := math.Abs(h.ZeroCount) + math.Abs(h.Count) + math.Abs(h.Sum)
	for _, fs := range [][]float64{h.PositiveBuckets, h.NegativeBuckets, h.CustomValues} {
		for _, f := range fs {
			n += math.Abs(f)
		}
	}
	return n
}

// added notes what came of an addition and tells whether it is good.
func (a *sums) added(s *histSum, i int, reconciled bool, err error, r *row.Row) bool {
	if err != nil {
		s.incompatible = true
		if !errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
			a.fail(i, err)
			return false
		}
		name := r.Labels.Get(model.MetricNameLabel)
		a.annos.Add(annotations.NewMixedExponentialCustomHistogramsWarning(name, a.ChildPos))
	}
	if reconciled {
		a.annos.Add(annotations.NewMismatchedCustomBucketsHistogramsInfo(a.ChildPos, annotations.HistogramAgg))
	}
	return err == nil
}

// avgHistogram adds h, which is the n-th sample. It tries on a copy what may
// overflow.
func (a *sums) avgHistogram(s *histSum, i int, h *histogram.FloatHistogram, n float64, first bool, r *row.Row) {
	s.norm += normOf(h)
	if !s.begin(h, first) {
		return
	}
	if !s.incremental {
		if s.norm < safeNorm {
			a.sumInPlace(s, i, h, r)
			return
		}
		v := s.value.Copy()
		var c *histogram.FloatHistogram
		if s.comp != nil {
			c = s.comp.Copy()
		}
		c, _, reconciled, err := v.KahanAdd(h, c)
		if !a.added(s, i, reconciled, err, r) {
			return
		}
		if !v.HasOverflow() {
			s.value, s.comp = v, c
			return
		}
		s.incremental = true
		s.mean = s.value.Copy().Div(n - 1)
		if s.comp != nil {
			s.comp.Div(n - 1)
		}
	}
	q := (n - 1) / n
	if s.comp != nil {
		s.comp.Mul(q)
	}
	toAdd := h.Copy().Div(n)
	var reconciled bool
	var err error
	s.comp, _, reconciled, err = s.mean.Mul(q).KahanAdd(toAdd, s.comp)
	a.added(s, i, reconciled, err, r)
}

// finishSteps puts the histograms into out and takes steps without result away.
func (a *sums) finishSteps(hs []histSum, out *row.Row, g int) {
	for i := range hs {
		s := &hs[i]
		if !s.seen {
			continue
		}
		if out.Has.Get(i) {
			a.annos.Add(annotations.NewMixedFloatsHistogramsAggWarning(a.ChildPos))
			out.Has.Unset(i)
			continue
		}
		if s.incompatible {
			continue
		}
		out.SetH(i, s.result(a.avg, a.counted(g, i)))
		if s.reset && s.noReset {
			a.annos.Add(annotations.NewHistogramCounterResetCollisionWarning(a.ChildPos, annotations.HistogramAgg))
		}
	}
}

// result returns the sum or the mean of n histograms. Add could fail only if
// KahanAdd had failed before.
func (s *histSum) result(avg bool, n float64) *histogram.FloatHistogram {
	v := s.value
	switch {
	case s.incremental:
		if v = s.mean; s.comp != nil {
			v, _, _, _ = s.mean.Add(s.comp)
		}
	case avg:
		v.Div(n)
		if s.comp != nil {
			v, _, _, _ = v.Add(s.comp.Div(n))
		}
	case s.comp != nil:
		v, _, _, _ = v.Add(s.comp)
	}
	return v.Compact(0)
}
