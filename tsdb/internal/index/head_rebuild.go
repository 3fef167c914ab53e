package index

import (
	"fmt"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// NewHeadFrom returns a head of the series of old that keep has, in the order
// they have there: the k-th ordinal of keep becomes k. Strings are looked at once
// per distinct value. It has the caches of old; series may be added to old and
// read meanwhile.
func NewHeadFrom(old *Head, keep *bitmap.Set) (*Head, error) {
	h := NewHead(old.caches)
	h.seed, h.keys = old.seed, old.keys
	h.mu.Lock()
	defer h.mu.Unlock()
	r := rebuild{old: old, h: h}
	var ids [1024]uint32
	it := keep.Iterator()
	for n := it.Next(ids[:]); n > 0; n = it.Next(ids[:]) {
		for _, id := range ids[:n] {
			if id >= old.n.Load() {
				return nil, fmt.Errorf("keep series %d of %d: out of range", id, old.n.Load())
			}
			if err := r.add(id); err != nil {
				return nil, fmt.Errorf("keep series %d: %w", id, err)
			}
		}
	}
	return h, nil
}

// rebuild is how far a new head knows what the old one has.
type rebuild struct {
	old, h *Head
	labels []rebuiltLabel // by old label
	pairs  []pair
}

type rebuiltLabel struct {
	l      *headLabel
	values []uint32 // new ordinal by old one less one, 0 if none yet
}

func (r *rebuild) add(id uint32) error {
	where := *r.old.location.at(id)
	b := *r.old.blocks.at(where >> rowBits)
	r.pairs = r.pairs[:0]
	hash := r.h.keys[1]
	for i, label := range b.labels {
		l, err := r.label(label)
		if err != nil {
			return err
		}
		o, err := r.value(l, *r.old.labels.at(label), b.columns[i].Load().at(where&rowMask))
		if err != nil {
			return err
		}
		hash = r.h.mix(hash, l.l.id, o)
		r.pairs = append(r.pairs, pair{l.l.id, o})
	}
	_, err := r.h.appendLocked(fold(hash), r.pairs)
	return err
}

func (r *rebuild) label(label uint32) (*rebuiltLabel, error) {
	for int(label) >= len(r.labels) {
		r.labels = append(r.labels, rebuiltLabel{})
	}
	l := &r.labels[label]
	var err error
	if l.l == nil {
		l.l, err = r.h.internLabelLocked(0, (*r.old.labels.at(label)).name)
	}
	return l, err
}

func (r *rebuild) value(l *rebuiltLabel, old *headLabel, o uint32) (uint32, error) {
	if n := int(o) - len(l.values); n > 0 {
		l.values = append(l.values, make([]uint32, max(n, int(old.count.Load())-len(l.values)))...)
	}
	v := &l.values[o-1]
	var err error
	if *v == 0 {
		*v, err = r.h.internValueLocked(l.l, r.old.arena.at(old.values.at(o-1).text))
	}
	return *v, err
}

// Labels returns the label set of a series, made with b, which is reset.
func (h *Head) Labels(series uint32, b *labels.ScratchBuilder) (labels.Labels, error) {
	if n := h.n.Load(); series >= n {
		return labels.EmptyLabels(), fmt.Errorf("labels of series %d of %d: out of range", series, n)
	}
	b.Reset()
	h.EachLabel(series, b.Add)
	return b.Labels(), nil
}

// EachLabel calls f with every label of a series that is there, by name. The
// strings never change and live as long as they are held.
func (h *Head) EachLabel(series uint32, f func(name, value string)) {
	where := *h.location.at(series)
	b := *h.blocks.at(where >> rowBits)
	for i, label := range b.labels {
		l := *h.labels.at(label)
		f(l.name, h.arena.at(l.values.at(b.columns[i].Load().at(where&rowMask)-1).text))
	}
}
