package index

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// LabelOrder returns the given series of the head in the order of
// labels.Compare. Strings are compared once per distinct value, series by numbers.
func (h *Head) LabelOrder(series *bitmap.Set) []uint32 { return h.Rows(series).order }

// HeadRows are series of a head in label order, as rows of numbers that a Writer
// takes. It holds four bytes a series and eight for each distinct value of the
// head. It is for one goroutine.
type HeadRows struct {
	h     *Head
	ranks []labelRanks // by id of the label
	ids   []uint32     // of labels, by name
	order []uint32     // ordinals
}

// Rows returns the rows of some series.
func (h *Head) Rows(series *bitmap.Set) *HeadRows {
	r := &HeadRows{h: h, ranks: h.ranks()}
	r.ids = make([]uint32, len(r.ranks))
	for id, label := range r.ranks {
		r.ids[label.name] = uint32(id)
	}
	r.order = series.AppendTo(make([]uint32, 0, series.Count()))
	r.sort()
	return r
}

// keyed is what sorts by a key first.
type keyed struct {
	key uint64
	id  uint32
}

// sort sorts the series. Most differ in a key of what their first labels are, so
// that few are looked up in the head again.
func (r *HeadRows) sort() {
	places := r.places()
	list := make([]keyed, len(r.order))
	var row Row
	for i, id := range r.order {
		row = r.Append(row[:0], id)
		list[i] = keyed{places.key(row), id}
	}
	slices.SortFunc(list, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return r.h.compare(r.ranks, a.id, b.id)
	})
	for i, x := range list {
		r.order[i] = x.id
	}
}

// places say how a row becomes a number whose order is that of rows as far as it
// goes: what stands in each place has as many bits as the rows need there.
type places struct {
	base  []uint64 // by label, what its value 1 counts from
	least []uint64 // by place
	bits  []uint
}

func (r *HeadRows) places() places {
	p := places{base: make([]uint64, len(r.ids))}
	sum := uint64(0)
	for label := range r.ids {
		p.base[label] = sum
		sum += uint64(r.count(uint32(label)))
	}
	var most []uint64
	var row Row
	for _, id := range r.order {
		row = r.Append(row[:0], id)
		for i, x := range row {
			n := p.base[x.label] + uint64(x.value)
			if i == len(most) {
				most, p.least = append(most, n), append(p.least, n)
			}
			most[i], p.least[i] = max(most[i], n), min(p.least[i], n)
		}
	}
	for i := range most {
		p.bits = append(p.bits, uint(bits.Len64(most[i]-p.least[i]+1)))
	}
	return p
}

// key returns the number; 0 stands in the places behind a row's end.
func (p *places) key(row Row) uint64 {
	key, room := uint64(0), uint(64)
	for i, width := range p.bits {
		n := uint64(0)
		if i < len(row) {
			n = p.base[row[i].label] + uint64(row[i].value) - p.least[i] + 1
		}
		if width >= room {
			return key | n>>(width-room)
		}
		room -= width
		key |= n << room
	}
	return key
}

// Order returns the ordinals of the series in label order; it is not to be changed.
func (r *HeadRows) Order() []uint32 { return r.order }

// Append appends the row of a series.
func (r *HeadRows) Append(dst Row, series uint32) Row {
	where := *r.h.location.at(series)
	b := *r.h.blocks.at(where >> rowBits)
	for i, id := range b.labels {
		ranks := &r.ranks[id]
		dst = append(dst, pair{ranks.name, ranks.values[b.columns[i].Load().at(where&rowMask)] + 1})
	}
	return dst
}

func (r *HeadRows) labelNames() []string {
	out := make([]string, len(r.ids))
	for i, id := range r.ids {
		out[i] = (*r.h.labels.at(id)).name
	}
	return out
}

func (r *HeadRows) count(label uint32) uint32 { return uint32(len(r.ranks[r.ids[label]].order)) }
func (r *HeadRows) err() error                { return nil }

func (r *HeadRows) texts(label uint32, used []uint32) iter.Seq[string] {
	id := r.ids[label]
	l := *r.h.labels.at(id)
	return func(yield func(string) bool) {
		for rank, o := range r.ranks[id].order {
			if used != nil && used[rank+1] == 0 {
				continue
			}
			if !yield(r.h.arena.at(l.values.at(o).text)) {
				return
			}
		}
	}
}

// labelRanks are the places of a label's name among names and of its values
// among its values.
type labelRanks struct {
	name   uint32
	values []uint32 // by ordinal
	order  []uint32 // ordinals less one, by rank
}

func (h *Head) ranks() []labelRanks {
	out := make([]labelRanks, h.count.Load())
	byName := make([]uint32, len(out))
	for id := range out {
		byName[id] = uint32(id)
		out[id].values, out[id].order = h.valueRanks(*h.labels.at(uint32(id)))
	}
	sort.Slice(byName, func(i, k int) bool {
		return (*h.labels.at(byName[i])).name < (*h.labels.at(byName[k])).name
	})
	for rank, id := range byName {
		out[id].name = uint32(rank)
	}
	return out
}

func (h *Head) valueRanks(l *headLabel) (ranks, order []uint32) {
	n := l.count.Load()
	list := make([]keyed, n)
	for o := range n {
		list[o] = keyed{prefixKey(h.arena.at(l.values.at(o).text)), o}
	}
	slices.SortFunc(list, func(a, b keyed) int {
		if a.key != b.key {
			return cmp.Compare(a.key, b.key)
		}
		return strings.Compare(h.arena.at(l.values.at(a.id).text), h.arena.at(l.values.at(b.id).text))
	})
	order = make([]uint32, n)
	for rank, x := range list {
		order[rank] = x.id
	}
	ranks = make([]uint32, n+1)
	for rank, o := range order {
		ranks[o+1] = uint32(rank)
	}
	return ranks, order
}

// prefixKey returns the first eight bytes, in whose order strings are as far as it
// goes.
func prefixKey(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
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
