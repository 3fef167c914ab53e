package plan

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
)

// Collide finds out where dropping names cannot leave two rows with equal
// labels, and clears the Collide of such nodes. It looks at the matchers of the
// selectors and at how aggregations group.
func Collide(n Node, c Config) Node {
	c.distinct(n)
	return n
}

// distinct tells whether the rows of n differ even without names, types and
// units. On the way it settles Collide of n and of all below it.
func (c Config) distinct(n Node) bool {
	below := make([]bool, 0, 2)
	for _, child := range n.Children() {
		below = append(below, c.distinct(child))
	}
	switch n := n.(type) {
	case *Instant:
		if n.Time == "" {
			return c.oneName(&n.Selector)
		}
		n.Collide = c.collides(c.oneName(&n.Selector))
		return true
	case *Matrix:
		return c.oneName(&n.Selector)
	case *Rollup:
		in := n.Selector != nil && c.oneName(n.Selector) || n.Subquery != nil && below[0]
		if n.Func == "absent_over_time" {
			in = true
		}
		if !dropsName(n) {
			n.Collide = false
			return in
		}
		n.Collide = c.collides(in)
		return in || !c.DelayedNames
	case *Aggregate:
		return aggregateDistinct(n, below[len(below)-1])
	case *Binary:
		return c.binaryDistinct(n, below)
	case *Minus:
		n.Collide = c.collides(below[0])
		return below[0] || !c.DelayedNames
	case *Call:
		return c.callDistinct(n, below)
	case *Subquery, *Once, *Shared:
		return below[0]
	case *Info:
		return false
	}
	return true // scalars
}

// collides tells whether dropping names can make rows equal.
func (c Config) collides(distinct bool) bool { return !distinct && !c.DelayedNames }

// oneName tells whether the series of s all have the same name, type and unit.
func (c Config) oneName(s *Selector) bool {
	return fixed(s, labels.MetricName) && (c.NoMetadata || fixed(s, "__type__") && fixed(s, "__unit__"))
}

func aggregateDistinct(n *Aggregate, below bool) bool {
	switch n.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return below
	case parser.COUNT_VALUES:
		text, ok := n.Param.(*Text)
		if !ok || schema.IsMetadataLabel(text.Value) {
			return false
		}
	}
	return n.Without || !hasMetadata(n.Grouping)
}

func (c Config) binaryDistinct(n *Binary, below []bool) bool {
	if scalar(n) {
		n.Collide = false
		return true
	}
	if n.Matching != nil {
		return n.Op == parser.LAND && below[0] || n.Op == parser.LUNLESS && below[0]
	}
	in := below[0] && below[1] // a scalar is
	if !dropsName(n) {
		n.Collide = false
		return in
	}
	n.Collide = c.collides(in)
	return in || !c.DelayedNames
}

func (c Config) callDistinct(n *Call, below []bool) bool {
	switch n.Func {
	case "absent", "scalar", "vector", "time", "pi", "max_of", "min_of":
		n.Collide = false
		return true
	case "sort", "sort_desc", "sort_by_label", "sort_by_label_desc":
		n.Collide = false
		return below[0]
	case "histogram_quantile", "histogram_fraction":
		return !c.DelayedNames
	}
	if !eachRow(n.Func) {
		return false
	}
	in := !slices.Contains(below, false) // a scalar is
	n.Collide = c.collides(in)
	return in || !c.DelayedNames
}
