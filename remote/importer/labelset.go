package importer

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/prometheus/model/labels"
)

// labelSet collects the labels of one line in any order. Its strings may alias
// the line.
type labelSet struct {
	pairs   []labels.Label
	builder labels.ScratchBuilder
	out     labels.Labels
}

func newLabelSet() *labelSet { return &labelSet{builder: labels.NewScratchBuilder(16)} }

func (s *labelSet) reset() { s.pairs = s.pairs[:0] }

func (s *labelSet) add(name, value string) {
	s.pairs = append(s.pairs, labels.Label{Name: name, Value: value})
}

// build returns the sorted set: of equal names the last one counts, empty values
// vanish. It is valid until the next call.
func (s *labelSet) build() (labels.Labels, error) {
	slices.SortStableFunc(s.pairs, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
	s.builder.Reset()
	named := false
	for i, p := range s.pairs {
		if i+1 < len(s.pairs) && s.pairs[i+1].Name == p.Name || p.Value == "" {
			continue
		}
		if p.Name == "" {
			return labels.EmptyLabels(), fmt.Errorf("a label has no name")
		}
		if !utf8.ValidString(p.Name) || !utf8.ValidString(p.Value) {
			return labels.EmptyLabels(), fmt.Errorf("label %q is not valid UTF-8", p.Name)
		}
		named = named || p.Name == labels.MetricName
		s.builder.Add(p.Name, p.Value)
	}
	if !named {
		return labels.EmptyLabels(), fmt.Errorf("the metric has no name")
	}
	s.builder.Overwrite(&s.out)
	return s.out, nil
}

// extraLabels reads the arguments extra_label=name=value.
func extraLabels(args url.Values) ([]labels.Label, error) {
	var out []labels.Label
	for _, arg := range args["extra_label"] {
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, badRequest("argument extra_label must be name=value, got %q", arg)
		}
		out = append(out, labels.Label{Name: name, Value: value})
	}
	return out, nil
}
