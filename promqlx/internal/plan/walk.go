package plan

// Walk calls visit for n and, as long as that returns true, for all nodes below,
// in the order they are evaluated.
func Walk(n Node, visit func(Node) bool) {
	if !visit(n) {
		return
	}
	for _, c := range n.Children() {
		Walk(c, visit)
	}
}

// Rewrite replaces all nodes of a tree from the leaves up by what f makes of
// them, and returns what is made of n. The tree is changed. f may return what it
// was given; of the range of a Rollup it must return a *Subquery.
func Rewrite(n Node, f func(Node) Node) Node {
	replaceChildren(n, func(c Node) Node { return Rewrite(c, f) })
	return f(n)
}

// replaceChildren puts what f makes of each child in its place.
func replaceChildren(n Node, f func(Node) Node) {
	all := func(nodes []Node) {
		for i := range nodes {
			nodes[i] = f(nodes[i])
		}
	}
	switch n := n.(type) {
	case *Rollup:
		if n.Subquery != nil {
			n.Subquery = f(n.Subquery).(*Subquery)
		}
		all(n.Args)
	case *Subquery:
		n.Child = f(n.Child)
	case *Call:
		all(n.Args)
	case *Info:
		n.Child = f(n.Child)
	case *Aggregate:
		if n.Param != nil {
			n.Param = f(n.Param)
		}
		n.Child = f(n.Child)
	case *Binary:
		n.Left = f(n.Left)
		n.Right = f(n.Right)
	case *Minus:
		n.Child = f(n.Child)
	case *Once:
		n.Child = f(n.Child)
	case *Shared:
		n.Child = f(n.Child)
	}
}

// SelectorOf returns the selector that a node reads by itself, nil if it reads
// none: that of an Instant, a Matrix, or a Rollup without a subquery.
func SelectorOf(n Node) *Selector {
	switch n := n.(type) {
	case *Instant:
		return &n.Selector
	case *Matrix:
		return &n.Selector
	case *Rollup:
		return n.Selector
	}
	return nil
}

// reads tells whether there is a node below n that reads samples.
func reads(n Node) bool {
	found := false
	Walk(n, func(c Node) bool {
		_, info := c.(*Info)
		found = found || info || SelectorOf(c) != nil
		return !found
	})
	return found
}
