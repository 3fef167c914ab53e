package binop

import (
	"errors"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// verdict gathers by step what can fail a join. Prometheus' engine goes step by
// step and stops at the first error, so the earliest step decides; at a step
// errors come in the order of the fields.
type verdict struct {
	manyThere  row.Bits // steps at which the "many" side has a sample
	duplicates faults   // two samples of a match group on the "one" side
	multiple   faults   // two results of a match group that must be unique
	last       []error  // by step the last error of a pair; nil if there is none
	same       faults   // two results with equal labels

	duplicate error // the first of duplicates
}

// faults is a set of steps.
type faults row.Bits

func newVerdict(n int) verdict {
	return verdict{
		manyThere: row.NewBits(n), duplicates: faults(row.NewBits(n)),
		multiple: faults(row.NewBits(n)), same: faults(row.NewBits(n)),
	}
}

// meet adds the steps that a and b have in common, and b to a.
func (f faults) meet(a, b row.Bits) {
	for w, x := range b {
		f[w] |= a[w] & x
		a[w] |= x
	}
}

// common adds the steps that a and b have in common.
func (f faults) common(a, b row.Bits) {
	for w, x := range b {
		f[w] |= a[w] & x
	}
}

// lastAt keeps the last error of a step, or the last annotation.
func (s *stream) lastAt(i int, err error) {
	if s.last == nil {
		s.last = make([]error, s.Env.Grid.N)
	}
	s.last[i] = err
}

func (s *stream) manyToOne() bool { return s.Matching.Card != parser.CardOneToOne }

// undecided leaves those steps of at that come before the first one that is known to
// fail, and tells whether there are any: what comes later changes nothing any more,
// and duplicates may make it as much as the product of both sides.
func (s *stream) undecided(at row.Bits) bool {
	filled := s.fillMany != nil || s.fillOne != nil
	for w, x := range s.duplicates {
		if !filled {
			x &= s.manyThere[w]
		}
		if x != 0 {
			at[w] &= x&-x - 1
			clear(at[w+1:])
			break
		}
	}
	return at.Any()
}

// decideDuplicates finds the first duplicate that matters, before rows of the
// "one" side change.
func (s *stream) decideDuplicates() {
	// Without a sample on the "many" side nothing is looked at, unless values are
	// filled in.
	if s.fillMany == nil && s.fillOne == nil {
		for w := range s.duplicates {
			s.duplicates[w] &= s.manyThere[w]
		}
	}
	if i := row.Bits(s.duplicates).Next(0); i >= 0 {
		s.duplicate = s.duplicateAt(i)
	}
}

// decide returns the error of the earliest step, or adds the annotations.
func (s *stream) decide() error {
	if s.Env.DelayedNames && s.Env.Instant() {
		clear(s.same) // is looked at when the names are gone
	}
	var annos annotations.Annotations
	any := row.NewBits(s.Env.Grid.N)
	for w := range any {
		any[w] = s.duplicates[w] | s.multiple[w] | s.same[w]
	}
	end := any.Next(0)
	if end < 0 {
		end = s.Env.Grid.N
	}
	if s.last != nil {
		if err := s.elems.annotateSteps(&annos, s.last[:end]); err != nil {
			return err
		}
	}
	if end == s.Env.Grid.N {
		s.Env.Annos.Merge(annos)
		return nil
	}
	switch {
	case row.Bits(s.duplicates).Get(end):
		return s.duplicate
	case row.Bits(s.multiple).Get(end):
		return multipleMatches(s.Matching)
	}
	if s.last != nil {
		if err := s.elems.annotate(&annos, s.last[end]); err != nil {
			return err
		}
	}
	return row.ErrSameLabels
}

// duplicateAt returns the error for the first duplicate at a step.
func (s *stream) duplicateAt(i int) error {
	seen := make(map[int32]int)
	for k, r := range s.one {
		if !s.present[k].Get(i) {
			continue
		}
		if other, ok := seen[s.sigs[k]]; ok {
			return duplicate(s.Matching, r.Labels, s.one[other].Labels)
		}
		seen[s.sigs[k]] = k
	}
	panic("binop: a duplicate that is none")
}

func multipleMatches(m *parser.VectorMatching) error {
	if m.Card == parser.CardOneToOne {
		return errors.New("multiple matches for labels: many-to-one matching must be explicit (group_left/group_right)")
	}
	return errors.New("multiple matches for labels: grouping labels must ensure unique matches")
}
