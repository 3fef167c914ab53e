package plan

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
)

// Labels finds out which labels of each selector's series are looked at above
// it, for the answer and for annotations. The metric's name that an annotation of
// a Rollup or a smoothed Instant has does not count: it can be asked of the
// series when it is needed. But that rate and increase look at the name of every
// series does.
//
// Wherever labels are compared as a whole, as when equal rows are joined, all of
// them are looked at.
func Labels(n Node, c Config) Node {
	p := projector{Config: c, shared: map[int]looked{}}
	for p.again = true; p.again; {
		p.again = false
		p.down(n, looked{all: true})
	}
	return n
}

// looked is the labels that are looked at.
type looked struct {
	all   bool
	names []string // sorted
}

func (l looked) with(names ...string) looked {
	if l.all {
		return l
	}
	all := slices.Concat(l.names, names)
	slices.Sort(all)
	return looked{names: slices.Compact(all)}
}

func (l looked) union(o looked) looked {
	if o.all {
		return o
	}
	return l.with(o.names...)
}

type projector struct {
	Config
	shared map[int]looked // by Shared.ID, what all places look at
	again  bool
}

// down says to n which of its rows' labels are looked at.
func (p *projector) down(n Node, l looked) {
	switch n := n.(type) {
	case *Instant:
		p.selector(&n.Selector, p.through(n, n.Collide, l))
		return
	case *Matrix:
		p.selector(&n.Selector, l)
		return
	case *Rollup:
		p.rollup(n, l)
		return
	case *Aggregate:
		if n.Param != nil {
			p.down(n.Param, looked{})
		}
		p.down(n.Child, p.grouped(n))
		return
	case *Shared:
		p.place(n, l)
		return
	case *Subquery, *Once:
		p.down(n.Children()[0], l)
		return
	}
	below := looked{all: true}
	switch vector := rowwise(n); {
	case scalar(n):
		below = looked{}
	case vector != nil:
		below = p.through(n, collides(n), l)
	default:
		if call, ok := n.(*Call); ok {
			switch call.Func {
			case "absent", "vector":
				below = looked{}
			case "sort", "sort_desc":
				if !call.Collide {
					below = l
				}
			}
		}
	}
	for _, c := range n.Children() {
		if scalar(c) {
			p.down(c, looked{})
		} else {
			p.down(c, below)
		}
	}
}

func collides(n Node) bool {
	switch n := n.(type) {
	case *Minus:
		return n.Collide
	case *Binary:
		return n.Collide
	case *Call:
		return n.Collide
	}
	return false
}

// through returns which labels a node that keeps or drops names needs of its
// rows, of whose results the labels l are looked at.
func (p *projector) through(n Node, collide bool, l looked) looked {
	switch {
	case collide: // rows are joined by all their labels
		return looked{all: true}
	case l.all || !dropsName(n) || p.DelayedNames:
		return l
	}
	return looked{names: slices.DeleteFunc(slices.Clone(l.names), schema.IsMetadataLabel)}
}

func (p *projector) rollup(n *Rollup, l looked) {
	for _, arg := range n.Args {
		p.down(arg, looked{})
	}
	below := p.through(n, n.Collide, l)
	switch n.Func {
	case "absent_over_time":
		below = looked{}
	case "rate", "increase":
		if n.Selector != nil && !fixed(n.Selector, labels.MetricName) {
			below = below.with(labels.MetricName)
		}
		if p.TypeAndUnit {
			below = below.with(labels.MetricName, "__type__")
		}
	}
	if n.Selector != nil {
		p.selector(n.Selector, below)
		return
	}
	if rollupNamesMetric(n.Func) {
		below = below.with(labels.MetricName)
	}
	p.down(n.Subquery, below)
}

// rollupNamesMetric tells whether a function over windows has annotations that
// name the metric.
func rollupNamesMetric(name string) bool {
	switch name {
	case "absent_over_time", "changes", "count_over_time", "first_over_time", "last_over_time",
		"present_over_time", "resets", "ts_of_first_over_time", "ts_of_last_over_time":
		return false
	}
	return true
}

// grouped returns which labels an aggregation looks at.
func (p *projector) grouped(n *Aggregate) looked {
	if n.Without {
		return looked{all: true}
	}
	switch n.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return looked{all: true}
	case parser.SUM, parser.AVG: // of histograms, their annotations name the metric
		return looked{}.with(n.Grouping...).with(labels.MetricName)
	}
	return looked{}.with(n.Grouping...)
}

func (p *projector) place(n *Shared, l looked) {
	before, seen := p.shared[n.ID]
	now := before.union(l)
	p.shared[n.ID] = now
	if !seen || now.all != before.all || len(now.names) != len(before.names) {
		p.again = true
	}
	p.down(n.Child, now)
}

func (p *projector) selector(s *Selector, l looked) {
	if l.all {
		s.Labels = nil
		return
	}
	s.Labels = append([]string{}, l.names...)
}
