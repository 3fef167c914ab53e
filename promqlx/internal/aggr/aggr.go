package aggr

import (
	"fmt"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Spec says what to aggregate.
type Spec struct {
	Op       parser.ItemType
	Param    []float64 // of topk, bottomk, limitk, limit_ratio and quantile, by step
	Text     string    // label of count_values
	Grouping []string  // sorted; with the metadata labels if Without
	Without  bool
	// Pos is the position of the aggregation, ChildPos and ParamPos those of its
	// arguments.
	Pos, ChildPos, ParamPos posrange.PositionRange
}

// Accumulator holds the groups of one aggregation. It is not for concurrent
// use, but several may be filled at once: only Finish touches what they share.
type Accumulator interface {
	// Add folds r, which is not empty, into group g. Groups are numbered from 0
	// in the order they first appear. r belongs to the caller: what is needed of
	// it later is copied.
	Add(g int, r *row.Row)
	// Finish hands over the results in the order in which Prometheus' engine has
	// them in an instant query. groups are the label sets of the groups. A row
	// given to emit is valid during the call only. It is called once, at last,
	// even if there was nothing to add: a bad parameter is an error all the same.
	// The annotations of the aggregation come last, after those of its rows.
	Finish(groups []labels.Labels, emit func(*row.Row) error) error
	// Bytes returns the memory held, for the query's budget. It costs little.
	Bytes() int64
	// Free gives memory back that is used again. Nothing may be called afterwards.
	Free()
}

// New returns an empty accumulator for spec, over the steps of env.Grid.
func New(spec Spec, env *row.Env) Accumulator {
	b := newBase(spec, env)
	switch spec.Op {
	case parser.SUM, parser.AVG:
		return newSums(b)
	case parser.MIN, parser.MAX:
		return newExtremes(b)
	case parser.COUNT, parser.GROUP:
		return newCounts(b)
	case parser.STDDEV, parser.STDVAR:
		return newVariances(b)
	case parser.QUANTILE:
		return newQuantiles(b)
	case parser.TOPK, parser.BOTTOMK:
		return newTops(b)
	case parser.LIMITK, parser.LIMIT_RATIO:
		return newLimits(b)
	case parser.COUNT_VALUES:
		return newValues(b)
	}
	panic(fmt.Sprintf("aggr: no aggregation %v", spec.Op))
}

// base is what all accumulators have.
type base struct {
	Spec
	env   *row.Env
	n     int    // steps
	words int    // of a set of steps
	last  uint64 // the steps of the last word

	// drops are the steps at which a group lost its name, kept only if names are
	// removed late.
	drops []row.Bits
	annos annotations.Annotations
	// ignored tells that there were histograms where only floats count.
	ignored bool
	// err is the first error by step, then by series.
	err     error
	errStep int
}

func newBase(spec Spec, env *row.Env) base {
	n := env.Grid.N
	b := base{Spec: spec, env: env, n: n, words: (n + 63) / 64, last: ^uint64(0)}
	if rest := n & 63; rest != 0 {
		b.last = 1<<rest - 1
	}
	return b
}

// Free is for those that have nothing to give back.
func (b *base) Free() {}

// full returns the steps that word w of a set can have.
func (b *base) full(w int) uint64 {
	if w == b.words-1 {
		return b.last
	}
	return ^uint64(0)
}

// isFull tells whether all steps are in the set.
func (b *base) isFull(has row.Bits) bool {
	for w, x := range has {
		if x != b.full(w) {
			return false
		}
	}
	return true
}

// fail notes an error at step i, unless there is one at that step or before.
func (b *base) fail(i int, err error) {
	if b.err == nil || i < b.errStep {
		b.err, b.errStep = err, i
	}
}

// noteDrop notes, where names are removed late, that r came without name. Its
// floats count; its histograms count at the steps in seen.
func (b *base) noteDrop(g int, r *row.Row, seen func(i int) bool) {
	if !b.env.DelayedNames || !r.DropName {
		return
	}
	for len(b.drops) <= g {
		b.drops = append(b.drops, nil)
	}
	if b.drops[g] == nil {
		b.drops[g] = row.NewBits(b.n)
	}
	d := b.drops[g]
	for w, x := range r.Has {
		d[w] |= x
	}
	for i, h := range r.H {
		if h != nil && seen(i) {
			d.Set(i)
		}
	}
}

// dropName tells whether the group's name is to go: the last step decides.
func (b *base) dropName(g int, out *row.Row) bool {
	if g >= len(b.drops) || b.drops[g] == nil {
		return false
	}
	for i := b.n - 1; i >= 0; i-- {
		if out.At(i) {
			return b.drops[g].Get(i)
		}
	}
	return false
}

// emitGroup hands over the row of group g.
func (b *base) emitGroup(g int, ls labels.Labels, out *row.Row, emit func(*row.Row) error) error {
	if out.Empty() {
		return nil
	}
	out.Labels, out.Key = ls, -1
	out.DropName = b.dropName(g, out)
	return emit(out)
}

// finish adds the annotations to those of the evaluation.
func (b *base) finish() {
	if b.ignored {
		b.annos.Add(annotations.NewHistogramIgnoredInAggregationInfo(b.Op.String(), b.ignoredPos()))
	}
	b.env.Annos.Merge(b.annos)
}

func (b *base) ignoredPos() posrange.PositionRange {
	if b.Op == parser.TOPK || b.Op == parser.BOTTOMK {
		return b.Pos
	}
	return b.ChildPos
}

// anyHistogram tells whether there is one.
func anyHistogram(hs []*histogram.FloatHistogram) bool {
	for _, h := range hs {
		if h != nil {
			return true
		}
	}
	return false
}
