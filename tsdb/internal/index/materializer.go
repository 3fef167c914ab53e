package index

import (
	"fmt"
	"math/bits"
	"runtime/debug"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Materializer makes label sets of many series, remembering values by label: what
// series have in common is decoded once, and series are unpacked column by column.
// It is for one goroutine.
type Materializer struct {
	s        *Segment
	values   []remembered // by label
	b        labels.ScratchBuilder
	ordinals []uint32 // of a few series, column by column
}

// remembered are values of a label: those met last of all whose ordinals have the
// lowest bits in common.
type remembered struct {
	at       cursor
	ordinals []uint32
	texts    []string
}

const (
	fewRemembered  = 4
	mostRemembered = 1024 // for each label
)

// Materializer returns a materializer of the segment.
func (s *Segment) Materializer() *Materializer {
	return &Materializer{s: s, values: make([]remembered, len(s.list)), b: labels.NewScratchBuilder(16)}
}

// FillColumn fills dst as the column of a label does, and calls use with what gives the
// values of ordinals while use runs: one that was asked for before is mostly
// remembered. Damage is its error.
func (s *Segment) FillColumn(name string, dst, series []uint32, use func(value func(ordinal uint32) string)) (err error) {
	defer s.caught(debug.SetPanicOnFault(true), &err)
	l, ok := s.byName[name]
	if !ok {
		clear(dst)
		use(func(uint32) string { return "" })
		return nil
	}
	l.fill(dst, series)
	m := s.maker()
	use(func(o uint32) string {
		if o == 0 {
			return ""
		}
		return m.value(l, o)
	})
	s.makers.Put(m) // after a panic it is of no use
	return nil
}

// maker returns a Materializer that was used before, if there is one.
func (s *Segment) maker() *Materializer {
	if m, ok := s.makers.Get().(*Materializer); ok {
		return m
	}
	return s.Materializer()
}

// Labels returns the label set of a series, which owns its strings.
func (m *Materializer) Labels(series uint32) (labels.Labels, error) {
	var set [1]labels.Labels
	err := m.fill(set[:], []uint32{series})
	return set[0], err
}

// fill makes the sets of ascending series, as many as there is room for. After an
// error all of them are empty.
func (m *Materializer) fill(sets []labels.Labels, series []uint32) error {
	if last := series[len(series)-1]; last >= m.s.n {
		return fmt.Errorf("labels of series %d of %d: out of range", last, m.s.n)
	}
	err := m.fillGuarded(sets, series)
	if err != nil {
		clear(m.values) // a cursor may be anywhere
		clear(sets)
	}
	return err
}

func (m *Materializer) fillGuarded(sets []labels.Labels, series []uint32) (err error) {
	defer m.s.caught(debug.SetPanicOnFault(true), &err)
	for len(series) > 0 {
		g := m.s.groupOf(series[0])
		end, _ := m.s.rowGroup(g + 1)
		n := min(len(series), mostSets)
		if series[n-1] >= end {
			n = sort.Search(n, func(i int) bool { return series[i] >= end })
		}
		m.fillGroup(g, sets[:n], series[:n])
		sets, series = sets[n:], series[n:]
	}
	return nil
}

// fillGroup makes sets of series of one row group.
func (m *Materializer) fillGroup(g int, sets []labels.Labels, series []uint32) {
	begin, first := m.s.rowGroup(g)
	_, last := m.s.rowGroup(g + 1)
	n, columns := len(series), last-first
	if cap(m.ordinals) < n*columns {
		m.ordinals = make([]uint32, n*columns)
	}
	ordinals := m.ordinals[:n*columns]
	var buf [32]*segmentLabel
	list := buf[:0]
	for c := range columns {
		p := m.s.column(first + c)
		list = append(list, m.s.list[p.label])
		p.fill(ordinals[c*n:][:n], series, begin)
	}
	for i := range series {
		m.b.Reset()
		for c, l := range list {
			if o := ordinals[c*n+i]; o != 0 {
				m.b.Add(l.name, m.value(l, o))
			}
		}
		sets[i] = m.b.Labels()
	}
}

// value returns a value of a label.
func (m *Materializer) value(l *segmentLabel, o uint32) string {
	r := &m.values[l.number]
	if n := uint32(len(r.ordinals)); n > 0 && r.ordinals[o&(n-1)] == o {
		return r.texts[o&(n-1)]
	}
	r.at.to(&l.dictionary, o)
	return r.add(o, strings.Clone(r.at.value()), int(l.n))
}

// add remembers one of the n values of the label.
func (r *remembered) add(o uint32, text string, n int) string {
	size := uint32(len(r.ordinals))
	if size == 0 || r.ordinals[o&(size-1)] != 0 && int(size) < min(mostRemembered, 1<<bits.Len(uint(n))) {
		r.grow(max(fewRemembered, 4*size))
		size = uint32(len(r.ordinals))
	}
	r.ordinals[o&(size-1)], r.texts[o&(size-1)] = o, text
	return text
}

func (r *remembered) grow(size uint32) {
	ordinals, texts := make([]uint32, size), make([]string, size)
	for i, o := range r.ordinals {
		if o != 0 {
			ordinals[o&(size-1)], texts[o&(size-1)] = o, r.texts[i]
		}
	}
	r.ordinals, r.texts = ordinals, texts
}
