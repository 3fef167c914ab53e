package binop

import (
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// combine combines two rows of match group g at the steps of at into a row that may be one of them, and hands it over. A nil row
// stands for the value that is filled in.
func (s *stream) combine(g int32, into, many, one *row.Row, ls labels.Labels, at row.Bits, odd bool, emit func(*row.Row) error) error {
	l, r, lf, rf := many, one, s.fillMany, s.fillOne
	if s.swapped {
		l, r, lf, rf = r, l, rf, lf
	}
	if odd {
		s.samples(into, l, r, lf, rf, at)
	} else {
		if l != nil {
			lf = l.F
		}
		if r != nil {
			rf = r.F
		}
		if into == many || into == one {
			into.H = into.H[:0]
			into.Has.Clear()
		}
		s.columns(into, lf, rf, at)
	}
	s.note(g, ls, at, into)
	if into.Empty() {
		return nil
	}
	into.Labels, into.DropName, into.Key = ls, s.Bool, -1
	return emit(into)
}

// columns combines floats. into may be the row of l or r.
func (s *stream) columns(into *row.Row, l, r []float64, at row.Bits) {
	for w, in := range at {
		if in == 0 {
			continue
		}
		lo := w << 6
		hi := min(lo+64, len(into.F))
		out := into.F[lo:hi]
		into.Has[w] = in
		switch {
		case !s.Op.IsComparisonOperator():
			arithmetic(s.Op, out, l[lo:hi], r[lo:hi], in)
		case s.Bool:
			truths(out, compare(s.Op, l[lo:hi], r[lo:hi]))
		default:
			into.Has[w] = in & compare(s.Op, l[lo:hi], r[lo:hi])
			copy(out, l[lo:hi])
		}
	}
}

// samples combines samples one by one, and takes the steps that fail out of at.
func (s *stream) samples(into, l, r *row.Row, lf, rf []float64, at row.Bits) {
	for i := at.Next(0); i >= 0; i = at.Next(i + 1) {
		res, keep, info, err := s.elems.combine(valueAt(l, lf, i), valueAt(r, rf, i))
		if err != nil {
			s.lastAt(i, err)
			at.Unset(i)
			continue
		}
		if info != nil {
			s.lastAt(i, info)
		}
		if s.Bool {
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
	if h := r.HAt(i); h != nil {
		return value{h: h}
	}
	return value{f: r.F[i]}
}

// note keeps that group g gave a result with these labels at the steps of at,
// of which those in out were kept.
func (s *stream) note(g int32, ls labels.Labels, at row.Bits, out *row.Row) {
	if !s.manyToOne() || s.fillMany != nil {
		for len(s.matched) <= int(g) {
			s.matched = append(s.matched, nil)
		}
		have := s.matched[g]
		s.again = s.again || have != nil
		switch {
		case have == nil:
			s.matched[g] = s.copyOf(at)
		case !s.manyToOne():
			s.multiple.meet(have, at)
		default:
			for w, x := range at {
				have[w] |= x
			}
		}
	}
	if s.results == nil {
		return
	}
	s.noteLabels(g, ls.Hash(), at, presentAt(out))
}

// noteLabels keeps what group g gave for the labels of a hash: results of one
// group are to be unique, and so are those of all that are kept.
func (s *stream) noteLabels(g int32, hash uint64, at, kept row.Bits) {
	first, ok := s.results[hash]
	if !ok {
		first = -1
	}
	s.again = s.again || ok
	own := int32(-1)
	for k := first; k >= 0; k = s.produced[k].next {
		_, before := s.stepsOf(k)
		s.same.common(before, kept)
		if s.produced[k].sig == g {
			own = k
		}
	}
	if own >= 0 {
		matched, before := s.stepsOf(own)
		if s.manyToOne() {
			s.multiple.common(matched, at)
		}
		for w := range at {
			matched[w] |= at[w]
			before[w] |= kept[w]
		}
		return
	}
	s.results[hash] = int32(len(s.produced))
	s.produced = append(s.produced, produced{g, first})
	s.steps = append(append(s.steps, at...), kept...)
}

// stepsOf returns the steps of s.produced[k] that matched and that were kept.
func (s *stream) stepsOf(k int32) (matched, kept row.Bits) {
	words := len(s.manyThere)
	sets := s.steps[int(k)*2*words:]
	return sets[:words:words], sets[words : 2*words : 2*words]
}

func (s *stream) copyOf(b row.Bits) row.Bits {
	out := s.set()
	copy(out, b)
	return out
}
