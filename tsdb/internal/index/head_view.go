package index

import (
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/varvedb/varve/tsdb/internal/bitmap"
)

// headView is a head as it was when it had n series.
type headView struct {
	h *Head
	n uint32
}

// headViewLabel is a label of it, for one goroutine but for fill and value.
type headViewLabel struct {
	v        *headView
	l        *headLabel
	count    uint32
	presence *bitmap.Set // once asked for
}

// View returns the head as it is now. It costs nothing to hold.
func (h *Head) View() *View {
	return &View{src: &headView{h, h.n.Load()}, caches: h.caches, valuesID: h.ids[0], resultsID: h.ids[1], setsID: h.ids[2]}
}

func (v *headView) length() uint32 { return v.n }

// all keeps the set it made last for the next who asks before a series comes.
func (v *headView) all() *bitmap.Set {
	last := v.h.every.Load()
	if last == nil || last.Count() != int(v.n) {
		last = bitmap.All(v.n)
		v.h.every.Store(last)
	}
	return last
}

func (v *headView) label(name string) label {
	if l := v.h.findLabel(name); l != nil {
		return &headViewLabel{v: v, l: l, count: l.count.Load()}
	}
	return nil
}

func (v *headView) names() []string {
	var out []string
	for id := range v.h.count.Load() {
		out = append(out, (*v.h.labels.at(id)).name)
	}
	sort.Strings(out)
	return out
}

func (v *headView) namesOf(series []uint32) (out []string) {
	last := ^uint32(0) // a block, of which there are fewer
	for _, id := range series {
		number := *v.h.location.at(id) >> rowBits
		if number == last {
			continue
		}
		last = number
		for _, label := range (*v.h.blocks.at(number)).labels {
			out = append(out, (*v.h.labels.at(label)).name)
		}
		if len(out) > 1<<10 {
			slices.Sort(out)
			out = slices.Compact(out)
		}
	}
	return out
}

func (v *headView) labels(series uint32, b *labels.ScratchBuilder) error {
	v.h.eachPair(series, func(l *headLabel, o uint32) { b.Add(l.name, v.h.arena.at(l.values.at(o-1).text)) })
	return nil
}

func (l *headViewLabel) values() uint32            { return l.count }
func (l *headViewLabel) find(value string) uint32  { return l.l.find(l.v.h, value) }
func (l *headViewLabel) fill(dst, series []uint32) { l.v.h.fill(l.l.id, dst, series) }
func (l *headViewLabel) text(o uint32) string      { return l.v.h.arena.at(l.l.values.at(o - 1).text) }
func (l *headViewLabel) value(o uint32) string     { return string([]byte(l.text(o))) }
func (l *headViewLabel) postings(o uint32) *bitmap.Set {
	if o == 0 {
		return nil
	}
	return l.l.values.at(o - 1).series.Snapshot(l.v.n)
}

func (l *headViewLabel) present() *bitmap.Set {
	if l.presence == nil {
		l.presence = l.l.presence.Snapshot(l.v.n)
	}
	return l.presence
}

func (l *headViewLabel) sorted() bool                    { return false }
func (l *headViewLabel) prefixed(string) (lo, hi uint32) { return 1, l.count }

func (l *headViewLabel) scan(lo, hi uint32, f func(o uint32, value string, series int)) {
	for o := lo; o <= hi; {
		stretch := l.l.values.from(o - 1)
		stretch = stretch[:min(len(stretch), int(hi-o)+1)]
		for i := range stretch {
			f(o, l.v.h.arena.at(stretch[i].text), stretch[i].series.Count())
			o++
		}
	}
}

func (l *headViewLabel) series(vs *valueSet) int {
	n := 0
	vs.each(func(o uint32) { n += l.l.values.at(o - 1).series.Count() })
	return n
}

func (l *headViewLabel) union(vs *valueSet, a *bitmap.Accumulator) {
	vs.each(func(o uint32) { l.l.values.at(o-1).series.AddTo(a, l.v.n) })
}
