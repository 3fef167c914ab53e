package binop

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Join combines two vectors: arithmetic, comparisons and set operators.
type Join struct {
	Op       parser.ItemType
	Matching *parser.VectorMatching
	Bool     bool
	Pos      posrange.PositionRange
	Env      *row.Env
}

// Run combines left and right, whose rows are not empty and belong to the join:
// results reuse their memory, and no row may be on both sides. Results come in
// the order of the "many" side (the left one, if there is none), then those of
// unmatched rows of the other side. Rows with equal labels are joined; where
// they meet the error is row.ErrSameLabels. Annotations are added at the end.
func (j *Join) Run(left, right []*row.Row) ([]*row.Row, error) {
	if j.Op.IsSetOperator() {
		return j.sets(left, right)
	}
	p := j.plan(left, right)
	if p == nil {
		return j.bySteps(left, right)
	}
	return p.run()
}

// plan is what a join does, found out before any value is touched.
type plan struct {
	*Join
	many, one []*row.Row
	swapped   bool // the "many" side is the right one
	pairs     []pair
	results   []result
	uses      []int32 // in how many pairs a row of the "many" side is
	usesOne   []int32
	elems     elems
	last      []error   // by step, nil as long as there is none
	lhs, rhs  []float64 // the values to fill in, of a row
}

// pair is two rows that meet at the steps of at. An index of -1 stands for the
// value that is filled in.
type pair struct {
	many, one int32
	result    int32
	at        row.Bits
}

// result is one series of the answer.
type result struct {
	labels labels.Labels
	pairs  int32
	at     row.Bits // steps of its pairs so far
	row    *row.Row
	next   int32 // another result with the same hash of its labels, or -1
}

// plan finds out which rows meet. It returns nil if that is to be looked at step
// by step: where rows that may not meet do at some steps, where it is unknown
// yet what is unmatched, and for operators that most samples fail.
func (j *Join) plan(left, right []*row.Row) *plan {
	p := &plan{Join: j, many: left, one: right, elems: elems{op: j.Op, pos: j.Pos}}
	fills := j.Matching.FillValues
	p.lhs, p.rhs = j.filled(fills.LHS), j.filled(fills.RHS)
	fillMany, fillOne := fills.LHS != nil, fills.RHS != nil
	if j.Matching.Card == parser.CardOneToMany {
		p.swapped = true
		p.many, p.one = p.one, p.many
		fillMany, fillOne = fillOne, fillMany
	}
	if trims(j.Op) || fillMany && (anyHistograms(p.many) || anyHistograms(p.one)) {
		return nil
	}
	m := newMatcher(p, fillMany || fillOne)
	if !m.oneIsUnique() {
		return nil
	}
	p.pairs, p.results = make([]pair, 0, len(p.many)), make([]result, 0, len(p.many))
	for i := range p.many {
		if !m.match(int32(i), fillOne) {
			return nil
		}
	}
	if fillMany {
		for i := range p.one {
			if !m.unmatched(int32(i)) {
				return nil
			}
		}
	}
	return p
}

// filled returns a row's worth of the value.
func (j *Join) filled(f *float64) []float64 {
	if f == nil {
		return nil
	}
	out := make([]float64, j.Env.Grid.N)
	for i := range out {
		out[i] = *f
	}
	return out
}

func anyHistograms(rows []*row.Row) bool {
	for _, r := range rows {
		if hasHistogram(r) {
			return true
		}
	}
	return false
}

// run combines the pairs in their order: of the errors at a step the last one
// counts.
func (p *plan) run() ([]*row.Row, error) {
	for i := range p.pairs {
		p.combine(&p.pairs[i])
	}
	var annos annotations.Annotations
	if err := p.elems.annotateSteps(&annos, p.last); err != nil {
		return nil, err
	}
	out := make([]*row.Row, 0, len(p.results))
	for _, res := range p.results {
		if !res.row.Empty() {
			out = append(out, res.row)
		}
	}
	p.Env.Annos.Merge(annos)
	return out, nil
}

// combine computes a pair.
func (p *plan) combine(x *pair) {
	res := &p.results[x.result]
	var l, r *row.Row
	if x.many >= 0 {
		l = p.many[x.many]
	}
	if x.one >= 0 {
		r = p.one[x.one]
	}
	odd := l != nil && hasHistogram(l) || r != nil && hasHistogram(r)
	into := res.row
	if into == nil {
		into = p.space(x, res.pairs == 1 && !odd)
		into.Labels, into.DropName, into.Key = res.labels, p.Bool, -1
		res.row = into
	}
	if p.swapped {
		l, r = r, l
	}
	if odd {
		p.steps(into, l, r, x.at)
		return
	}
	lf, rf := p.lhs, p.rhs
	if l != nil {
		lf = l.F
	}
	if r != nil {
		rf = r.F
	}
	p.floats(into, lf, rf, x.at, res.pairs == 1)
}

// space returns an empty row for the result of a pair: one of the two, if nobody
// else looks at it.
func (p *plan) space(x *pair, alone bool) *row.Row {
	var r *row.Row
	switch {
	case alone && x.many >= 0 && p.uses[x.many] == 1:
		r = p.many[x.many]
	case alone && x.one >= 0 && p.usesOne[x.one] == 1:
		r = p.one[x.one]
	default:
		return row.New(p.Env.Grid.N)
	}
	r.Has, r.H = nil, r.H[:0]
	return r
}

// floats computes the steps of at. If into is the pair's alone it may be one of
// the two, and takes at for its own; otherwise other steps of it stay.
func (p *plan) floats(into *row.Row, l, r []float64, at row.Bits, alone bool) {
	var buf [64]float64
	if alone {
		into.Has = at
	}
	for w, in := range at {
		if in == 0 {
			continue
		}
		lo := w << 6
		hi := min(lo+64, len(into.F))
		out := into.F[lo:hi]
		if !alone {
			out = buf[:hi-lo]
		}
		keep := p.word(out, l[lo:hi], r[lo:hi], in)
		if alone {
			into.Has[w] = keep
			continue
		}
		for i, f := range out {
			if keep>>i&1 != 0 {
				into.SetF(lo+i, f)
			}
		}
	}
}

// word computes at most 64 steps and returns which of those in in are kept.
func (p *plan) word(out, l, r []float64, in uint64) uint64 {
	if !p.Op.IsComparisonOperator() {
		arithmetic(p.Op, out, l, r, in)
		return in
	}
	holds := compare(p.Op, l, r)
	if p.Bool {
		truths(out, holds)
		return in
	}
	copy(out, l)
	return in & holds
}

// steps combines rows with histograms.
func (p *plan) steps(into, l, r *row.Row, at row.Bits) {
	for i := at.Next(0); i >= 0; i = at.Next(i + 1) {
		res, keep, info, err := p.elems.combine(valueAt(l, p.lhs, i), valueAt(r, p.rhs, i))
		failed := err != nil
		if !failed {
			err = info
		}
		if err != nil {
			if p.last == nil {
				p.last = make([]error, p.Env.Grid.N)
			}
			p.last[i] = err
		}
		if failed {
			continue
		}
		if p.Bool {
			res, keep = value{f: float64(bit(keep))}, true
		}
		if keep {
			into.SetAt(i, res.f, res.h)
		}
	}
}

// valueAt returns the sample of r at step i, of fill if there is no row.
func valueAt(r *row.Row, fill []float64, i int) value {
	if r == nil {
		return value{f: fill[i]}
	}
	return value{r.F[i], r.HAt(i)}
}
