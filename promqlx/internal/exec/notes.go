package exec

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"

	"github.com/varvedb/varve/promqlx/internal/rollup"
	"github.com/varvedb/varve/promqlx/internal/row"
)

// noted remarks upon metrics that rate and increase are asked of though they
// may be no counters.
type noted struct {
	on   bool
	env  *row.Env
	pos  posrange.PositionRange
	name string // the last one that was looked at
}

// note looks at series i of a leaf, unless all its series have one name that was
// looked at already.
func (n *noted) note(l *leaf, i int) {
	if n.name != "" && !n.env.TypeAndUnit && oneName(l.sel.Matchers) {
		return
	}
	n.add(l.series.labels(i))
}

func (n *noted) add(lset labels.Labels) {
	name := lset.Get(labels.MetricName)
	if name == "" {
		return
	}
	if !n.env.TypeAndUnit {
		if name == n.name {
			return
		}
		n.name = name
	}
	if anno := rollup.NonCounter(n.env, "rate", lset, n.pos); anno != nil {
		n.env.Annos.Add(anno)
	}
}

// oneName tells whether all series that match have the same name.
func oneName(ms []*labels.Matcher) bool {
	for _, m := range ms {
		if m.Name == labels.MetricName && m.Type == labels.MatchEqual && m.Value != "" {
			return true
		}
	}
	return false
}
