package plan

// Range is the samples that a node reads by itself.
type Range struct {
	// Of is an *Instant, *Matrix, *Rollup, or *Info.
	Of Node
	// Min and Max are the times of the first and the last sample that may be
	// seen, in milliseconds. What is before Min or after Max must be hidden from
	// the node: as a rule it would not look there, but see Instant.
	Min, Max int64
}

// Ranges returns which samples the nodes of a plan read, in the order of Walk,
// for a query from start to end, as asked for, and with a look-back, all in
// milliseconds. (getTimeRangesForSelector and FindMinMaxTime of Prometheus'
// promql/engine.go.)
func Ranges(root Node, start, end, lookback int64) []Range {
	r := ranger{start: start, end: end, lookback: lookback}
	r.walk(root, shift{})
	return r.found
}

type ranger struct {
	start, end, lookback int64
	found                []Range
}

// shift is what the subqueries above a node do to its times.
type shift struct {
	offset, span int64
	at           *int64
}

func (r *ranger) walk(n Node, s shift) {
	switch n := n.(type) {
	case *Instant:
		r.add(n, &n.Selector, r.lookback, s)
	case *Matrix:
		r.add(n, &n.Selector, r.window(&n.Selector, n.Range), s)
	case *Rollup:
		if n.Selector != nil {
			r.add(n, n.Selector, r.window(n.Selector, n.Range), s)
		}
	case *Info:
		r.add(n, &Selector{Offset: n.Offset, At: n.At}, r.lookback, s)
	case *Subquery:
		if n.At != nil {
			s = shift{at: n.At}
		}
		s.offset += n.Offset
		s.span += n.Range
	}
	for _, c := range n.Children() {
		r.walk(c, s)
	}
}

// window returns how far before a step a range vector reaches.
func (r *ranger) window(sel *Selector, span int64) int64 {
	if sel.Anchored || sel.Smoothed {
		return span + r.lookback
	}
	return span
}

func (r *ranger) add(of Node, sel *Selector, window int64, s shift) {
	from, to := r.start, r.end
	if s.at != nil {
		from, to = *s.at, *s.at
	}
	if sel.At != nil {
		from, to = *sel.At, *sel.At
	} else {
		from -= s.offset + s.span
		to -= s.offset
	}
	from -= window
	if sel.Smoothed {
		to += r.lookback
	}
	// Windows are open on the left.
	r.found = append(r.found, Range{of, from + 1 - sel.Offset, to - sel.Offset})
}
