package exec

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

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
	if n.env.TypeAndUnit {
		kind := lset.Get(model.MetricTypeLabel)
		if kind != string(model.MetricTypeCounter) && kind != string(model.MetricTypeHistogram) {
			n.env.Annos.Add(annotations.NewPossibleNonCounterLabelInfo(name, kind, n.pos))
		}
		return
	}
	if name == n.name {
		return
	}
	n.name = name
	for _, suffix := range []string{"_total", "_sum", "_count", "_bucket"} {
		if strings.HasSuffix(name, suffix) {
			return
		}
	}
	n.env.Annos.Add(annotations.NewPossibleNonCounterInfo(name, n.pos))
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
