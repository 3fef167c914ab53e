package index

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"
)

// mostSets is how many label sets are made at once.
const mostSets = 64

// Maker makes the label sets of a list of series. Asked for one after the other it
// makes ever more of them at once, up to 64, which is a lot cheaper than one by one;
// those that the cache of the view has are not made. It is for one goroutine.
type Maker struct {
	v       *View
	series  []uint32
	order   []uint32
	from    int             // in the list,
	sets    []labels.Labels // of the series from there on
	ids     []uint32        // room
	missing []int
}

// Maker returns a maker of the sets of a list of series: number k of it is
// series[k], or series[order[k]] if there is an order. In a segment they ascend.
// The lists must not change.
func (v *View) Maker(series, order []uint32) *Maker {
	return &Maker{v: v, series: series, order: order}
}

// Labels returns the label set of number k of the list, which owns its strings; it
// may be others' too. After an error the Maker may be used on.
//
// Cost: some ten nanoseconds for a set that is kept, some hundred for one to be made,
// one after the other.
func (m *Maker) Labels(k int) (labels.Labels, error) {
	if at := k - m.from; at >= 0 && at < len(m.sets) {
		return m.sets[at], nil
	}
	n := 1
	if len(m.sets) > 0 && k == m.from+len(m.sets) {
		n = min(2*len(m.sets), mostSets)
	}
	err := m.load(k, n)
	if err != nil && n > 1 { // perhaps of another series
		err = m.load(k, 1)
	}
	if err != nil {
		return labels.EmptyLabels(), err
	}
	return m.sets[0], nil
}

// load gets the sets of up to n series from number k on.
func (m *Maker) load(k, n int) error {
	list := m.series
	if m.order != nil {
		list = m.order
	}
	list = list[k:min(k+n, len(list))]
	m.ids = append(m.ids[:0], list...)
	if m.order != nil {
		for i, at := range list {
			m.ids[i] = m.series[at]
		}
	}
	clear(m.sets)
	if m.from, m.sets = k, m.sets[:0]; cap(m.sets) < len(list) {
		m.sets = make([]labels.Labels, 0, len(list))
	}
	sets, c := m.sets[:len(list)], m.v.caches.Sets
	if m.missing = c.get(m.v.setsID, m.ids, sets, m.missing[:0]); len(m.missing) > 0 {
		if err := m.v.makeSets(m.ids, sets, m.missing); err != nil {
			return err
		}
		c.put(m.v.setsID, m.ids, sets, m.missing)
	}
	m.sets = sets
	return nil
}

// makeSets makes the sets of the series at some places.
func (v *View) makeSets(series []uint32, sets []labels.Labels, places []int) error {
	if v.segment != nil {
		return v.segment.makeSets(series, sets, places)
	}
	b := labels.NewScratchBuilder(16)
	for _, i := range places {
		var err error
		if sets[i], err = v.Labels(series[i], &b); err != nil {
			return err
		}
	}
	return nil
}

func (s *Segment) makeSets(series []uint32, sets []labels.Labels, places []int) error {
	m := s.maker()
	var ids [mostSets]uint32
	var made [mostSets]labels.Labels
	for k, i := range places {
		ids[k] = series[i]
	}
	if err := m.fill(made[:len(places)], ids[:len(places)]); err != nil {
		return fmt.Errorf("make label sets: %w", err)
	}
	for k, i := range places {
		sets[i] = made[k]
	}
	s.makers.Put(m)
	return nil
}
