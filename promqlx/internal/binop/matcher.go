package binop

import (
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"

	"github.com/varvedb/varve/promqlx/internal/row"
)

// matcher makes the pairs of a plan.
type matcher struct {
	p        *plan
	labeler  *labeler
	oneToOne bool
	// sigs are the match groups of the rows, by side.
	sigs, sigsOne []int32
	// firstOne is a match group's first row of the "one" side, nextOne the next
	// one of the same group, -1 if there is none.
	firstOne, nextOne []int32
	present           []row.Bits // of the "one" side: steps with samples
	// matched are a group's steps that the "many" side has matched.
	matched     []row.Bits
	needMatched bool
	// Results that may have equal labels are found by hash, or by match group
	// where only those of one can.
	byHash  map[uint64]int32
	byGroup []int32
	free    []uint64 // memory for sets
}

// newMatcher numbers the match groups. With fills also rows that nothing matches
// have one.
func newMatcher(p *plan, fills bool) *matcher {
	s := newSigner(p.Matching)
	m := &matcher{p: p, labeler: p.newLabeler(), oneToOne: p.Matching.Card == parser.CardOneToOne}
	m.sigsOne = s.all(p.one, false)
	m.sigs = s.all(p.many, !fills)
	p.uses, p.usesOne = make([]int32, len(p.many)), make([]int32, len(p.one))
	m.firstOne = slices.Repeat([]int32{-1}, s.seen.Len())
	m.nextOne = make([]int32, len(p.one))
	m.present = make([]row.Bits, len(p.one))
	for i := len(p.one) - 1; i >= 0; i-- {
		m.present[i] = presentAt(p.one[i])
		g := m.sigsOne[i]
		m.nextOne[i], m.firstOne[g] = m.firstOne[g], int32(i)
	}
	m.matched = make([]row.Bits, s.seen.Len())
	if m.oneToOne && !m.matchesNames() {
		m.byGroup = slices.Repeat([]int32{-1}, s.seen.Len())
	} else {
		m.byHash = make(map[uint64]int32, len(p.many))
	}
	m.needMatched = m.oneToOne || fills
	return m
}

// set returns an empty set of steps.
func (m *matcher) set() row.Bits {
	words := (m.p.Env.Grid.N + 63) / 64
	if len(m.free) < words {
		m.free = make([]uint64, max(words, min(words*len(m.p.many), 4096)))
	}
	out := m.free[:words:words]
	m.free = m.free[words:]
	return out
}

// oneIsUnique tells whether no two rows of a match group of the "one" side meet.
func (m *matcher) oneIsUnique() bool {
	for _, first := range m.firstOne {
		if first < 0 || m.nextOne[first] < 0 {
			continue
		}
		all := row.NewBits(m.p.Env.Grid.N)
		for i := first; i >= 0; i = m.nextOne[i] {
			if !join(all, m.present[i]) {
				return false
			}
		}
	}
	return true
}

// join adds b to a and tells whether they had nothing in common.
func join(a, b row.Bits) bool {
	common := uint64(0)
	for w, x := range b {
		common |= a[w] & x
		a[w] |= x
	}
	return common == 0
}

// match makes the pairs of row i of the "many" side. It returns false where only
// a look at each step can tell.
func (m *matcher) match(i int32, fill bool) bool {
	r, g := m.p.many[i], m.sigs[i]
	if g < 0 {
		return true
	}
	there := presentAt(r)
	var alone row.Bits // steps without a match
	if fill {
		alone = m.set()
		copy(alone, there)
	}
	for k := m.firstOne[g]; k >= 0; k = m.nextOne[k] {
		at := m.set()
		for w, x := range m.present[k] {
			at[w] = there[w] & x
			if fill {
				alone[w] &^= x
			}
		}
		if !m.pair(i, k, g, at, m.p.one[k].Labels) {
			return false
		}
	}
	return !fill || m.pair(i, -1, g, alone, labels.EmptyLabels())
}

// unmatched makes the pair of row k of the "one" side with the value that is
// filled in.
func (m *matcher) unmatched(k int32) bool {
	g := m.sigsOne[k]
	at := m.set()
	copy(at, m.present[k])
	if m.matched[g] != nil {
		for w, x := range m.matched[g] {
			at[w] &^= x
		}
	}
	return m.pair(-1, k, g, at, m.p.one[k].Labels)
}

// pair adds a pair, if its rows meet at all. It returns false if what it gives
// meets what another one gives.
func (m *matcher) pair(many, one, g int32, at row.Bits, oneLabels labels.Labels) bool {
	if !at.Any() {
		return true
	}
	p := m.p
	var manyLabels labels.Labels
	if many >= 0 {
		p.uses[many]++
		manyLabels = p.many[many].Labels
	} else {
		manyLabels = matchLabels(oneLabels, p.Matching)
	}
	if one >= 0 {
		p.usesOne[one]++
	} else {
		oneLabels = matchLabels(manyLabels, p.Matching)
	}
	if many >= 0 && !m.note(g, at) {
		return false
	}
	res, free := m.result(g, m.labeler.of(manyLabels, oneLabels), at)
	p.pairs = append(p.pairs, pair{many, one, res, at})
	return free
}

// note keeps what is matched of a group. In one-to-one matching two rows must
// not match at the same step.
func (m *matcher) note(g int32, at row.Bits) bool {
	switch {
	case !m.needMatched:
		return true
	case m.matched[g] == nil:
		m.matched[g] = at
		return true
	}
	all := m.set()
	copy(all, m.matched[g])
	m.matched[g] = all
	return join(all, at) || !m.oneToOne
}

// matchesNames tells whether names are matched: then results of different match
// groups may be equal once they lost their names. Otherwise those of one-to-one
// matching have all labels of their group.
func (m *matcher) matchesNames() bool {
	return m.p.Matching.On && slices.ContainsFunc(m.p.Matching.MatchingLabels, schema.IsMetadataLabel)
}

// result returns the number of the result of match group g with these labels,
// and whether it has nothing yet at the steps of at.
func (m *matcher) result(g int32, ls labels.Labels, at row.Bits) (int32, bool) {
	p := m.p
	first, h := int32(-1), uint64(0)
	if m.byGroup != nil {
		first = m.byGroup[g]
	} else {
		h = ls.Hash()
		if k, ok := m.byHash[h]; ok {
			first = k
		}
	}
	for k := first; k >= 0; k = p.results[k].next {
		res := &p.results[k]
		if !labels.Equal(res.labels, ls) {
			continue
		}
		if res.pairs == 1 {
			res.at = slices.Clone(res.at)
		}
		res.pairs++
		return k, join(res.at, at)
	}
	k := int32(len(p.results))
	if m.byGroup != nil {
		m.byGroup[g] = k
	} else {
		m.byHash[h] = k
	}
	p.results = append(p.results, result{labels: ls, pairs: 1, at: at, next: first})
	return k, true
}
