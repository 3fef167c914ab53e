package write

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb"
)

// labelSet makes a canonical label set of labels as they were sent: sorted,
// without empty values, held to the rules. It keeps its memory from set to set.
type labelSet struct {
	o       *Options
	pairs   []labels.Label // alias the request
	sorted  bool
	builder labels.ScratchBuilder
	out     labels.Labels
}

func (l *labelSet) reset() { l.pairs, l.sorted = l.pairs[:0], true }

// add takes one label, whose bytes it does not copy. The errors are
// *tsdb.InputError.
func (l *labelSet) add(name, value []byte) error {
	pair := labels.Label{Name: aliasString(name), Value: aliasString(value)}
	l.sorted = l.sorted && (len(l.pairs) == 0 || l.pairs[len(l.pairs)-1].Name < pair.Name)
	l.pairs = append(l.pairs, pair)
	switch {
	case len(l.pairs) > l.o.MaxLabels:
		return l.bad("it has too many labels", fmt.Sprintf("%d labels", l.o.MaxLabels))
	case len(name) == 0:
		return l.bad("a label name is empty", "")
	case len(name) > l.o.MaxLabelNameBytes:
		return l.bad(fmt.Sprintf("label name %q has %d bytes", clipText(pair.Name, 64), len(name)), fmt.Sprintf("%d bytes", l.o.MaxLabelNameBytes))
	case len(value) > l.o.MaxLabelValueBytes:
		return l.bad(fmt.Sprintf("the value of label %q has %d bytes", pair.Name, len(value)), fmt.Sprintf("%d bytes", l.o.MaxLabelValueBytes))
	case !utf8.Valid(name):
		return l.bad(fmt.Sprintf("label name %q is not valid UTF-8", pair.Name), "")
	case !utf8.Valid(value):
		return l.bad(fmt.Sprintf("the value of label %q is not valid UTF-8: %q", pair.Name, clipText(pair.Value, 64)), "")
	}
	return nil
}

// series returns the label set of a series. It is valid until the next set is
// made. The error is a *tsdb.InputError.
func (l *labelSet) series() (labels.Labels, error) {
	lset, err := l.finish()
	if err == nil && !lset.Has(model.MetricNameLabel) {
		err = l.bad("it has no metric name", "")
	}
	return lset, err
}

// finish is series for a set that needs no metric name.
func (l *labelSet) finish() (labels.Labels, error) {
	if !l.sorted {
		slices.SortFunc(l.pairs, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
		for i := range l.pairs[1:] {
			if l.pairs[i].Name == l.pairs[i+1].Name {
				return labels.EmptyLabels(), l.bad(fmt.Sprintf("label name %q comes twice", l.pairs[i].Name), "")
			}
		}
	}
	l.builder.Reset()
	for _, p := range l.pairs {
		if p.Value != "" {
			l.builder.Add(p.Name, p.Value)
		}
	}
	l.builder.Overwrite(&l.out)
	return l.out, nil
}

// bad returns an error about the set so far.
func (l *labelSet) bad(reason, limit string) error {
	return &tsdb.InputError{Culprit: l.text(), Reason: reason, Limit: limit}
}

// text prints the set so far as a selector, cut to a length fit for messages.
func (l *labelSet) text() string {
	const most = 200
	var b strings.Builder
	b.WriteByte('{')
	for i, p := range l.pairs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%q", textName(p.Name), clipText(p.Value, 64))
		if b.Len() > most && i < len(l.pairs)-1 {
			b.WriteString(", ...")
			break
		}
	}
	b.WriteByte('}')
	return b.String()
}

// textName prints a label name as a selector needs it.
func textName(name string) string {
	if model.LegacyValidation.IsValidLabelName(name) {
		return clipText(name, 64)
	}
	return fmt.Sprintf("%q", clipText(name, 64))
}

// aliasString returns b as a string without copying it: valid as long as b is
// not changed.
func aliasString(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
