package aggr

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// Grouper numbers groups in the order they first appear, and knows their
// labels. (generateGroupingKey and generateGroupingLabels of Prometheus'
// engine, without its collisions of hashes.)
type Grouper struct {
	names   []string
	without bool
	seen    row.Keys
	byKey   []int // number of the group plus 1, by Row.Key
	keyed   func(key int) labels.Labels
	groups  []labels.Labels
	lb      labels.ScratchBuilder
	buf     []byte
	held    int64
}

// NewGrouper returns a grouper for the aggregation. keyed returns the labels of
// a group that is known by its Row.Key; it is nil if no row has one. All rows
// have keys or none has.
func NewGrouper(spec Spec, keyed func(key int) labels.Labels) *Grouper {
	gr := &Grouper{names: spec.Grouping, without: spec.Without, keyed: keyed}
	if spec.Op == parser.COUNT_VALUES {
		gr.names = spec.groupingOfValues()
	}
	return gr
}

// groupingOfValues returns the grouping of count_values without the label that
// the values go to, which is not the series' own.
func (s Spec) groupingOfValues() []string {
	has := slices.Contains(s.Grouping, s.Text)
	switch {
	case s.Without && !has:
		names := append(slices.Clone(s.Grouping), s.Text)
		slices.Sort(names)
		return names
	case !s.Without && has:
		return slices.DeleteFunc(slices.Clone(s.Grouping), func(n string) bool { return n == s.Text })
	}
	return s.Grouping
}

// Group returns the number of r's group. Cost: a look-up of the grouping labels
// as bytes, or of the key.
func (gr *Grouper) Group(r *row.Row) int {
	if r.Key >= 0 && gr.keyed != nil {
		return gr.known(r.Key)
	}
	if !gr.without && len(gr.names) == 0 {
		if len(gr.groups) == 0 {
			gr.add(labels.EmptyLabels())
		}
		return 0
	}
	if gr.without {
		gr.buf = r.Labels.BytesWithoutLabels(gr.buf, gr.names...)
	} else {
		gr.buf = r.Labels.BytesWithLabels(gr.buf, gr.names...)
	}
	g, isNew := gr.seen.Add(gr.buf)
	if !isNew {
		return g
	}
	gr.add(gr.labelsOf(r.Labels))
	return g
}

func (gr *Grouper) known(key int) int {
	for len(gr.byKey) <= key {
		gr.byKey = append(gr.byKey, 0)
	}
	if gr.byKey[key] == 0 {
		gr.add(gr.keyed(key))
		gr.byKey[key] = len(gr.groups)
	}
	return gr.byKey[key] - 1
}

func (gr *Grouper) add(ls labels.Labels) {
	gr.groups = append(gr.groups, ls)
	gr.held += int64(ls.ByteSize()) + 16
}

// labelsOf returns the labels of the group of ls.
func (gr *Grouper) labelsOf(ls labels.Labels) labels.Labels {
	gr.lb.Reset()
	if !gr.without {
		for i, name := range gr.names {
			if v := ls.Get(name); v != "" && (i == 0 || name != gr.names[i-1]) {
				gr.lb.Add(name, v)
			}
		}
		return gr.lb.Labels()
	}
	ls.Range(func(l labels.Label) {
		if _, gone := slices.BinarySearch(gr.names, l.Name); !gone && !schema.IsMetadataLabel(l.Name) {
			gr.lb.Add(l.Name, l.Value)
		}
	})
	return gr.lb.Labels()
}

// Labels returns the label sets of the groups, by number. It is valid until the
// next call of Group.
func (gr *Grouper) Labels() []labels.Labels { return gr.groups }

// Bytes returns the memory held.
func (gr *Grouper) Bytes() int64 { return gr.held + gr.seen.Bytes() + 8*int64(len(gr.byKey)) }
