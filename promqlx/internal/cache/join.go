package cache

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// stretch is a run of steps of the answer: of an entry, or evaluated. Its rows are
// in label order, and read one after the other.
type stretch struct {
	m     promql.Matrix
	noted bool // of m

	e       *entry
	at, n   int // steps of the entry
	t, last int64

	next int // row
}

// labels returns those of the next row that has samples; ok is false at the end.
func (s *stretch) labels() (l labels.Labels, ok bool) {
	if s.e == nil {
		if s.next == len(s.m) {
			return l, false
		}
		return s.m[s.next].Metric, true
	}
	for ; s.next < len(s.e.labels); s.next++ {
		if s.n == s.e.n {
			return s.e.labels[s.next], true
		}
		r := s.e.row(s.next)
		if i := r.has.Next(s.at); i >= 0 && i < s.at+s.n || len(r.histograms(s.t, s.last)) > 0 {
			return s.e.labels[s.next], true
		}
	}
	return l, false
}

// count returns how many floats and histograms the next row has.
func (s *stretch) count() (floats, hists int) {
	if s.e == nil {
		return len(s.m[s.next].Floats), len(s.m[s.next].Histograms)
	}
	r := s.e.row(s.next)
	return r.rank(s.at+s.n) - r.rank(s.at), len(r.histograms(s.t, s.last))
}

// appendTo appends the next row to a series.
func (s *stretch) appendTo(to *promql.Series, step int64) {
	if s.e == nil {
		from := s.m[s.next]
		to.Floats = append(to.Floats, from.Floats...)
		to.Histograms = append(to.Histograms, from.Histograms...)
		return
	}
	r := s.e.row(s.next)
	to.Floats = r.appendFloats(to.Floats, s.at, s.n, s.t, step)
	to.Histograms = append(to.Histograms, r.histograms(s.t, s.last)...)
}

func (s *stretch) dropName() bool {
	if s.e == nil {
		return s.m[s.next].DropName
	}
	return s.e.drop.Get(s.next)
}

// stretches returns what the parts consist of, in the order of time.
func (q *Query) stretches(parts []part) []*stretch {
	var out []*stretch
	for _, p := range parts {
		if !p.kept {
			out = append(out, &stretch{m: p.m, noted: p.noted})
			continue
		}
		for _, b := range p.buckets {
			out = append(out, &stretch{
				e: b.entry, at: b.lo - b.entry.lo, n: b.n, t: q.Grid.T(b.from), last: q.Grid.T(b.from + b.n - 1),
			})
		}
	}
	return out
}

// join makes one answer of the parts: a series of all rows with the same labels,
// in label order.
func (q *Query) join(parts []part) (a Answer, err error) {
	all := q.stretches(parts)
	plan := newMerge(all)
	if err := q.Meter.Grow(16*int64(plan.floats) + 16*int64(plan.hists) + 96*int64(len(plan.series))); err != nil {
		return a, err
	}
	if err := q.Meter.Samples(int64(plan.kept)); err != nil {
		return a, err
	}
	slab := make([]promql.FPoint, 0, plan.floats)
	out := make(promql.Matrix, len(plan.series))
	members := plan.members
	for k, d := range plan.series {
		s := &out[k]
		s.Metric, s.Floats = d.labels, slab[len(slab):]
		if d.hists > 0 {
			s.Histograms = make([]promql.HPoint, 0, d.hists)
		}
		for i, m := range members[:d.members] {
			from := all[m.stretch]
			from.next = int(m.row)
			if i == 0 {
				s.DropName = from.dropName()
			}
			from.appendTo(s, q.Grid.Step)
		}
		members = members[d.members:]
		n := len(slab)
		slab = slab[:n+len(s.Floats)]
		if s.Floats = slab[n:len(slab):len(slab)]; len(s.Floats) == 0 {
			s.Floats = nil
		}
	}
	a.Matrix = out
	if plan.noted {
		a.Annotations.Add(q.note)
	}
	return a, nil
}

// merge is which rows make which series.
type merge struct {
	series              []merged
	members             []member // of one series after the other, in the order of time
	floats, hists, kept int
	noted               bool
}

type merged struct {
	labels         labels.Labels
	members, hists int
}

type member struct{ stretch, row int32 }

func newMerge(all []*stretch) *merge {
	m := &merge{}
	for _, s := range all {
		m.noted = m.noted || s.noted
	}
	for {
		from := len(m.members)
		var least labels.Labels
		for i, s := range all {
			l, ok := s.labels()
			if !ok {
				continue
			}
			switch {
			case len(m.members) == from, !labels.Equal(l, least) && labels.Compare(l, least) < 0:
				least, m.members = l, m.members[:from]
			case !labels.Equal(l, least):
				continue
			}
			m.members = append(m.members, member{int32(i), int32(s.next)})
		}
		if len(m.members) == from {
			return m
		}
		m.add(all, least, from)
	}
}

// add makes a series of the members from from on, and goes on to their next rows.
func (m *merge) add(all []*stretch, l labels.Labels, from int) {
	d := merged{labels: l, members: len(m.members) - from}
	for _, x := range m.members[from:] {
		s := all[x.stretch]
		floats, hists := s.count()
		m.floats, d.hists = m.floats+floats, d.hists+hists
		if s.e != nil {
			m.kept += floats + hists
			m.noted = m.noted || s.e.noted && floats > 0
		}
		s.next++
	}
	m.hists += d.hists
	m.series = append(m.series, d)
}
