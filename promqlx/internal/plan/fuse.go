package plan

import "github.com/prometheus/prometheus/promql/parser"

// Fuse marks aggregations of what comes series by series from a selector, through
// functions of single rows alone: the group of a row is that of its series, which
// a store can tell without making labels.
func Fuse(root Node, _ Config) Node {
	Walk(root, func(n Node) bool {
		if a, ok := n.(*Aggregate); ok {
			a.Fused = a.Op != parser.COUNT_VALUES && (a.Without || !hasMetadata(a.Grouping)) && bySeries(a.Child)
		}
		return true
	})
	return root
}

// bySeries tells whether each row of n is made of one series of a selector.
func bySeries(n Node) bool {
	switch n := n.(type) {
	case *Instant:
		return !(n.Time != "" && n.Collide)
	case *Rollup:
		return n.Selector != nil && !n.Collide && n.Func != "absent_over_time"
	case *Once:
		return bySeries(n.Child)
	}
	vector := rowwise(n)
	return vector != nil && !collides(n) && bySeries(vector)
}
