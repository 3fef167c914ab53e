package tsdb

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
)

// labelOrder compares series of several places by their label sets.
type labelOrder interface {
	// sorted returns the series of a place in label order.
	sorted(p int) []uint32
	// reorder moves series order[i] of a place to i.
	reorder(p int, order []uint32)
	// compare compares series i of place p and j of place q.
	compare(p, i, q, j int) int
}

// As many series are put in order by their label sets rather than by numbers, which
// take no memory for a set: if sets are kept, so that most of them are there already
// and the others will be wanted, and if not.
const (
	fewSets       = 1024
	fewUnkeptSets = 16
)

// newLabelOrder returns the cheaper way for so many series.
func newLabelOrder(places []place, kept bool) (labelOrder, error) {
	total := 0
	for _, p := range places {
		total += p.count()
	}
	if total <= fewUnkeptSets || kept && total <= fewSets {
		return newLabelSets(places)
	}
	return newLabelKeys(places)
}

// labelSets are the label sets themselves, by place and series.
type labelSets [][]labels.Labels

func newLabelSets(places []place) (labelSets, error) {
	s := make(labelSets, len(places))
	for i, p := range places {
		list := make([]labels.Labels, p.count())
		for k := range list {
			list[k] = p.labels(k)
		}
		if err := p.failure(); err != nil {
			return nil, err
		}
		s[i] = list
	}
	return s, nil
}

func (s labelSets) sorted(p int) []uint32 {
	order := make([]uint32, len(s[p]))
	for i := range order {
		order[i] = uint32(i)
	}
	slices.SortFunc(order, func(a, b uint32) int { return labels.Compare(s[p][a], s[p][b]) })
	return order
}

func (s labelSets) reorder(p int, order []uint32) {
	moved := make([]labels.Labels, len(order))
	for i, from := range order {
		moved[i] = s[p][from]
	}
	s[p] = moved
}

func (s labelSets) compare(p, i, q, j int) int { return labels.Compare(s[p][i], s[q][j]) }
