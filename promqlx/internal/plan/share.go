package plan

import (
	"strconv"
	"strings"
)

// Share marks what stands in several places of a plan, on the same grid: the
// largest parts that read samples. Rows that go from a selector into an
// aggregation one by one are not shared, as they would have to be kept.
//
// Parts are on the same grid if the same Subquery and the same Once are next
// above them.
func Share(root Node, _ Config) Node {
	s := &sharer{
		ids:    map[string]int{},
		places: map[place]int{},
		parts:  map[Node]int{},
		shared: map[place]*[]*Shared{},
	}
	s.number(root)
	s.count(root, nil)
	root = s.share(root, nil, false)
	return s.settle(root)
}

// place is a part, by what it says, and the node that sets its grid.
type place struct {
	part int
	grid Node
}

type sharer struct {
	ids    map[string]int // parts of equal Key have the same number
	parts  map[Node]int
	places map[place]int // how often
	shared map[place]*[]*Shared
}

// number finds out which parts say the same.
func (s *sharer) number(n Node) int {
	var b strings.Builder
	b.WriteString(head(n))
	if r, ok := n.(*Rollup); ok && r.Selector != nil {
		b.WriteString(selectorText(r.Selector))
	}
	for _, c := range n.Children() {
		b.WriteByte(' ')
		b.WriteString(strconv.Itoa(s.number(c)))
	}
	id, ok := s.ids[b.String()]
	if !ok {
		id = len(s.ids)
		s.ids[b.String()] = id
	}
	s.parts[n] = id
	return id
}

func (s *sharer) count(n Node, grid Node) {
	s.places[place{s.parts[n], grid}]++
	for _, c := range n.Children() {
		s.count(c, gridOf(n, grid))
	}
}

// gridOf returns what sets the grid of the children of n.
func gridOf(n, grid Node) Node {
	switch n.(type) {
	case *Subquery, *Once:
		return n
	}
	return grid
}

// share marks n, whose rows are not kept by what is above it if streams.
func (s *sharer) share(n Node, grid Node, streams bool) Node {
	at := place{s.parts[n], grid}
	if s.places[at] > 1 && sharable(n) && !(streams && bySeries(n)) {
		if s.shared[at] == nil {
			s.shared[at] = &[]*Shared{}
		}
		mark := &Shared{Child: n}
		*s.shared[at] = append(*s.shared[at], mark)
		return mark
	}
	_, folds := n.(*Aggregate)
	streams = folds || streams && rowwise(n) != nil
	replaceChildren(n, func(c Node) Node { return s.share(c, gridOf(n, grid), streams) })
	return n
}

// sharable tells whether it is worth it, and possible, to keep the rows of n.
func sharable(n Node) bool {
	switch n.(type) {
	case *Subquery, *Matrix:
		return false
	}
	return reads(n)
}

// settle numbers the marks in the order of Walk and takes away those that stand
// alone, because the other places are within larger parts.
func (s *sharer) settle(root Node) Node {
	group := map[*Shared]*[]*Shared{}
	for _, marks := range s.shared {
		for _, m := range *marks {
			group[m] = marks
		}
	}
	last := 0
	return Rewrite(root, func(n Node) Node {
		m, ok := n.(*Shared)
		if !ok {
			return n
		}
		marks := *group[m]
		m.Uses = len(marks)
		if m.Uses == 1 {
			return m.Child
		}
		if m.ID == 0 {
			last++
			for _, same := range marks {
				same.ID = last
			}
		}
		return m
	})
}
