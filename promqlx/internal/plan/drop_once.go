package plan

// DropOnce takes away a Once that says nothing: right below another, or of a
// query for a single time.
func DropOnce(n Node, c Config) Node { return dropOnce(n, c.Instant) }

// dropOnce looks at n, which is evaluated at a single time if single.
func dropOnce(n Node, single bool) Node {
	switch n := n.(type) {
	case *Once:
		child := dropOnce(n.Child, true)
		if single {
			return child
		}
		n.Child = child
		return n
	case *Subquery:
		single = false
	}
	replaceChildren(n, func(child Node) Node { return dropOnce(child, single) })
	return n
}
