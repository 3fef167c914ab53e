package binop

import (
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// signer numbers the match groups of rows in the order they first appear.
type signer struct {
	on    bool
	names []string
	seen  row.Keys
	buf   []byte
}

func newSigner(m *parser.VectorMatching) *signer {
	s := &signer{on: m.On, names: slices.Clone(m.MatchingLabels)}
	if !s.on {
		s.names = append(s.names, model.MetricNameLabel, model.MetricTypeLabel, model.MetricUnitLabel)
	}
	slices.Sort(s.names)
	return s
}

// of returns the number of a label set's match group; with known, -1 for one
// that did not appear before.
func (s *signer) of(ls labels.Labels, known bool) int32 {
	if s.on {
		s.buf = ls.BytesWithLabels(s.buf, s.names...)
	} else {
		s.buf = ls.BytesWithoutLabels(s.buf, s.names...)
	}
	if known {
		return int32(s.seen.Find(s.buf))
	}
	g, _ := s.seen.Add(s.buf)
	return int32(g)
}

// all returns the match groups of rows.
func (s *signer) all(rows []*row.Row, known bool) []int32 {
	out := make([]int32, len(rows))
	for i, r := range rows {
		out[i] = s.of(r.Labels, known)
	}
	return out
}

// matchLabels returns the labels that a match group has in common, as
// matchLabels of Prometheus' engine.
func matchLabels(ls labels.Labels, m *parser.VectorMatching) labels.Labels {
	names := m.MatchingLabels
	if !m.On {
		names = append([]string{model.MetricNameLabel, model.MetricTypeLabel, model.MetricUnitLabel}, names...)
	}
	return ls.MatchLabels(m.On, names...)
}

// labeler makes the labels of results, as resultMetric of Prometheus' engine.
type labeler struct {
	m        *parser.VectorMatching
	dropName bool
	lb       *labels.Builder
	// names are what one-to-one matching on labels keeps.
	names   []string
	scratch labels.ScratchBuilder
}

func (j *Join) newLabeler() *labeler {
	l := &labeler{
		m: j.Matching, dropName: dropsName(j.Op) || j.Bool && !j.Env.DelayedNames,
		lb: labels.NewBuilder(labels.EmptyLabels()), names: slices.Clone(j.Matching.MatchingLabels),
	}
	slices.Sort(l.names)
	l.names = slices.Compact(l.names)
	return l
}

// of returns the labels of what many and one give.
func (l *labeler) of(many, one labels.Labels) labels.Labels {
	oneToOne := l.m.Card == parser.CardOneToOne
	if len(l.m.Include) == 0 && (!oneToOne || !l.m.On && len(l.m.MatchingLabels) == 0) {
		if l.dropName {
			return many.DropReserved(schema.IsMetadataLabel)
		}
		return many
	}
	if oneToOne && l.m.On { // one-to-one matching includes no labels
		return l.kept(many)
	}
	l.lb.Reset(many)
	if l.dropName {
		schema.Metadata{}.SetToLabels(l.lb) // deletes them
	}
	if oneToOne {
		l.lb.Del(l.m.MatchingLabels...)
	}
	for _, name := range l.m.Include {
		if v := one.Get(name); v != "" {
			l.lb.Set(name, v)
		} else {
			l.lb.Del(name)
		}
	}
	return l.lb.Labels()
}

// kept returns the labels that are matched on.
func (l *labeler) kept(ls labels.Labels) labels.Labels {
	l.scratch.Reset()
	for _, name := range l.names {
		if v := ls.Get(name); v != "" && !(l.dropName && schema.IsMetadataLabel(name)) {
			l.scratch.Add(name, v)
		}
	}
	return l.scratch.Labels()
}
