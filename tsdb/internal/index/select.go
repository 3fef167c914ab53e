package index

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

// Select returns the ordinals of the series that satisfy all matchers,
// ascending, in memory of their own; those of all series without a matcher. A
// label a series lacks matches as the empty string.
//
// The matcher with the fewest series yields the candidates from its postings;
// the others test the candidates in the columns.
func (s *Segment) Select(ms ...*labels.Matcher) ([]uint32, error) {
	tests := make([]*test, 0, len(ms))
	var driver *test
	for _, m := range ms {
		t, err := s.test(m)
		if err != nil {
			return nil, err
		}
		switch {
		case t.all:
			continue
		case t.count == 0:
			return nil, nil
		}
		tests = append(tests, t)
		if !t.empty && (driver == nil || t.count < driver.count) {
			driver = t
		}
	}
	candidates := s.candidates(driver)
	slices.SortFunc(tests, func(a, b *test) int { return a.count - b.count })
	for _, t := range tests {
		if t != driver {
			candidates = t.filter(candidates)
		}
	}
	return candidates, nil
}

// test is a matcher resolved to the value ordinals it accepts.
type test struct {
	column Column
	name   int    // number of the label name
	empty  bool   // accepts series that lack the label
	all    bool   // accepts every series
	only   uint32 // the one value accepted, if set is nil
	set    []uint64
	count  int // number of series accepted
}

func (t *test) accepts(ordinal uint32) bool {
	if ordinal == 0 {
		return t.empty
	}
	if t.set == nil {
		return ordinal == t.only
	}
	return t.set[ordinal/64]&(1<<(ordinal%64)) != 0
}

func (t *test) filter(candidates []uint32) []uint32 {
	out := candidates[:0]
	for _, series := range candidates {
		if t.accepts(t.column.Ordinal(series)) {
			out = append(out, series)
		}
	}
	return out
}

// test resolves a matcher.
func (s *Segment) test(m *labels.Matcher) (*test, error) {
	if m.Type > labels.MatchNotRegexp {
		return nil, fmt.Errorf("select series: matcher of unknown type %d", m.Type)
	}
	t := &test{empty: m.Matches("")}
	i, ok := s.findName(m.Name)
	if !ok {
		if t.empty {
			t.all, t.count = true, s.Len()
		}
		return t, nil
	}
	t.name, t.column = i, s.column(i)
	begin, end := s.valueRange(i)
	present := int(s.names.At(columnPresent, i))
	if m.Type == labels.MatchEqual {
		if t.only = s.findValue(i, m.Value); t.only != 0 {
			t.count = int(s.values.At(columnCount, begin+int(t.only)-1))
		}
	} else {
		t.set = make([]uint64, (end-begin)/64+1)
		s.accept(t, m, i)
		t.each(func(ordinal int) { t.count += int(s.values.At(columnCount, begin+ordinal-1)) })
	}
	if t.empty {
		t.count += s.Len() - present
	}
	t.all = t.count == s.Len()
	return t, nil
}

// accept fills the set of t with the values of name i that m accepts.
func (s *Segment) accept(t *test, m *labels.Matcher, i int) {
	begin, end := s.valueRange(i)
	negative := m.Type == labels.MatchNotEqual || m.Type == labels.MatchNotRegexp
	listed := m.SetMatches()
	if m.Type == labels.MatchNotEqual {
		listed = []string{m.Value}
	}
	if len(listed) > 0 {
		for _, value := range listed {
			if ordinal := s.findValue(i, value); ordinal != 0 {
				t.set[ordinal/64] |= 1 << (ordinal % 64)
			}
		}
		if negative {
			t.invert(end - begin)
		}
		return
	}
	if negative { // nothing to narrow down
		for k := begin; k < end; k++ {
			t.mark(k-begin+1, m.Matches(s.value(k)))
		}
		return
	}
	prefix := m.Prefix()
	first := begin + sort.Search(end-begin, func(k int) bool { return s.value(begin+k) >= prefix })
	for k := first; k < end && strings.HasPrefix(s.value(k), prefix); k++ {
		t.mark(k-begin+1, m.Matches(s.value(k)))
	}
}

func (t *test) mark(ordinal int, accepted bool) {
	if accepted {
		t.set[ordinal/64] |= 1 << (ordinal % 64)
	}
}

// invert accepts what was not accepted of the ordinals 1 to n.
func (t *test) invert(n int) {
	for i := range t.set {
		t.set[i] = ^t.set[i]
	}
	t.set[0] &^= 1
	t.set[n/64] &= 1<<(n%64+1) - 1
}

// each calls f for each accepted value ordinal, ascending.
func (t *test) each(f func(ordinal int)) {
	if t.set == nil {
		if t.only != 0 {
			f(int(t.only))
		}
		return
	}
	for i, word := range t.set {
		for ; word != 0; word &= word - 1 {
			f(i*64 + bits.TrailingZeros64(word))
		}
	}
}

// candidates returns the series t accepts, all series if t is nil. t must not
// accept series that lack the label.
func (s *Segment) candidates(t *test) []uint32 {
	if t == nil {
		out := make([]uint32, s.Len())
		for i := range out {
			out[i] = uint32(i)
		}
		return out
	}
	out := make([]uint32, 0, t.count)
	if t.count == int(s.names.At(columnPresent, t.name)) {
		return appendStored(out, &s.names, columnPresEnd, t.name, s.presence, uint32(s.Len()))
	}
	begin, _ := s.valueRange(t.name)
	lists := 0
	t.each(func(ordinal int) {
		out = appendStored(out, &s.values, columnPostEnd, begin+ordinal-1, s.postings, uint32(s.Len()))
		lists++
	})
	if lists > 1 {
		sortOrdinals(out, s.Len())
	}
	return out
}

// sortOrdinals sorts distinct ordinals below n, by way of a bitmap where they
// are many.
func sortOrdinals(list []uint32, n int) {
	if len(list) < n/64 {
		slices.Sort(list)
		return
	}
	set := make([]uint64, n/64+1)
	for _, o := range list {
		set[o/64] |= 1 << (o % 64)
	}
	list = list[:0]
	for i, word := range set {
		for ; word != 0; word &= word - 1 {
			list = append(list, uint32(i*64+bits.TrailingZeros64(word)))
		}
	}
}
