package binop

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// sets runs and, or and unless: steps of rows are kept by whether their match
// group has a sample on the other side.
func (j *Join) sets(left, right []*row.Row) ([]*row.Row, error) {
	s := newSigner(j.Matching)
	var out []*row.Row
	switch j.Op {
	case parser.LOR:
		there := presence(left, s.all(left, false), s)
		out = append(left, mask(right, s.all(right, true), there, false)...)
	default:
		there := presence(right, s.all(right, false), s)
		out = mask(left, s.all(left, true), there, j.Op == parser.LAND)
	}
	return j.mergeRows(out)
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

// mask keeps of rows the steps at which their match group is there, or is not,
// and leaves rows out that are empty then.
func mask(rows []*row.Row, sigs []int32, there []row.Bits, keep bool) []*row.Row {
	out := rows[:0]
	for i, r := range rows {
		if sigs[i] < 0 {
			if !keep {
				out = append(out, r)
			}
			continue
		}
		steps := there[sigs[i]]
		for w := range r.Has {
			if keep {
				r.Has[w] &= steps[w]
			} else {
				r.Has[w] &^= steps[w]
			}
		}
		for k := range r.H {
			if steps.Get(k) != keep {
				r.H[k] = nil
			}
		}
		if !r.Empty() {
			out = append(out, r)
		}
	}
	return out
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
