package binop

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// addSet keeps the steps of r at which its match group is there, or is not. All
// of the left side of an or is kept, and masks the right side in the end.
func (s *stream) addSet(r *row.Row, emit func(*row.Row) error) error {
	r.Key = -1
	if s.Op == parser.LOR {
		s.mark(s.signs.of(r.Labels, true), r)
		return emit(r)
	}
	var steps row.Bits
	if g := s.signs.of(r.Labels, true); g >= 0 {
		steps = s.there[g]
	}
	if mask(r, steps, s.Op == parser.LAND); r.Empty() {
		return nil
	}
	return emit(r)
}

// endSet hands over what an or keeps of its right side.
func (s *stream) endSet(emit func(*row.Row) error) error {
	if s.Op != parser.LOR {
		return nil
	}
	for k, r := range s.one {
		var steps row.Bits
		if g := s.sigs[k]; int(g) < len(s.there) {
			steps = s.there[g]
		}
		if mask(r, steps, false); r.Empty() {
			continue
		}
		r.Key = -1
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}

// mark notes the steps of r for its match group, if the right side has it.
func (s *stream) mark(g int32, r *row.Row) {
	if g < 0 {
		return
	}
	if s.there == nil {
		s.there = make([]row.Bits, s.signs.seen.Len())
	}
	if s.there[g] == nil {
		s.there[g] = s.set()
	}
	for w, x := range presentAt(r) {
		s.there[g][w] |= x
	}
}

// presence returns by match group the steps with a sample. The sets may be those
// of the rows.
func presence(rows []*row.Row, sigs []int32, s *signer) []row.Bits {
	there := make([]row.Bits, s.seen.Len())
	own := make([]bool, s.seen.Len())
	for i, r := range rows {
		g, steps := sigs[i], presentAt(r)
		if there[g] == nil {
			there[g] = steps
			continue
		}
		if !own[g] {
			there[g], own[g] = append(row.Bits(nil), there[g]...), true
		}
		for w, x := range steps {
			there[g][w] |= x
		}
	}
	return there
}

// presentAt returns the steps at which r has a sample: its Has, or a new set if
// there are histograms.
func presentAt(r *row.Row) row.Bits {
	if !hasHistogram(r) {
		return r.Has
	}
	steps := append(row.Bits(nil), r.Has...)
	for i, h := range r.H {
		if h != nil {
			steps.Set(i)
		}
	}
	return steps
}

func hasHistogram(r *row.Row) bool {
	for _, h := range r.H {
		if h != nil {
			return true
		}
	}
	return false
}

// mask keeps the steps of r that are, or are not, in steps; nil is the empty set.
func mask(r *row.Row, steps row.Bits, keep bool) {
	if steps == nil {
		if keep {
			r.Has.Clear()
			clear(r.H)
		}
		return
	}
	for w := range r.Has {
		if keep {
			r.Has[w] &= steps[w]
		} else {
			r.Has[w] &^= steps[w]
		}
	}
	for i := range r.H {
		if steps.Get(i) != keep {
			r.H[i] = nil
		}
	}
}

// mergeRows joins rows with equal labels, as rangeEval of Prometheus' engine
// does: series that take turns are one, which loses its name if the earliest of
// them did. An instant query whose names go late keeps them apart.
func (j *Join) mergeRows(rows []*row.Row) ([]*row.Row, error) {
	if j.Env.DelayedNames && j.Env.Instant() {
		return rows, nil
	}
	type named struct {
		r    *row.Row
		step int // where the name was decided
	}
	seen := make(map[uint64]named, len(rows))
	for _, r := range rows {
		r.Key = -1
		h := r.Labels.Hash()
		first, ok := seen[h]
		switch {
		case !ok:
			seen[h] = named{r, -1}
		case labels.Equal(first.r.Labels, r.Labels):
			if first.step < 0 {
				first.step = firstStep(first.r)
			}
			if step := firstStep(r); step < first.step {
				first.r.DropName, first.step = r.DropName, step
			}
			seen[h] = first
		}
	}
	if len(seen) == len(rows) {
		return rows, nil
	}
	return row.MergeSame(rows)
}

// firstStep returns the first step with a sample.
func firstStep(r *row.Row) int {
	for i := range r.F {
		if r.At(i) {
			return i
		}
	}
	return r.Steps()
}
