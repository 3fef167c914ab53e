package index2

import (
	"cmp"
	"slices"
	"sort"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// LabelOrder returns the given series of the head in the order of
// labels.Compare, as a Writer wants them. Strings are compared once per distinct
// value, series by numbers.
func (h *Head) LabelOrder(series *bitmap.Set) []uint32 {
	ranks := h.ranks()
	out := series.AppendTo(make([]uint32, 0, series.Count()))
	slices.SortFunc(out, func(a, b uint32) int { return h.compare(ranks, a, b) })
	return out
}

// labelRanks are the places of a label's name among names and of its values
// among its values.
type labelRanks struct {
	name   uint32
	values []uint32 // by ordinal
}

func (h *Head) ranks() []labelRanks {
	out := make([]labelRanks, h.count.Load())
	byName := make([]uint32, len(out))
	for id := range out {
		byName[id] = uint32(id)
		out[id].values = h.valueRanks(*h.labels.at(uint32(id)))
	}
	sort.Slice(byName, func(i, k int) bool {
		return (*h.labels.at(byName[i])).name < (*h.labels.at(byName[k])).name
	})
	for rank, id := range byName {
		out[id].name = uint32(rank)
	}
	return out
}

func (h *Head) valueRanks(l *headLabel) []uint32 {
	n := l.count.Load()
	type value struct {
		text    string
		ordinal uint32
	}
	list := make([]value, n)
	for o := range n {
		list[o] = value{h.arena.at(l.values.at(o).text), o + 1}
	}
	slices.SortFunc(list, func(a, b value) int { return cmp.Compare(a.text, b.text) })
	ranks := make([]uint32, n+1)
	for rank, v := range list {
		ranks[v.ordinal] = uint32(rank)
	}
	return ranks
}

func (h *Head) compare(ranks []labelRanks, a, b uint32) int {
	x, y := *h.location.at(a), *h.location.at(b)
	p, q := *h.blocks.at(x >> rowBits), *h.blocks.at(y >> rowBits)
	for i := range min(len(p.labels), len(q.labels)) {
		if p.labels[i] != q.labels[i] {
			return cmp.Compare(ranks[p.labels[i]].name, ranks[q.labels[i]].name)
		}
		values := ranks[p.labels[i]].values
		c := cmp.Compare(values[p.columns[i].Load().at(x&rowMask)], values[q.columns[i].Load().at(y&rowMask)])
		if c != 0 {
			return c
		}
	}
	return cmp.Compare(len(p.labels), len(q.labels))
}
