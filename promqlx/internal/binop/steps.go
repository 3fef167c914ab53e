package binop

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// sample is one of a vector at a step.
type sample struct {
	labels labels.Labels
	value
	drop bool
	sig  int32
}

// stepper joins step by step as Prometheus' engine does: it is the slow twin of
// stream, for tests to compare.
type stepper struct {
	*Join
	elems   elems
	labeler *labeler
	signs   *signer
	out     []sample

	// Results by hash of their labels, in order.
	byHash  map[uint64]*stepResult
	results []*row.Row
}

type stepResult struct {
	row  *row.Row
	last int // step of its last sample
}

// bySteps joins as rangeEval of Prometheus' promql/engine.go. Rows are not
// changed.
func (j *Join) bySteps(left, right []*row.Row) ([]*row.Row, error) {
	s := &stepper{
		Join: j, elems: elems{op: j.Op, pos: j.Pos}, labeler: j.newLabeler(),
		signs: newSigner(j.Matching), byHash: make(map[uint64]*stepResult),
	}
	lsigs, rsigs := s.signs.all(left, false), s.signs.all(right, false)
	var annos annotations.Annotations
	var lhs, rhs []sample
	for i := range j.Env.Grid.N {
		lhs, rhs = vectorAt(lhs[:0], left, lsigs, i), vectorAt(rhs[:0], right, rsigs, i)
		s.out = s.out[:0]
		var last error
		if j.Op.IsSetOperator() {
			s.setsAt(lhs, rhs)
		} else {
			var err error
			if last, err = s.binopAt(lhs, rhs); err != nil {
				return nil, err
			}
		}
		if err := s.elems.annotate(&annos, last); err != nil {
			return nil, err
		}
		if err := s.collect(i); err != nil {
			return nil, err
		}
	}
	j.Env.Annos.Merge(annos)
	return s.results, nil
}

// vectorAt appends the samples at step i.
func vectorAt(dst []sample, rows []*row.Row, sigs []int32, i int) []sample {
	for k, r := range rows {
		switch h := r.HAt(i); {
		case r.Has.Get(i):
			dst = append(dst, sample{r.Labels, value{f: r.F[i]}, r.DropName, sigs[k]})
		case h != nil:
			dst = append(dst, sample{r.Labels, value{h: h}, r.DropName, sigs[k]})
		}
	}
	return dst
}

// collect adds the samples of step i to the results.
func (s *stepper) collect(i int) error {
	apart := s.Env.Instant() && s.Env.DelayedNames
	for _, x := range s.out {
		h := x.labels.Hash()
		res := s.byHash[h]
		switch {
		case res == nil || apart:
			res = &stepResult{row.New(s.Env.Grid.N), -1}
			res.row.Labels, res.row.DropName = x.labels, x.drop
			s.byHash[h] = res
			s.results = append(s.results, res.row)
		case res.last == i:
			return row.ErrSameLabels
		}
		res.last = i
		res.row.SetAt(i, x.f, x.h)
	}
	return nil
}

// setsAt is VectorAnd, VectorOr and VectorUnless of Prometheus' engine.
func (s *stepper) setsAt(lhs, rhs []sample) {
	there := make([]bool, s.signs.seen.Len())
	others := rhs
	if s.Op == parser.LOR {
		others = lhs
	}
	for _, x := range others {
		there[x.sig] = true
	}
	switch s.Op {
	case parser.LOR:
		s.out = append(s.out, lhs...)
		for _, x := range rhs {
			if !there[x.sig] {
				s.out = append(s.out, x)
			}
		}
	default:
		for _, x := range lhs {
			if there[x.sig] == (s.Op == parser.LAND) {
				s.out = append(s.out, x)
			}
		}
	}
}

// stepJoin is a join at one step.
type stepJoin struct {
	*stepper
	one     []*sample             // by match group
	matched []map[uint64]struct{} // hashes of the results, by match group
	last    error                 // may be an annotation
}

// binopAt is VectorBinop of Prometheus' engine. The first error is the last one
// of the samples, the second one that of the query.
func (s *stepper) binopAt(lhs, rhs []sample) (last, err error) {
	m := s.Matching
	fillLHS, fillRHS := m.FillValues.LHS, m.FillValues.RHS
	if len(lhs) == 0 && len(rhs) == 0 || (len(lhs) == 0 || len(rhs) == 0) && fillLHS == nil && fillRHS == nil {
		return nil, nil
	}
	if m.Card == parser.CardOneToMany {
		lhs, rhs = rhs, lhs
		fillLHS, fillRHS = fillRHS, fillLHS
	}
	n := s.signs.seen.Len()
	j := stepJoin{stepper: s, one: make([]*sample, n), matched: make([]map[uint64]struct{}, n)}
	for i := range rhs {
		x := &rhs[i]
		if other := j.one[x.sig]; other != nil {
			return nil, duplicate(m, x.labels, other.labels)
		}
		j.one[x.sig] = x
	}
	for _, x := range lhs {
		one := j.one[x.sig]
		if one == nil {
			if fillRHS == nil {
				continue
			}
			one = &sample{labels: matchLabels(x.labels, m), value: value{f: *fillRHS}}
		}
		if err := j.pair(x, *one, x.sig); err != nil {
			return nil, err
		}
	}
	if fillLHS == nil {
		return j.last, nil
	}
	for _, x := range rhs {
		if len(j.matched[x.sig]) > 0 {
			continue
		}
		many := sample{labels: matchLabels(x.labels, m), value: value{f: *fillLHS}}
		if err := j.pair(many, x, x.sig); err != nil {
			return nil, err
		}
	}
	return j.last, nil
}

// duplicate is the error for two samples of one match group on the "one" side.
func duplicate(m *parser.VectorMatching, a, b labels.Labels) error {
	side := "right"
	if m.Card == parser.CardOneToMany {
		side = "left"
	}
	first, second := a.String(), b.String()
	if first > second {
		first, second = second, first
	}
	return fmt.Errorf("found duplicate series for the match group %s on the %s hand-side of the operation: [%s, %s]"+
		";many-to-many matching not allowed: matching labels must be unique on one side", matchLabels(a, m), side, first, second)
}

// pair combines two samples.
func (j *stepJoin) pair(many, one sample, sig int32) error {
	l, r := many.value, one.value
	if j.Matching.Card == parser.CardOneToMany {
		l, r = r, l
	}
	res, keep, info, err := j.elems.combine(l, r)
	if err != nil {
		j.last = err
		return nil
	}
	if info != nil {
		j.last = info
	}
	if j.Bool {
		res = value{f: float64(bit(keep))}
	}
	ls := j.labeler.of(many.labels, one.labels)
	key := uint64(0)
	if j.Matching.Card != parser.CardOneToOne {
		key = ls.Hash()
	}
	if _, ok := j.matched[sig][key]; ok {
		return multipleMatches(j.Matching)
	}
	if j.matched[sig] == nil {
		j.matched[sig] = make(map[uint64]struct{})
	}
	j.matched[sig][key] = struct{}{}
	if keep || j.Bool {
		j.out = append(j.out, sample{labels: ls, value: res, drop: j.Bool})
	}
	return nil
}
